// The ways to let the autopilot work, and to stop it.

import { go } from "../app/address";
import type { AutopilotMode } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";

const SAID: Record<AutopilotMode, string> = {
  running: "The autopilot is on: ready tasks are started.",
  paused: "The autopilot is paused: no new task is started, agents go on.",
  draining: "Running work is finished, and no new task is started.",
  stopped: "The autopilot is off, and its agents are stopped.",
};

export const switchTo = (mode: AutopilotMode): Promise<boolean> =>
  perform("autopilot_set", { mode, reason: "switched in the page" }, (report) =>
    say(SAID[report.mode], report.mode === "running" ? "good" : "rest"),
  );

export const turnOn: Command = {
  label: "Turn on",
  name: "Turn the autopilot on",
  also: "start run resume",
  run: () => switchTo("running"),
};

/** The ways to stop that there are in a mode. */
export function stoppingCommands(mode: AutopilotMode): Command[] {
  const commands: Command[] = [
    {
      label: "Stop everything…",
      name: "Stop everything…",
      hint: "End every agent the autopilot started",
      also: "autopilot off end kill all agents",
      run: askToStop,
    },
  ];
  if (mode === "running" || mode === "paused") {
    commands.unshift({
      label: "Finish running work",
      name: "Finish running work",
      hint: "Then start nothing new",
      also: "autopilot drain",
      run: () => switchTo("draining"),
    });
  }
  if (mode === "running") {
    commands.unshift({
      label: "Pause",
      name: "Pause the autopilot",
      hint: "Start nothing new; agents go on",
      run: () => switchTo("paused"),
    });
  }
  return commands;
}

/** The dialog belongs to the switch, which Now and the board have. */
function askToStop(): void {
  const { pathname, search } = window.location;
  const params = new URLSearchParams(pathname === "/" || pathname === "/board" ? search : "");
  params.set("stop", "");
  go(`${pathname === "/board" ? "/board" : "/"}?${params}`);
}
