// Whether tasks are given to agents: a switch with words, and the ways to stop.

import { useEffect, useRef, useState } from "react";

import { useNarrowed } from "../app/address";
import type { AutopilotMode } from "../generated/operations";
import { Chevron } from "../parts/Chevron";
import { start } from "../parts/command";
import { Sheet } from "../parts/Sheet";
import { stoppingCommands, switchTo } from "./autopilotCommands";

const WORDS: Record<AutopilotMode, string> = {
  running: "Autopilot on",
  paused: "Autopilot paused",
  draining: "Autopilot finishing",
  stopped: "Autopilot off",
};

interface Props {
  mode: AutopilotMode;
  /** Agents that work, of how many that may. */
  agents: number;
  most: number;
}

export function AutopilotSwitch({ mode, agents, most }: Props) {
  const [menu, setMenu] = useState(false);
  const [switching, setSwitching] = useState(false);
  const [search, narrow] = useNarrowed();
  const place = useRef<HTMLDivElement>(null);
  const choose = async (next: AutopilotMode) => {
    setSwitching(true);
    await switchTo(next);
    setSwitching(false);
  };
  const closeSheet = () => narrow({ stop: null });
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
  return (
    <div className="autopilot-switch" ref={place} data-mode={mode}>
      <button
        type="button"
        role="switch"
        aria-checked={on}
        className="autopilot-toggle"
        disabled={switching}
        onClick={() => void choose(on ? "paused" : "running")}
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
          {stoppingCommands(mode).map((command) => (
            <li key={command.label} role="none">
              <button
                type="button"
                role="menuitem"
                onClick={() => {
                  setMenu(false);
                  void start(command);
                }}
              >
                {command.label}
                <span className="quiet">{command.hint}</span>
              </button>
            </li>
          ))}
        </ul>
      ) : null}
      {search.has("stop") ? (
        <Sheet title="Stop everything?" close={closeSheet}>
          <p>
            {agents === 0
              ? "No agent works on a task right now. No task is started until you switch the autopilot on again."
              : `${agents === 1 ? "The agent that works" : `The ${agents} agents that work`} on tasks ${agents === 1 ? "is" : "are"} ended now. Their tasks go back to the board; what was committed stays.`}
          </p>
          <div className="actions">
            <button type="button" className="button" onClick={closeSheet}>
              Cancel
            </button>
            <button
              type="button"
              className="button danger"
              onClick={() => {
                closeSheet();
                void choose("stopped");
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
