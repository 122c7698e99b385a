// What several agents made of the same task, beside each other, for whoever keeps one.

import { Link } from "wouter";

import type { AlternativeSummary, TaskDetails } from "../generated/operations";
import { CostOf, TokenSum } from "../parts/cost";
import { agentOf } from "../parts/engine";
import { Checks, TaskMark } from "../parts/marks";
import { Size } from "../review/DiffFile";

export function Alternatives({ details }: { details: TaskDetails }) {
  const all = details.alternatives ?? [];
  if (all.length === 0) return null;
  const own = all.find((each) => each.number === details.task.number);
  return (
    <section className="section">
      <h2>
        Alternatives <span className="quiet">{all.length}</span>
      </h2>
      <div className="scroll-x" role="region" aria-label="Alternatives" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th>Task</th>
              <th>Agent</th>
              <th>State</th>
              <th>Checks</th>
              <th>Changes</th>
              <th>Used</th>
              <th>
                <span className="visually-hidden">Compare</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {all.map((each) => (
              <Row key={each.number} one={each} own={own} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ one, own }: { one: AlternativeSummary; own: AlternativeSummary | undefined }) {
  const isOwn = one.number === own?.number;
  return (
    <tr>
      <td>{isOwn ? <span className="number">{one.number}</span> : <Link className="number" href={`/board/${one.number}`}>{one.number}</Link>}</td>
      <td>{agentOf(one)}</td>
      <td>
        <TaskMark status={one.status} />
      </td>
      <td>
        <Checks verdict={one.checks} />
      </td>
      <td>
        {one.size ? (
          <Size files={one.size.files} additions={one.size.additions} deletions={one.size.deletions} />
        ) : (
          <span className="quiet">none yet</span>
        )}
      </td>
      <td>
        {one.usage ? (
          <>
            <TokenSum tokens={one.usage.tokens} /> <CostOf cost={one.usage.cost} />
          </>
        ) : (
          <span className="quiet">not reported</span>
        )}
      </td>
      <td>
        {own && !isOwn && own.size && one.size ? (
          <Link href={`/review/${own.number}?with=${one.number}`} aria-label={`Compare with ${one.number}`}>
            Compare
          </Link>
        ) : null}
      </td>
    </tr>
  );
}
