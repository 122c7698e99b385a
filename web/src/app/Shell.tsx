// The frame around every view: the rail, the palette, and what the connection is.

import { Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { Link, Redirect, Route, Switch, useLocation, useSearch } from "wouter";

import { waitingCount } from "../attention/waiting";
import { live } from "../daemon/live";
import { useOpenQuestions, useOperation } from "../daemon/queries";
import { Boundary } from "../parts/Boundary";
import { Brand } from "../parts/Brand";
import { Lines, Nothing } from "../parts/Loaded";
import { Toasts } from "../parts/toasts";
import { Keys } from "./Keys";
import { Menu } from "./Menu";
import { useNotificationPress, useNotifications } from "./notifications";
import { Palette } from "./Palette";
import { recall, remember } from "./remember";
import { useShortcuts } from "./shortcuts";
import { PAGES, VIEWS } from "./views";

export function Shell() {
  const [location, navigate] = useLocation();
  const search = useSearch();
  const [menu, setMenu] = useState(false);
  const [palette, setPalette] = useState(false);
  const [keys, setKeys] = useState(false);

  useEffect(() => {
    if (location !== "/") remember("place", search ? `${location}?${search}` : location);
  }, [location, search]);
  useEffect(() => {
    setMenu(false);
    const view = VIEWS.find((each) => location.startsWith(each.path));
    document.title = view ? `${view.name} · mission` : "mission";
  }, [location]);

  useNotifications(navigate);
  useNotificationPress(navigate);
  useShortcuts({
    "mod+k": () => setPalette(true),
    "/": () => setPalette(true),
    "?": () => setKeys(true),
    ...Object.fromEntries(VIEWS.map((view) => [`g ${view.key}`, () => navigate(view.path)])),
  });

  return (
    <div className="shell">
      <Rail open={menu} onPalette={() => setPalette(true)} onClose={() => setMenu(false)} />
      <Menu.Provider value={{ open: menu, toggle: () => setMenu(!menu) }}>
        <main className="main" id="main">
          <Connection />
          <Boundary key={location}>
            <Suspense fallback={<Opening />}>
              <Switch>
                {PAGES.map((page) => (
                  <Route key={page.path} path={page.path} component={page.component} />
                ))}
                {VIEWS.map((view) => (
                  <Route key={view.path} path={view.path} component={view.component} />
                ))}
                <Route path="/">
                  <Redirect to={recall("place", "/attention")} replace />
                </Route>
                <Route>
                  <div className="view" tabIndex={0}>
                    <Nothing title="There is nothing here">
                      <p>
                        The address leads nowhere. <Link href="/attention">What waits for you</Link> is a good place to
                        begin.
                      </p>
                    </Nothing>
                  </div>
                </Route>
              </Switch>
            </Suspense>
          </Boundary>
        </main>
      </Menu.Provider>
      {palette ? <Palette close={() => setPalette(false)} /> : null}
      {keys ? <Keys close={() => setKeys(false)} /> : null}
      <Toasts />
    </div>
  );
}

function Rail({ open, onPalette, onClose }: { open: boolean; onPalette: () => void; onClose: () => void }) {
  const [location] = useLocation();
  const questions = useOpenQuestions();
  const blocked = useOperation("board_list", { offset: 0, status: ["blocked", "failed"] });
  const slots = useOperation("slot_list", { all: false });
  const waits = waitingCount(questions.data, blocked.data);
  const counts: Record<string, { count: number; urgent: boolean }> = {
    "/attention": { count: waits, urgent: true },
    "/slots": { count: slots.data?.slots.length ?? 0, urgent: false },
  };
  useEffect(() => {
    const title = document.title.replace(/^\(\d+\) /, "");
    document.title = waits > 0 ? `(${waits}) ${title}` : title;
  }, [waits, location]);
  return (
    <>
      {open ? <div className="rail-shade" onClick={onClose} /> : null}
      <header className={open ? "rail open" : "rail"}>
        <Link href="/attention" className="brand-link" aria-label="mission: what waits for you">
          <Brand />
        </Link>
        <nav aria-label="Views">
          <ul>
            {VIEWS.map((view) => {
              const here = location.startsWith(view.path);
              const said = counts[view.path];
              return (
                <li key={view.path}>
                  <Link href={view.path} aria-current={here ? "page" : undefined}>
                    {view.name}
                    {said && said.count > 0 ? (
                      <span className={said.urgent ? "count urgent" : "count"}>{said.count}</span>
                    ) : null}
                  </Link>
                </li>
              );
            })}
          </ul>
        </nav>
        <div className="rail-foot">
          <button type="button" className="rail-button" onClick={onPalette}>
            Go to… <kbd>/</kbd>
          </button>
          <LiveMark />
        </div>
      </header>
    </>
  );
}

function LiveMark() {
  const state = useSyncExternalStore(live.watch, () => live.state);
  const [tone, word] =
    state.kind === "live"
      ? (["good", `live · ${state.version}`] as const)
      : state.kind === "lost"
        ? (["wait", "connection lost"] as const)
        : (["rest", "connecting"] as const);
  return (
    <p className="rail-state">
      <span className="mark" data-tone={tone}>
        {word}
      </span>
    </p>
  );
}

function Connection() {
  const state = useSyncExternalStore(live.watch, () => live.state);
  if (state.kind !== "lost" || state.attempt < 2) return null;
  return (
    <p className="lost" role="status">
      The daemon does not answer. What you see is from before; it goes on by itself when the daemon is back.{" "}
      <button type="button" onClick={live.retry}>
        Try now
      </button>
    </p>
  );
}

function Opening() {
  return (
    <div className="view" tabIndex={0}>
      <Lines count={8} />
    </div>
  );
}
