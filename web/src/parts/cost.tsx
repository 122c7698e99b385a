// Tokens and what they cost. A cost is known where the configuration or a list of the
// program has a price for the model, and where neither has one that is said.

import type { Cost, TokenCounts } from "../generated/operations";

/** What went in, whether or not it came from a cache, and what came out. */
export function Tokens({ tokens }: { tokens: TokenCounts }) {
  const into = tokens.input + tokens.cache_read + tokens.cache_write;
  if (into + tokens.output === 0) return null;
  const title = [
    `${tokens.input.toLocaleString()} new`,
    `${tokens.cache_read.toLocaleString()} from the cache`,
    `${tokens.cache_write.toLocaleString()} into the cache`,
    `${tokens.output.toLocaleString()} out`,
  ].join(", ");
  return (
    <span title={title}>
      {short(into)} in, {short(tokens.output)} out
    </span>
  );
}

/** What went in and came out, as one figure. */
export function TokenSum({ tokens }: { tokens: TokenCounts }) {
  const sum = tokens.input + tokens.cache_read + tokens.cache_write + tokens.output;
  if (sum === 0) return null;
  return (
    <span title={`${(sum - tokens.output).toLocaleString()} in, ${tokens.output.toLocaleString()} out`}>
      {short(sum)} tokens
    </span>
  );
}

export function CostOf({ cost }: { cost: Cost }) {
  const unpriced = cost.unpriced ?? [];
  const missing = `No price for ${unpriced.join(", ")}`;
  if (cost.microdollars == null && cost.told_microdollars != null) {
    return <span title="As the agent's program itself counts it">{dollars(cost.told_microdollars)}</span>;
  }
  if (cost.microdollars == null) {
    return unpriced.length > 0 ? (
      <span className="quiet" title={missing}>
        no price
      </span>
    ) : null;
  }
  return (
    <span title={unpriced.length > 0 ? `At least: ${missing}` : undefined}>
      {unpriced.length > 0 ? "over " : ""}
      {dollars(cost.microdollars)}
    </span>
  );
}

/** Two digits of cents, more where that would be nothing. */
export function dollars(micros: number): string {
  const sum = micros / 1e6;
  return `$${sum > 0 && sum < 0.01 ? sum.toFixed(4) : sum.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

function short(count: number): string {
  if (count < 10_000) return count.toLocaleString();
  if (count < 1_000_000) return `${Math.round(count / 1000).toLocaleString()} k`;
  return `${(count / 1_000_000).toFixed(1)} M`;
}
