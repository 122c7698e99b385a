// What the checks say of the work: the last round, and the rounds before it for
// whoever asks.

import type { Evidence } from "../generated/operations";
import { checkMark, isOfCheck, Mark } from "../parts/marks";
import { Ago, duration } from "../parts/time";

export interface Round {
  number: number;
  checks: Evidence[];
  failed: Evidence[];
  commit: string | undefined;
  /** What became of the files that the checks wrote. */
  note: string | undefined;
  at: string;
}

export function roundsOf(evidence: Evidence[]): Round[] {
  const numbers = [...new Set(evidence.map((each) => each.round))].sort((a, b) => b - a);
  return numbers.map((number) => {
    const checks = evidence.filter((each) => each.round === number);
    return {
      number,
      checks,
      failed: checks.filter((each) => !each.passed),
      commit: checks.find((each) => each.commit)?.commit ?? undefined,
      note: checks.find((each) => each.note)?.note ?? undefined,
      at: checks.at(-1)?.at ?? "",
    };
  });
}

interface Props {
  evidence: Evidence[];
  /** The last commit of what is shown. */
  head: string;
  /** Whether the task has no check at all. */
  none: boolean;
}

export function Verdict({ evidence, head, none }: Props) {
  const [last, ...earlier] = roundsOf(evidence.filter(isOfCheck));
  if (!last) {
    return (
      <section className="verdict" data-tone="rest" aria-label="Checks">
        <p>
          <strong>Not checked.</strong>{" "}
          {none ? "This task has no checks: nothing but your eyes has looked at it." : "No check has run on this work yet."}
        </p>
      </section>
    );
  }
  const red = last.failed.length > 0;
  const older = last.commit !== undefined && last.commit !== head;
  return (
    <section className="verdict" data-tone={red ? "bad" : "good"} aria-label="Checks" role={red ? "alert" : undefined}>
      <p>
        <strong>{headline(last)}</strong>
        <span className="quiet">
          {" "}
          <Ago at={last.at} />
          {last.commit ? (
            <>
              , on <code>{last.commit.slice(0, 8)}</code>
              {older ? (
                <>
                  ; the work is at <code>{head.slice(0, 8)}</code> now
                </>
              ) : null}
            </>
          ) : null}
        </span>
      </p>
      <CheckList checks={last.checks} open />
      {last.note ? <p className="quiet">{last.note}</p> : null}
      {earlier.length > 0 ? (
        <details className="earlier">
          <summary>{earlier.length === 1 ? "1 earlier round" : `${earlier.length} earlier rounds`}</summary>
          {earlier.map((round) => (
            <div key={round.number}>
              <h3>
                Round {round.number}: {headline(round)}
              </h3>
              <CheckList checks={round.checks} open={false} />
            </div>
          ))}
        </details>
      ) : null}
    </section>
  );
}

function headline({ checks, failed }: Round): string {
  if (failed.length === 0) return checks.length === 1 ? "The check passed." : `All ${checks.length} checks passed.`;
  if (checks.length === 1) return "The check failed.";
  return failed.length === checks.length
    ? `All ${checks.length} checks failed.`
    : `${failed.length} of ${checks.length} checks failed.`;
}

function CheckList({ checks, open }: { checks: Evidence[]; open: boolean }) {
  // What failed is what one has come for.
  const sorted = checks.toSorted((a, b) => Number(a.passed) - Number(b.passed));
  return (
    <ul className="verdict-checks">
      {sorted.map((each) => (
        <li key={`${each.round}-${each.check}`}>
          {each.tail ? (
            <details open={open && !each.passed}>
              <summary>
                <CheckLine check={each} />
              </summary>
              <pre className="output" tabIndex={0} role="region" aria-label={`Output of ${each.check}, round ${each.round}`}>
                {each.tail}
              </pre>
            </details>
          ) : (
            <p className="verdict-line">
              <CheckLine check={each} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

function CheckLine({ check }: { check: Evidence }) {
  return (
    <>
      <Mark {...checkMark(check)} />
      <code>{check.check}</code>
      <span className="quiet">{duration(check.millis)}</span>
    </>
  );
}
