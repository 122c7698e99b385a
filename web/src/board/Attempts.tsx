// The attempts of a task, newest first. What the agent said and what was found
// stand side by side, because they are two facts.

import { Link } from "wouter";

import type { Attempt, Evidence, Outcome, TaskDetails } from "../generated/operations";
import { checkMark, Mark, type Tone } from "../parts/marks";
import { Ago, duration, Lasting } from "../parts/time";

export function Attempts({ details }: { details: TaskDetails }) {
  const attempts = details.attempts.toReversed();
  return (
    <section className="section">
      <h2>
        Attempts <span className="quiet">{attempts.length}</span>
      </h2>
      {attempts.length === 0 ? (
        <p className="quiet">Nobody has tried it yet. The autopilot claims it when it is ready and an agent is free.</p>
      ) : null}
      <ol className="attempts">
        {attempts.map((attempt, index) => (
          <li key={attempt.id}>
            <AttemptPanel
              attempt={attempt}
              evidence={index === 0 ? details.evidence : []}
              newest={index === 0}
              said={details.task.blocked ?? undefined}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface PanelProps {
  attempt: Attempt;
  evidence: Evidence[];
  newest: boolean;
  /** What the head of the page has said already. */
  said: string | undefined;
}

function AttemptPanel({ attempt, evidence, newest, said }: PanelProps) {
  return (
    <div className="panel attempt">
      <p className="attempt-head">
        <strong>Attempt {attempt.number}</strong>
        <span className="quiet">
          <Ago at={attempt.started_at} />, {attempt.ended_at ? "took" : "for"}{" "}
          <Lasting from={attempt.started_at} to={attempt.ended_at} />
        </span>
        <span className="attempt-links">
          {attempt.branch ? <Link href={`/review/${encodeURIComponent(attempt.branch)}`}>review</Link> : null}
          {attempt.execution ? <Link href={`/executions/${attempt.execution}`}>run</Link> : null}
          {attempt.slot ? <Link href={`/slots/${attempt.slot}`}>terminal</Link> : null}
        </span>
      </p>
      <div className="claim-outcome">
        <section>
          <h3>The agent says</h3>
          {attempt.claim ? (
            <>
              <p>
                <strong>{attempt.claim.kind}</strong> <Ago at={attempt.claim.at} />
              </p>
              <p className="prose">{attempt.claim.text}</p>
            </>
          ) : (
            <p className="quiet">Nothing yet.</p>
          )}
        </section>
        <section>
          <h3>The daemon found</h3>
          {attempt.outcome ? (
            <OutcomeMark outcome={attempt.outcome} />
          ) : (
            <Mark tone="work" word={attempt.check_rounds > 0 ? "checking" : "under way"} busy />
          )}
          {attempt.reason && !said?.includes(attempt.reason) ? <p className="prose">{attempt.reason}</p> : null}
          {attempt.check_rounds > 0 ? (
            <p className="quiet">
              checks ran {attempt.check_rounds} {attempt.check_rounds === 1 ? "time" : "times"}
            </p>
          ) : null}
        </section>
      </div>
      {evidence.length > 0 ? <EvidenceList evidence={evidence} open={newest} /> : null}
      {attempt.branch ? (
        <p className="quiet attempt-foot">
          branch <code>{attempt.branch}</code>
        </p>
      ) : null}
    </div>
  );
}

const OUTCOMES: Record<Outcome, Tone> = {
  verified: "good",
  checks_failed: "bad",
  conflict: "wait",
  needs_person: "wait",
  agent_lost: "bad",
  stalled: "bad",
  expired: "bad",
  error: "bad",
  cancelled: "rest",
  superseded: "rest",
};

export const outcomeTone = (outcome: Outcome): Tone => OUTCOMES[outcome];

export function OutcomeMark({ outcome }: { outcome: Outcome }) {
  return <Mark tone={outcomeTone(outcome)} word={outcome.replaceAll("_", " ")} />;
}

export function EvidenceList({ evidence, open }: { evidence: Evidence[]; open: boolean }) {
  // Rounds before the last say what it says, or what was mended.
  const last = Math.max(...evidence.map((each) => each.round));
  return (
    <ul className="evidence">
      {evidence.map((each) => (
        <li key={`${each.round}-${each.check}`}>
          <details open={open && !each.passed && each.round === last}>
            <summary>
              <Mark {...checkMark(each)} />
              <code className="one-line">{each.check}</code>
              <span className="quiet">
                round {each.round}, {duration(each.millis)}
                {each.commit ? ` on ${each.commit.slice(0, 8)}` : ""}
              </span>
            </summary>
            <pre className="output" tabIndex={0} role="region" aria-label={`Output of ${each.check}, round ${each.round}`}>
              {each.tail || "No output."}
            </pre>
          </details>
        </li>
      ))}
    </ul>
  );
}
