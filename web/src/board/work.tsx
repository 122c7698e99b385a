// What the agent of a task does now, in the few words a card has room for.

import type { CheckState, OverviewLine } from "../generated/operations";
import { Mark } from "../parts/marks";

export function CheckMark({ checks }: { checks: CheckState }) {
  const all = checks.passed + checks.failed;
  if (checks.failed > 0) return <Mark tone="bad" word={`${checks.failed} of ${all} checks failed`} />;
  return <Mark tone="good" word={all === 1 ? "check passed" : `${all} checks passed`} />;
}

/** All that went in and came out; nothing when none is known. */
export function tokensOf({ tokens }: OverviewLine): string {
  const all = tokens.input + tokens.output + (tokens.cache_read ?? 0) + (tokens.cache_write ?? 0);
  if (all === 0) return "";
  return all < 1000 ? `${all} tokens` : `${Math.round(all / 1000).toLocaleString()} k tokens`;
}
