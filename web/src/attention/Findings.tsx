// What stands against a task: what its agent claimed last, and the checks that
// failed after it.

import { useOperation } from "../daemon/queries";
import { Prose } from "../parts/Prose";

export function Findings({ task }: { task: string }) {
  const details = useOperation("board_show", { task });
  const evidence = details.data?.evidence ?? [];
  const last = Math.max(0, ...evidence.map((each) => each.round));
  const failed = evidence.filter((each) => !each.passed && each.round === last);
  const claim = details.data?.attempts.at(-1)?.claim;
  return (
    <>
      {claim ? (
        <p className="quiet">
          The agent says: <Prose text={claim.text} />
        </p>
      ) : null}
      {failed.map((each) => (
        <figure key={each.check}>
          <figcaption className="quiet">
            <code>{each.check}</code>{" "}
            {each.timed_out ? "took too long" : `ended with ${each.exit ?? `signal ${each.signal}`}`}, round {each.round}
            {each.tail ? null : ", without output"}
          </figcaption>
          {each.tail ? (
            <pre className="output" tabIndex={0} role="region" aria-label={`Output of ${each.check}`}>
              {each.tail}
            </pre>
          ) : null}
        </figure>
      ))}
    </>
  );
}
