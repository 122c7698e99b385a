// From a page that knows nothing to one that is signed in and live.

import { useEffect, useState } from "react";

import { onSignedOut } from "../daemon/call";
import { live } from "../daemon/live";
import { followTimeline, queries } from "../daemon/queries";
import { NotSignedIn, openSession, signIn } from "../daemon/session";
import { registerWorker } from "./notifications";
import { Shell } from "./Shell";
import { SignIn } from "./SignIn";

type Stage = { kind: "opening" } | { kind: "outside"; why: string | undefined } | { kind: "inside" };

export function App() {
  const [stage, setStage] = useState<Stage>({ kind: "opening" });

  useEffect(() => {
    let gone = false;
    const settle = (next: Stage) => {
      if (!gone) setStage(next);
    };
    const leave = () => {
      live.stop();
      queries.clear();
      settle({ kind: "outside", why: "This browser is not signed in any more." });
    };
    onSignedOut(leave);
    live.signedOut = leave;
    const unfollow = followTimeline();
    // A socket that is refused does not say why: who is signed out while the
    // daemon is away would wait for ever.
    const unwatch = live.watch(() => {
      if (live.state.kind !== "lost" || live.state.attempt % 4 !== 2) return;
      openSession().catch((error: unknown) => {
        if (error instanceof NotSignedIn) leave();
      });
    });
    open().then(settle);
    // A link pasted into the tab that shows the page changes only the fragment.
    const followed = () => {
      if (location.pathname === "/login") open().then(settle);
    };
    window.addEventListener("hashchange", followed);
    return () => {
      gone = true;
      unfollow();
      unwatch();
      window.removeEventListener("hashchange", followed);
    };
  }, []);

  if (stage.kind === "opening") return null;
  if (stage.kind === "outside") return <SignIn why={stage.why} />;
  return <Shell />;
}

/** The view that a login link names, as `mission docs --web` does; the first one otherwise. */
function wanted(): string {
  const to = new URLSearchParams(location.search).get("to") ?? "/";
  // A path of ours: what begins with two slashes is another host.
  return /^\/(?![/\\])/.test(to) ? to : "/";
}

async function open(): Promise<Stage> {
  try {
    const code = location.pathname === "/login" ? location.hash.slice(1) : "";
    if (code) {
      // The code is used up by this: it must not stay in the history.
      history.replaceState(null, "", `/login${location.search}`);
      await signIn(code);
    }
    await openSession();
    if (location.pathname === "/login") history.replaceState(null, "", wanted());
    void live.start();
    registerWorker();
    return { kind: "inside" };
  } catch (error) {
    if (error instanceof NotSignedIn) return { kind: "outside", why: undefined };
    return { kind: "outside", why: error instanceof Error ? error.message : String(error) };
  }
}
