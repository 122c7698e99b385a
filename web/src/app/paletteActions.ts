// What can be done from the palette, wherever one is: things of the whole page,
// and things of the task, run or terminal that is open.

import { useMemo } from "react";
import { useLocation } from "wouter";

import type { BoardDialog } from "../board/Board";
import { useAction, useOperation } from "../daemon/queries";
import { signOut } from "../daemon/session";
import type { AutopilotMode } from "../generated/operations";
import { complain, say } from "../parts/toasts";
import { askForNotifications, canAskForNotifications } from "./notifications";
import { chooseTheme, type Theme, theme } from "./theme";

export interface Action {
  name: string;
  /** Other words it is looked for by. */
  also?: string;
  /** The key that does the same, on the page where it works. */
  key?: string;
  run: () => void;
}

const THEMES: [Theme, string][] = [
  ["light", "Use light colours"],
  ["dark", "Use dark colours"],
  ["system", "Use the system's colours"],
];

const MODES: [AutopilotMode, string, string][] = [
  ["running", "Turn the autopilot on", "start run resume"],
  ["paused", "Pause the autopilot", ""],
  ["draining", "Drain the autopilot", "finish what runs"],
  ["stopped", "Stop the autopilot", "end all agents kill"],
];

export function usePaletteActions(): Action[] {
  const [location, navigate] = useLocation();
  const set = useAction("autopilot_set", (report) => say(`The autopilot is ${report.mode}.`));
  const autopilot = useOperation("autopilot_show", {});
  const ofTask = useTaskActions(/^\/board\/([^/?]+)/.exec(location)?.[1]);
  const ofRun = useRunActions(/^\/executions\/([^/?]+)/.exec(location)?.[1]);
  return useMemo(() => {
    const mode = autopilot.data?.mode;
    const works = autopilot.data?.attempts.length ?? 0;
    const switchTo = (next: AutopilotMode) => {
      const ends = works === 1 ? "the agent that works" : `the ${works} agents that work`;
      if (next === "stopped" && works > 0 && !window.confirm(`Stopping ends ${ends} on tasks.`)) return;
      set.mutate({ mode: next, reason: "from the palette" }, { onError: complain });
    };
    // On the board, what it is narrowed to stays.
    const open = (dialog: BoardDialog) => {
      const search = new URLSearchParams(location === "/board" ? window.location.search : "");
      search.set("new", dialog);
      navigate(`/board?${search}`);
    };
    return [
      ...ofTask,
      ...ofRun,
      { name: "New task", also: "add create", key: "n", run: () => open("task") },
      { name: "Plan tasks", also: "new several sentence propose", run: () => open("plan") },
      { name: "Start an agent", also: "new run terminal", run: () => open("agent") },
      ...MODES.filter(([each]) => each !== mode).map(([each, name, also]) => ({
        name,
        also,
        run: () => switchTo(each),
      })),
      ...THEMES.filter(([each]) => each !== theme()).map(([each, name]) => ({
        name,
        also: "theme",
        run: () => chooseTheme(each),
      })),
      { name: "Show the configuration", also: "settings preferences", run: () => navigate("/system/settings") },
      ...(canAskForNotifications()
        ? [{ name: "Notify me when something waits", run: () => void askForNotifications() }]
        : []),
      { name: "Sign this browser out", also: "log out", run: () => void signOut().then(() => window.location.reload()) },
    ];
  }, [autopilot.data, ofTask, ofRun, location, navigate, set.mutate]);
}

function useTaskActions(number: string | undefined): Action[] {
  const [, navigate] = useLocation();
  const details = useOperation("board_show", { task: number ?? "T-0" }, { enabled: number !== undefined });
  const retry = useAction("board_retry", (task) => say(`${task.number} is open again.`));
  const cancel = useAction("board_cancel", (task) => say(`${task.number} is cancelled.`, "rest"));
  const task = number === undefined ? undefined : details.data?.task;
  return useMemo(() => {
    if (!task) return [];
    const actions: Action[] = [];
    const over = task.status === "done" || task.status === "failed";
    if (task.status === "blocked" || task.status === "failed") {
      actions.push({
        name: `Retry ${task.number}`,
        also: "try again",
        run: () => retry.mutate({ task: task.number }, { onError: complain }),
      });
    }
    if (!over) {
      actions.push({ name: `Edit ${task.number}`, key: "e", run: () => navigate(`/board/${task.number}?edit`) });
      actions.push({
        name: `Cancel ${task.number}`,
        also: "give up stop",
        run: () => {
          const sure = task.status !== "running" || window.confirm(`An agent works on ${task.number}. Cancelling ends the agent.`);
          if (sure) cancel.mutate({ task: task.number, reason: "cancelled from the palette" }, { onError: complain });
        },
      });
    }
    if (details.data?.attempts.some((attempt) => attempt.branch)) {
      actions.push({ name: `Review ${task.number}`, also: "diff changes", run: () => navigate(`/review/${task.number}`) });
    }
    return actions;
  }, [task, details.data, navigate, retry.mutate, cancel.mutate]);
}

function useRunActions(execution: string | undefined): Action[] {
  const interrupt = useAction("execution_interrupt", () => say("The agent is told to stop what it does.", "rest"));
  return useMemo(() => {
    if (!execution) return [];
    return [
      {
        name: "Interrupt this agent",
        also: "stop",
        run: () => interrupt.mutate({ execution }, { onError: complain }),
      },
    ];
  }, [execution, interrupt.mutate]);
}
