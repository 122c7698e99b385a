// What became of something that was to be remembered, in words.

import type { KbRemembered } from "../generated/operations";

/** What became of it, in a sentence. */
export function came(result: KbRemembered): { words: string; tone: "good" | "wait" | "rest" } {
  const changed = { added: "Saved.", revised: "Saved as a new revision.", unchanged: "It was there in these words already; it is verified again." };
  const masked = result.masked > 0 ? ` ${result.masked} secrets were removed.` : "";
  const conflicts = result.edges.filter((edge) => edge.kind === "contradicts").length;
  const conflict = conflicts > 0 ? ` It contradicts ${conflicts} other ${conflicts === 1 ? "entry" : "entries"}.` : "";
  return {
    words: changed[result.change] + masked + conflict,
    tone: conflicts > 0 ? "wait" : result.change === "unchanged" ? "rest" : "good",
  };
}
