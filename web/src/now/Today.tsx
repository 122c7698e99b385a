// What was used today, and the tasks that stand in line with the reason of each.

import { useState } from "react";
import { Link } from "wouter";

import { useOperation } from "../daemon/queries";
import type { OverviewReport } from "../generated/operations";
import { CostOf, TokenSum } from "../parts/cost";
import { Loaded } from "../parts/Loaded";
import { Prose } from "../parts/Prose";
import { Sheet } from "../parts/Sheet";

export function Today({ report }: { report: OverviewReport }) {
  const { tokens_today: tokens, cost_today: cost } = report;
  if (tokens.input + tokens.output + tokens.cache_read + tokens.cache_write === 0) return null;
  return (
    <Link href="/system/usage" className="now-today" title="What was used today">
      <TokenSum tokens={tokens} />
      <CostOf cost={cost} />
      <span className="quiet">today</span>
    </Link>
  );
}

export function Waiting({ report: { ready, waiting } }: { report: OverviewReport }) {
  const [why, setWhy] = useState(false);
  if (ready + waiting === 0) return null;
  return (
    <>
      <button type="button" className="button plain now-waiting" onClick={() => setWhy(true)}>
        {ready} ready, {waiting} waiting <span className="now-why">Why?</span>
      </button>
      {why ? <Why close={() => setWhy(false)} /> : null}
    </>
  );
}

function Why({ close }: { close: () => void }) {
  const report = useOperation("board_ready", { limit: 200 });
  return (
    <Sheet title="Why tasks wait" close={close}>
      <Loaded of={report}>
        {({ ready, waiting, ready_total, open_total }) => (
          <>
            <ul className="why-list">
              {ready.map((task) => (
                <li key={task.id}>
                  <Link href={`/board/${task.number}`} onClick={close}>
                    <span className="number">{task.number}</span> {task.title}
                  </Link>
                  <span className="quiet">Ready: it starts when an agent is free.</span>
                </li>
              ))}
              {waiting.map(({ task, waits }) => (
                <li key={task.id}>
                  <Link href={`/board/${task.number}`} onClick={close}>
                    <span className="number">{task.number}</span> {task.title}
                  </Link>
                  {waits.map((wait) => (
                    <span key={wait.sentence} className="quiet">
                      <Prose text={wait.sentence} />
                    </span>
                  ))}
                </li>
              ))}
            </ul>
            {open_total > ready.length + waiting.length ? (
              <p className="quiet">
                {open_total - ready.length - waiting.length} more stand further back ({ready_total} are ready in all).
              </p>
            ) : null}
          </>
        )}
      </Loaded>
      <div className="actions">
        <button type="button" className="button" onClick={close}>
          Close
        </button>
      </div>
    </Sheet>
  );
}
