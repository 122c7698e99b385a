// What can be done wherever one is: what begins something, switches something, or
// leads to the form for it.

import { useMemo } from "react";

import type { BoardDialog } from "../board/Board";
import { useOperation } from "../daemon/queries";
import { signOut } from "../daemon/session";
import { stoppingCommands, turnOn } from "../now/autopilotCommands";
import { useOverview } from "../now/overview";
import { type Command, perform } from "../parts/command";
import { DEMO, playDemo } from "../start/FirstSteps";
import { reloadConfiguration } from "../system/reloadConfiguration";
import { undoChange } from "../system/settings/changes";
import { go } from "./address";
import { askForNotifications, canAskForNotifications } from "./notifications";
import { chooseTheme, type Theme, theme } from "./theme";

type PageCommand = Omit<Command, "label">;

const FORMS: PageCommand[] = [
  { name: "New task", also: "add create", key: "n", run: () => openOnBoard("task") },
  { name: "Plan tasks", also: "new several sentence propose", run: () => openOnBoard("plan") },
  { name: "Start an agent", also: "new run terminal", run: () => openOnBoard("agent") },
  { name: "Add a repository", also: "new project folder index code", run: () => go("/code?add") },
  { name: "New knowledge entry", also: "remember add write", run: () => go("/knowledge?new=entry") },
  { name: "Add an MCP server", also: "new tool", run: () => go("/tools?new=server") },
  { name: "Add a rule", also: "new permission allow deny", run: () => go("/system/permissions") },
  { name: "Pair a phone", also: "device sign in qr access", run: () => go("/system/access?new=device") },
  { name: "Create a token", also: "new access api", run: () => go("/system/access") },
  { name: "Show the configuration", also: "settings preferences change", run: () => go("/system/settings") },
  reloadConfiguration,
  { name: "Show usage and cost", also: "settings tokens money budget prices", run: () => go("/system/usage") },
  { name: "Show the log", also: "settings", run: () => go("/system/logs") },
  { name: "Search the documentation", also: "docs help manual guide", run: searchDocs },
];

const THEMES: [Theme, string][] = [
  ["light", "Use light colours"],
  ["dark", "Use dark colours"],
  ["system", "Use the system's colours"],
];

export function usePageCommands(): PageCommand[] {
  const { data: autopilot } = useOperation("autopilot_show", {});
  const { data: demo } = useOperation("board_list", { label: DEMO, limit: 100 });
  const { data: history } = useOperation("config_history", { limit: 50 });
  const { data: overview } = useOverview();
  const seen = overview && overview.finished.length > 0 ? overview.at : undefined;
  return useMemo(() => {
    const [newTask, ...forms] = FORMS;
    const commands: PageCommand[] = newTask ? [newTask] : [];
    if (autopilot && autopilot.mode !== "running") commands.push(turnOn);
    if (autopilot) commands.push(...stoppingCommands(autopilot.mode));
    commands.push(...forms);
    if (seen) {
      const run = () => perform("overview_seen", { until: seen });
      commands.push({ name: "Mark what is finished as seen", also: "now clear", run });
    }
    const change = history?.changes.find((each) => !each.undone && each.undoes == null);
    if (change) {
      commands.push({
        name: `Undo the change of ${change.key}`,
        id: `undo-${change.change}`,
        also: "setting configuration",
        run: () => undoChange(change.change),
      });
    }
    if (demo?.total === 0) commands.push(playDemo);
    for (const [each, name] of THEMES) {
      if (each !== theme()) commands.push({ name, also: "theme", run: () => chooseTheme(each) });
    }
    if (canAskForNotifications()) {
      commands.push({ name: "Notify me when something waits", also: "notifications", run: askForNotifications });
    }
    const leave = () => signOut().then(() => window.location.reload());
    return [...commands, { name: "Sign this browser out", also: "log out", run: leave }];
  }, [autopilot, demo?.total, history, seen]);
}

/** On the board, what it is narrowed to stays. */
function openOnBoard(dialog: BoardDialog): void {
  const search = new URLSearchParams(window.location.pathname === "/board" ? window.location.search : "");
  search.set("new", dialog);
  go(`/board?${search}`);
}

/** A page that is open there stays. */
function searchDocs(): void {
  const at = window.location.pathname;
  go(`${at.startsWith("/docs") ? at : "/docs"}?search`);
}
