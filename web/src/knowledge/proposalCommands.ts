// Deciding about what a machine proposes to know.

import type { Result } from "../daemon/call";
import type { KbProposal } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";
import { came } from "./came";

export function proposalCommands({ id, draft }: KbProposal): Command[] {
  const { summary, detail } = draft;
  return [
    {
      id: `accept-${id}`,
      label: "Accept",
      name: "Accept the proposal",
      about: summary,
      also: "knowledge inbox remember",
      // Of a line in a list only the beginning is seen.
      confirm: ["Accept this as knowledge?", summary, detail].filter(Boolean).join("\n\n"),
      run: () => perform("kb_decide", { proposal: id, decision: "accept" }, tellDecided),
    },
    {
      id: `reject-${id}`,
      label: "Reject",
      name: "Reject the proposal",
      about: summary,
      also: "knowledge inbox refuse",
      look: "plain",
      run: () => perform("kb_decide", { proposal: id, decision: "reject" }, tellDecided),
    },
  ];
}

export function tellDecided({ remembered }: Result<"kb_decide">): void {
  if (!remembered) return say("Rejected. It is not kept.", "rest");
  const { words, tone } = came(remembered);
  say(words, tone);
}
