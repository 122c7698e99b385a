// What happened in a run, from its journal, oldest first. The time of each leads
// to the terminal as it was then.

import type { ExecutionDetails, Happening } from "../generated/operations";
import { clock } from "../parts/time";

interface Props {
  run: ExecutionDetails;
  moment: string | undefined;
  choose: (moment: string) => void;
}

export function Journal({ run, moment, choose }: Props) {
  return (
    <section className="section">
      <h2>
        Journal <span className="quiet">{run.records} records</span>
      </h2>
      {run.timeline.length === 0 ? <p className="quiet">Nothing has happened yet.</p> : null}
      <ol className="journal">
        {run.timeline.map((happening) => (
          <Record key={happening.sequence} happening={happening} here={happening.at === moment} choose={choose} />
        ))}
      </ol>
    </section>
  );
}

interface RecordProps {
  happening: Happening;
  here: boolean;
  choose: (moment: string) => void;
}

function Record({ happening, here, choose }: RecordProps) {
  return (
    <li className={here ? "record here" : "record"}>
      <button
        type="button"
        className="record-time mono"
        title="Show the terminal at this moment"
        onClick={() => choose(happening.at)}
      >
        {clock(happening.at)}
      </button>
      <span className="record-kind quiet">{happening.title}</span>
      <p className="prose record-text">{happening.text}</p>
    </li>
  );
}
