// What can be done with an MCP server in the state it is in.

import type { McpServer, McpServerAction } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";
import { undoChange } from "../system/settings/changes";

const ACTIONS: Record<McpServerAction, string> = { start: "Start", stop: "Stop", restart: "Restart", ping: "Ping" };

/** Starting, stopping and asking it for an answer; nothing of one that is disabled. */
export function controlCommands({ name, state }: McpServer): (Command & { action: McpServerAction })[] {
  const runs = state === "ready" || state === "unwell";
  const actions: McpServerAction[] = state === "disabled" ? [] : runs ? ["ping", "restart", "stop"] : ["start"];
  return actions.map((action) => ({
    action,
    label: ACTIONS[action],
    name: `${ACTIONS[action]} the server ${name}`,
    also: "mcp tools",
    run: () =>
      perform("mcp_server_control", { server: name, action }, ({ server: now, answered_ms }) => {
        const ping = typeof answered_ms === "number" ? ` It answered in ${answered_ms.toFixed(1)} ms.` : "";
        say(`${now.name} is ${now.state}.${ping}`, now.state === "unwell" || now.state === "parked" ? "bad" : "good");
      }),
  }));
}

export const removeServer = ({ name }: McpServer): Command => ({
  label: "Remove",
  name: `Remove the server ${name}`,
  also: "mcp tools",
  look: "danger",
  confirm: `Remove ${name} from the list?`,
  run: () =>
    perform("mcp_server_remove", { server: name }, ({ change }) =>
      say(`${name} is removed.`, "rest", { word: "Undo", act: () => undoChange(change.change) }),
    ),
});
