// What agents of tasks used, what conversations cost, and what is left of the
// budgets.

import { Link } from "wouter";

import { useRemembered } from "../app/remember";
import { useOperation } from "../daemon/queries";
import type { BudgetUsage, Cost, DayUsage, PriceSource, UsageTotals, UsedTokens } from "../generated/operations";
import { CostOf } from "../parts/cost";
import { Loaded, Nothing } from "../parts/Loaded";
import { utcDay } from "../parts/time";

const SPANS = [7, 14, 30, 90];

export function Usage() {
  const [days, setDays] = useRemembered("usage.days", 14);
  const usage = useOperation("usage_report", { days }, { refetchInterval: 15_000, placeholder: "keep" });
  return (
    <div className="stack system">
      <label className="rule-form">
        <span>The last</span>
        <select className="field" value={days} onChange={(event) => setDays(Number(event.target.value))}>
          {SPANS.map((span) => (
            <option key={span} value={span}>
              {span} days
            </option>
          ))}
        </select>
      </label>
      <Loaded of={usage}>{(totals) => <Totals totals={totals} days={days} />}</Loaded>
    </div>
  );
}

function Totals({ totals, days }: { totals: UsageTotals; days: number }) {
  return (
    <>
      {totals.budgets.length > 0 ? <Budgets budgets={totals.budgets} /> : null}
      {totals.days.length === 0 && totals.models.length === 0 ? (
        <Nothing title="Nothing was used in these days">
          <p>
            Tokens are counted for agents that work on tasks. A budget of a day is the setting{" "}
            <code>autopilot.tokens_per_day</code>; when it is used up, no task is started.
          </p>
        </Nothing>
      ) : null}
      {totals.models.length > 0 ? (
        <>
          <Models totals={totals} />
          <Sources prices={totals.prices ?? []} />
        </>
      ) : null}
      {totals.days.length > 0 ? (
        <>
          <section className="section">
            <h2>
              Tokens of tasks <span className="quiet">{totals.total.counted.toLocaleString()} that count against budgets</span>
            </h2>
            <Days list={totals.days} since={totals.since} days={days} />
          </section>
          <Table
            title="By day"
            rows={[...totals.days].reverse().map((each) => ({
              key: `${each.day} ${each.engine}`,
              name: (
                <>
                  {utcDay(each.day)} <span className="quiet">{each.engine}</span>
                </>
              ),
              tokens: each.tokens,
              cost: each.cost,
            }))}
          />
          <Table
            title="By agent"
            rows={totals.engines.map((each) => ({
              key: each.engine,
              name: each.engine,
              tokens: each.tokens,
              cost: each.cost,
            }))}
          />
          <Table
            title="By task"
            rows={totals.tasks.map((each, index) => ({
              key: each.task ?? String(index),
              name: each.task ? (
                <Link href={`/board/${each.task}`}>
                  {each.task} {each.title}
                </Link>
              ) : (
                "a task that was removed"
              ),
              tokens: each.tokens,
              budget: each.budget,
              cost: each.cost,
            }))}
          />
          <Table
            title="By slot"
            rows={totals.slots.map((each) => ({ key: each.slot, name: each.slot, tokens: each.tokens }))}
          />
        </>
      ) : null}
    </>
  );
}

/** What all conversations took, a person's own too, since a price is a model's. */
function Models({ totals }: { totals: UsageTotals }) {
  const unpriced = totals.cost.unpriced ?? [];
  return (
    <>
      <Table
        title="By model, of every conversation"
        rows={totals.models.map((each) => ({
          key: each.model ?? "",
          name: each.model ?? "unknown",
          tokens: each.tokens,
          cost: each.cost,
        }))}
        sum={<CostOf cost={totals.cost} />}
      />
      {unpriced.length > 0 ? (
        <p className="quiet sources">
          No price for {unpriced.join(", ")}: <Link href="/system/settings">add one in the settings</Link>.
        </p>
      ) : null}
    </>
  );
}

/** Where the list prices come from, and of which day they are. */
function Sources({ prices }: { prices: PriceSource[] }) {
  if (prices.length === 0) return null;
  return (
    <p className="quiet sources">
      Costs are by list prices of{" "}
      {prices.map((source, index) => (
        <span key={source.vendor}>
          {index > 0 ? ", " : ""}
          <a href={source.page} target="_blank" rel="noreferrer">
            {source.vendor}
          </a>{" "}
          as of {source.as_of}
        </span>
      ))}
      ; a subscription has none. <Link href="/system/settings">Your own prices</Link> come before them.
    </p>
  );
}

function Budgets({ budgets }: { budgets: BudgetUsage[] }) {
  return (
    <section className="section">
      <h2>Budgets of today</h2>
      <dl className="facts">
        {budgets.map((budget) => {
          const name = nameOf(budget);
          return [
            <dt key={name}>{name}</dt>,
            <dd key={`${name} used`}>
              <meter
                className="budget"
                aria-label={`Used of the budget: ${name}`}
                min={0}
                max={budget.limit}
                high={budget.limit * 0.8}
                optimum={0}
                value={Math.min(budget.used, budget.limit)}
              />{" "}
              {budget.used.toLocaleString()} of {budget.limit.toLocaleString()}
              {budget.used >= budget.limit ? <strong> used up</strong> : null}
            </dd>,
          ];
        })}
      </dl>
    </section>
  );
}

function nameOf({ of }: BudgetUsage): string {
  switch (of.kind) {
    case "day":
      return "all agents";
    case "engine":
      return of.engine;
    case "slot":
      return `slot ${of.name}`;
  }
}

function Days({ list, since, days }: { list: DayUsage[]; since: string; days: number }) {
  const first = new Date(since).getTime();
  const sums = Array.from({ length: days }, () => 0);
  for (const each of list) {
    const place = Math.round((new Date(each.day).getTime() - first) / 86_400_000);
    if (place >= 0 && place < days) sums[place] = (sums[place] ?? 0) + each.tokens.counted;
  }
  const most = Math.max(...sums, 1);
  const date = (index: number) => utcDay(first + index * 86_400_000);
  return (
    <figure className="bars">
      <svg
        viewBox={`0 0 ${days * 20} 80`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Tokens per day, at most ${most.toLocaleString()}`}
      >
        {sums.map((sum, index) => {
          const height = sum === 0 ? 0 : Math.max(1.5, (sum / most) * 76);
          return (
            <rect key={date(index)} x={index * 20 + 2} y={80 - height} width={16} height={height}>
              <title>
                {date(index)}: {sum.toLocaleString()} tokens
              </title>
            </rect>
          );
        })}
      </svg>
      <figcaption className="quiet">
        <span>{date(0)}</span>
        <span>at most {most.toLocaleString()} a day</span>
        <span>today</span>
      </figcaption>
    </figure>
  );
}

interface Row {
  key: string;
  name: React.ReactNode;
  tokens: UsedTokens;
  budget?: number | null | undefined;
  cost?: Cost;
}

function Table({ title, rows, sum }: { title: string; rows: Row[]; sum?: React.ReactNode }) {
  const most = Math.max(1, ...rows.map((row) => row.tokens.counted));
  const priced = rows.some((row) => row.cost);
  return (
    <section className="section">
      <h2>
        {title} {sum}
      </h2>
      <div className="scroll-x" role="region" aria-label={title} tabIndex={0}>
        <table className="table usage">
          <thead>
            <tr>
              <th>Who</th>
              <th className="number">In</th>
              <th className="number">Out</th>
              <th className="number">From cache</th>
              <th className="number">Counted</th>
              {priced ? <th className="number">Cost</th> : null}
              <th>Share</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <td className="name">
                  {row.name}
                  {row.budget ? <span className="quiet"> of {row.budget.toLocaleString()}</span> : null}
                </td>
                <td className="number">{(row.tokens.input + row.tokens.cache_write).toLocaleString()}</td>
                <td className="number">{row.tokens.output.toLocaleString()}</td>
                <td className="number">{row.tokens.cache_read.toLocaleString()}</td>
                <td className="number">{row.tokens.counted.toLocaleString()}</td>
                {priced ? <td className="number">{row.cost ? <CostOf cost={row.cost} /> : null}</td> : null}
                <td className="share">
                  <span style={{ width: `${(row.tokens.counted / most) * 100}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
