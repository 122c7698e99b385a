// Whether tasks are given to agents: a switch with words, and the ways to stop.

import { useEffect, useRef, useState } from "react";

import { useAction } from "../daemon/queries";
import type { AutopilotMode } from "../generated/operations";
import { Chevron } from "../parts/Chevron";
import { Sheet } from "../parts/Sheet";
import { complain, say } from "../parts/toasts";

const WORDS: Record<AutopilotMode, string> = {
  running: "Autopilot on",
  paused: "Autopilot paused",
  draining: "Autopilot finishing",
  stopped: "Autopilot off",
};

const SAID: Record<AutopilotMode, string> = {
  running: "The autopilot is on: ready tasks are started.",
  paused: "The autopilot is paused: no new task is started, agents go on.",
  draining: "Running work is finished, and no new task is started.",
  stopped: "The autopilot is off, and its agents are stopped.",
};

interface Props {
  mode: AutopilotMode;
  /** Agents that work, of how many that may. */
  agents: number;
  most: number;
}

export function AutopilotSwitch({ mode, agents, most }: Props) {
  const [menu, setMenu] = useState(false);
  const [stopping, setStopping] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const set = useAction("autopilot_set", (report) => say(SAID[report.mode], report.mode === "running" ? "good" : "rest"));
  const choose = (next: AutopilotMode) => {
    setMenu(false);
    set.mutate({ mode: next, reason: "switched in the page" }, { onError: complain });
  };
  useEffect(() => {
    if (!menu) return;
    const away = (event: Event) => {
      if (event instanceof KeyboardEvent ? event.key === "Escape" : !place.current?.contains(event.target as Node)) setMenu(false);
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("keydown", away);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("keydown", away);
    };
  }, [menu]);
  const on = mode === "running";
  const actions: [string, string, () => void][] = [
    ...(on ? [["Pause", "Start nothing new; agents go on", () => choose("paused")] as [string, string, () => void]] : []),
    ...(mode === "draining" || mode === "stopped"
      ? []
      : [["Finish running work", "Then start nothing new", () => choose("draining")] as [string, string, () => void]]),
    ["Stop everything…", "End every agent the autopilot started", () => (setMenu(false), setStopping(true))],
  ];
  return (
    <div className="autopilot-switch" ref={place} data-mode={mode}>
      <button
        type="button"
        role="switch"
        aria-checked={on}
        className="autopilot-toggle"
        disabled={set.isPending}
        onClick={() => choose(on ? "paused" : "running")}
      >
        <span className="switch-track" aria-hidden="true" />
        <span>
          {WORDS[mode]} <span className="quiet">· {agents} of {most} agents</span>
        </span>
      </button>
      <button
        type="button"
        className="button plain switch-menu"
        aria-haspopup="menu"
        aria-expanded={menu}
        aria-label="More for the autopilot"
        onClick={() => setMenu(!menu)}
      >
        <Chevron />
      </button>
      {menu ? (
        <ul className="menu" role="menu" aria-label="Autopilot">
          {actions.map(([name, what, run]) => (
            <li key={name} role="none">
              <button type="button" role="menuitem" onClick={run}>
                {name}
                <span className="quiet">{what}</span>
              </button>
            </li>
          ))}
        </ul>
      ) : null}
      {stopping ? (
        <Sheet title="Stop everything?" close={() => setStopping(false)}>
          <p>
            {agents === 0
              ? "No agent works on a task right now. No task is started until you switch the autopilot on again."
              : `${agents === 1 ? "The agent that works" : `The ${agents} agents that work`} on tasks ${agents === 1 ? "is" : "are"} ended now. Their tasks go back to the board; what was committed stays.`}
          </p>
          <div className="actions">
            <button type="button" className="button" onClick={() => setStopping(false)}>
              Cancel
            </button>
            <button
              type="button"
              className="button danger"
              onClick={() => {
                setStopping(false);
                choose("stopped");
              }}
            >
              Stop everything
            </button>
          </div>
        </Sheet>
      ) : null}
    </div>
  );
}
