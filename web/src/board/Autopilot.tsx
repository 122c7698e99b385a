// Whether tasks are given to agents, and the switch for it.

import { useAction, useOperation } from "../daemon/queries";
import type { AutopilotMode } from "../generated/operations";
import type { Tone } from "../parts/marks";
import { complain } from "../parts/toasts";

const TONES: Record<AutopilotMode, Tone> = { running: "work", paused: "wait", draining: "wait", stopped: "rest" };

const MODES: [AutopilotMode, string][] = [
  ["running", "autopilot runs"],
  ["paused", "autopilot paused"],
  ["draining", "autopilot drains"],
  ["stopped", "autopilot stopped"],
];

export function Autopilot() {
  const report = useOperation("autopilot_show", {});
  const set = useAction("autopilot_set");
  if (!report.data) return null;
  const { mode, reason, attempts, max_agents } = report.data;
  const choose = (next: AutopilotMode) => {
    const ends = attempts.length;
    if (next === "stopped" && ends > 0) {
      const sure = window.confirm(
        `Stopping ends ${ends === 1 ? "the agent that works" : `the ${ends} agents that work`} on tasks. Their tasks are given back.`,
      );
      if (!sure) return;
    }
    set.mutate({ mode: next, reason: "switched on the board" }, { onError: complain });
  };
  return (
    <label className="autopilot" data-tone={TONES[mode]} title={reason || undefined}>
      <span className="mark" data-tone={TONES[mode]}>
        {attempts.length} of {max_agents}
      </span>
      <select
        className="field"
        aria-label="Autopilot"
        value={mode}
        disabled={set.isPending}
        onChange={(event) => choose(event.target.value as AutopilotMode)}
      >
        {MODES.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
