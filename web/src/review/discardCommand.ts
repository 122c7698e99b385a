// Throwing away what is not committed, from where its files are not in sight.

import { call } from "../daemon/call";
import { type Command, perform } from "../parts/command";
import { complain, say } from "../parts/toasts";

/** More than these are said as a number. */
const MOST_NAMED = 20;

export const discardCommand = (worktree: string, name: string): Command => ({
  label: "Discard uncommitted changes",
  name: `Discard uncommitted changes of ${name}`,
  also: "worktree clean restore",
  look: "danger",
  run: async () => {
    const files = await uncommitted(worktree).catch(complain);
    if (!files) return;
    if (files.length === 0) return say(`Everything of ${name} is committed.`, "rest");
    const named = files.slice(0, MOST_NAMED).join("\n");
    const rest = files.length > MOST_NAMED ? `\nand ${files.length - MOST_NAMED} more` : "";
    if (!window.confirm(`Discard the changes of these files for good?\n\n${named}${rest}`)) return;
    await perform("worktree_discard", { worktree, confirmed: true }, tellDiscarded);
  },
});

async function uncommitted(worktree: string): Promise<string[]> {
  const { restored, removed } = await call("worktree_discard", { worktree, confirmed: false });
  return [...restored, ...removed];
}

export function tellDiscarded({ restored, removed }: { restored: string[]; removed: string[] }): void {
  const count = restored.length + removed.length;
  say(`Discarded the changes of ${count} ${count === 1 ? "file" : "files"}.`);
}
