// Rules that people add and remove, each with a way back.

import type { Params } from "../daemon/call";
import type { PermissionRule } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";

/** Says that a rule is in force, with a way to take it away again. */
export function addedWithUndo(name: string): void {
  say(`${name} is in force.`, "good", {
    word: "Undo",
    act: () => void perform("permission_remove", { rule: name }, () => say(`${name} is removed.`, "rest")),
  });
}

export const removeRule = (rule: PermissionRule): Command => ({
  label: "Remove",
  name: `Remove ${rule.name}`,
  about: `${rule.effect} ${subjectOf(rule)}`,
  also: "rule permission",
  look: "plain",
  run: () => perform("permission_remove", { rule: rule.name }, () => say(`${rule.name} is removed.`, "rest", backAgain(rule))),
});

/** What a rule is about. */
export function subjectOf(rule: PermissionRule): string {
  const bySight = rule.by_sight ? "by sight" : undefined;
  const parts = [rule.tool ?? "*", rule.argument, rule.path, rule.server, rule.engine, rule.slot, rule.task, bySight];
  return parts.filter(Boolean).join("  ");
}

/** One that had expired or was used up decided nothing: there is nothing to bring back. */
function backAgain(rule: PermissionRule) {
  if (!rule.in_force) return undefined;
  return {
    word: "Undo",
    act: () =>
      void perform("permission_add", asBefore(rule), ({ name }) => say(`The rule is in force again, as ${name}.`)),
  };
}

/** The same rule, for as long and as often as it had left. */
function asBefore(rule: PermissionRule): Params<"permission_add"> {
  const { effect, tool, argument, path, server, engine, slot, task, execution, by_sight, expires_at, uses_left } = rule;
  const seconds = expires_at ? Math.max(1, Math.ceil((new Date(expires_at).getTime() - Date.now()) / 1000)) : null;
  return {
    effect,
    subject: { tool, argument, path, server, engine, slot, task, execution, by_sight },
    seconds,
    uses: uses_left ?? null,
    by: null,
  };
}
