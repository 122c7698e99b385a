// The frame around every view: the rail, the palette, and what the connection is.

import { Suspense, useEffect, useLayoutEffect, useState, useSyncExternalStore } from "react";
import { Link, Redirect, Route, Switch, useLocation, useSearch } from "wouter";

import { live } from "../daemon/live";
import { useNeedsYou } from "../now/overview";
import { Boundary } from "../parts/Boundary";
import { Brand } from "../parts/Brand";
import { Lines, Nothing } from "../parts/Loaded";
import { Toasts } from "../parts/toasts";
import { Icon } from "./icons";
import { Keys } from "./Keys";
import { useNotificationPress, useNotifications } from "./notifications";
import { Palette } from "./Palette";
import { viewInProject } from "./Project";
import { useShortcuts } from "./shortcuts";
import { countInTab, nameTab } from "./tab";
import { GROUPS, PAGES, type View, viewAt, VIEWS } from "./views";

export function Shell() {
  const [location, navigate] = useLocation();
  const [menu, setMenu] = useState(false);
  const [palette, setPalette] = useState(false);
  const [keys, setKeys] = useState(false);

  useEffect(() => setMenu(false), [location]);
  // Before the effects of the view, which may have a better name for what it shows.
  useLayoutEffect(() => nameTab(viewAt(location)?.name ?? ""), [location]);

  useNotifications(navigate);
  useNotificationPress(navigate);
  useShortcuts({
    "mod+k": () => setPalette(true),
    "/": () => setPalette(true),
    "?": () => setKeys(true),
    "g a": () => navigate("/"),
    ...Object.fromEntries(VIEWS.map((view) => [`g ${view.key}`, () => navigate(viewInProject(view.path))])),
  });

  return (
    <div className="shell">
      <Rail open={menu} onPalette={() => setPalette(true)} onClose={() => setMenu(false)} />
      <main className="main" id="main">
          <Connection />
          <Boundary key={viewAt(location)?.isOneFrame ? viewAt(location)?.path : location}>
            <Suspense fallback={<Opening />}>
              <Switch>
                {PAGES.map((page) => (
                  <Route key={page.path} path={page.path} component={page.component} />
                ))}
                {VIEWS.map((view) => (
                  <Route key={view.path} path={view.path} component={view.component} />
                ))}
                <Route path="/attention">
                  <ToNow />
                </Route>
                <Route>
                  <div className="view" tabIndex={0}>
                    <Nothing title="There is nothing here">
                      <p>
                        The address leads nowhere. <Link href="/">Now</Link> is a good place to begin.
                      </p>
                    </Nothing>
                  </div>
                </Route>
              </Switch>
            </Suspense>
          </Boundary>
      </main>
      <BottomBar more={() => setMenu(!menu)} open={menu} />
      {palette ? <Palette close={() => setPalette(false)} /> : null}
      {keys ? <Keys close={() => setKeys(false)} /> : null}
      <Toasts />
    </div>
  );
}

/** What waits for a person was once a view of its own: its links go on working. */
function ToNow() {
  const search = useSearch();
  return <Redirect to={search ? `/?${search}` : "/"} replace />;
}

interface RailProps {
  open: boolean;
  onPalette: () => void;
  onClose: () => void;
}

function Rail({ open, onPalette, onClose }: RailProps) {
  const [location] = useLocation();
  const waits = useNeedsYou();
  useEffect(() => countInTab(waits), [waits]);
  return (
    <>
      {open ? <div className="rail-shade" onClick={onClose} /> : null}
      <header className={open ? "rail open" : "rail"}>
        <Link href="/" className="brand-link" aria-label="mission: now">
          <Brand />
        </Link>
        <button type="button" className="rail-button rail-find" onClick={onPalette}>
          <Icon name="search" />
          <span>Go to…</span>
          <kbd>/</kbd>
        </button>
        <nav aria-label="Views">
          {GROUPS.map((group) => (
            <section key={group} aria-labelledby={`rail-${group}`}>
              <h2 id={`rail-${group}`}>{group}</h2>
              <ul>
                {VIEWS.filter((view) => view.group === group).map((view) => (
                  <li key={view.path}>
                    <ViewLink view={view} waits={waits} here={viewAt(location) === view} />
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </nav>
        <div className="rail-foot">
          <nav aria-label="Help">
            {VIEWS.filter((view) => view.group === "Help").map((view) => (
              <ViewLink key={view.path} view={view} waits={waits} here={viewAt(location) === view} />
            ))}
          </nav>
          <LiveMark />
        </div>
      </header>
    </>
  );
}

function ViewLink({ view, waits, here }: { view: View; waits: number; here: boolean }) {
  // Drawn anew with the address.
  useSearch();
  return (
    <Link href={viewInProject(view.path)} aria-current={here ? "page" : undefined} title={`g ${view.key}`}>
      <Icon name={view.icon} />
      <span>{view.name}</span>
      {view.path === "/" && waits > 0 ? (
        <span className="count urgent">
          {waits}
          <span className="visually-hidden"> need you</span>
        </span>
      ) : null}
    </Link>
  );
}

const IN_REACH = ["/", "/board", "/review"];

/** At phone width: what one goes to most, in reach of a thumb. */
function BottomBar({ more, open }: { more: () => void; open: boolean }) {
  const [location] = useLocation();
  const waits = useNeedsYou();
  return (
    <nav className="bottom-bar" aria-label="Main views">
      {VIEWS.filter((view) => IN_REACH.includes(view.path)).map((view) => (
        <ViewLink key={view.path} view={view} waits={waits} here={viewAt(location) === view} />
      ))}
      <button type="button" aria-expanded={open} onClick={more}>
        <Icon name="more" />
        <span>More</span>
      </button>
    </nav>
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
