// What happened in a run, from its journal, oldest first: as a story, or record by
// record. The time of each leads to the terminal as it was then, and while the
// recording plays, the journal shows where it is.

import { useEffect, useMemo, useRef, useState } from "react";

import { useRemembered } from "../app/remember";
import { useOperation } from "../daemon/queries";
import type { ExecutionDetails, Happening, JournalEntry, RecordKind } from "../generated/operations";
import { Lines, Loaded, Trouble } from "../parts/Loaded";
import { Prose } from "../parts/Prose";
import { clock } from "../parts/time";
import { useRecords } from "./records";

interface Props {
  run: ExecutionDetails;
  /** The moment the recording is at, in milliseconds. */
  moment: number | undefined;
  choose: (moment: string) => void;
}

/** What can be shown of a journal: which kinds of record. */
const SHOWN = {
  story: { name: "Story", kinds: [] },
  all: { name: "Every record", kinds: [] },
  messages: { name: "Messages", kinds: ["message.accepted", "message.delivery"] },
  observations: { name: "Observations", kinds: ["observation.recorded"] },
  decisions: { name: "Decisions", kinds: ["decision.recorded"] },
  states: { name: "States", kinds: ["state.changed", "activity.updated", "journal.header"] },
  effects: { name: "Effects", kinds: ["owner-effect.recorded", "projection.recorded"] },
} satisfies Record<string, { name: string; kinds: RecordKind[] }>;

export function Journal({ run, moment, choose }: Props) {
  const [shown, setShown] = useRemembered<keyof typeof SHOWN>("journal.shown", "story");
  const { kinds } = SHOWN[shown] ?? SHOWN.story;
  return (
    <section className="section">
      <h2>
        Journal <span className="quiet">{run.records} records</span>
        <select
          className="field journal-kind"
          aria-label="What is shown of the journal"
          value={shown}
          onChange={(event) => setShown(event.target.value as keyof typeof SHOWN)}
        >
          {Object.entries(SHOWN).map(([key, { name }]) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
      </h2>
      {shown === "story" ? (
        <Story run={run} moment={moment} choose={choose} />
      ) : (
        <Everything key={shown} run={run} kinds={kinds} moment={moment} choose={choose} />
      )}
    </section>
  );
}

function Story({ run, moment, choose }: Props) {
  const story = useMemo(() => toldOnce(run.timeline), [run.timeline]);
  const here = placeOf(story, moment);
  if (story.length === 0) return <p className="quiet">Nothing has happened yet.</p>;
  return (
    <ol className="journal">
      {story.map((happening, index) => (
        <Item key={happening.sequence} at={happening.at} kind={happening.title} here={index === here} choose={choose}>
          <p className="prose record-text">
            <Prose text={withoutBackground(happening.text)} />
          </p>
        </Item>
      ))}
    </ol>
  );
}

/** What was asked, without what the daemon told beside it: that is on the task's page. */
const withoutBackground = (text: string): string => text.split(/\n=+ Background, gathered by/)[0]?.trimEnd() ?? text;

const SENT = new Set(["prompt", "answer", "nudge", "review", "checkpoint"]);

/**
 * What was sent to the agent comes back in its transcript, with whatever it was
 * told beside it: it is told once, as what was sent.
 */
function toldOnce(timeline: Happening[]): Happening[] {
  const plain = (text: string) => text.replaceAll(/\s+/g, "").replace(/…$/, "");
  const sent: string[] = [];
  return timeline.filter(({ title, text }) => {
    const words = plain(text);
    if (SENT.has(title)) sent.push(words);
    if (title !== "operator") return true;
    const echoed = sent.findIndex((each) => each.startsWith(words) || words.includes(each) || text.endsWith("…"));
    if (echoed >= 0) sent.splice(echoed, 1);
    return echoed < 0;
  });
}

function Everything({ run, kinds, moment, choose }: Props & { kinds: RecordKind[] }) {
  const { records, before, loading, error, older, again } = useRecords(run.execution, kinds, run.records);
  const here = placeOf(records, moment);
  return (
    <>
      {before === undefined ? null : (
        <button type="button" className="button small journal-older" onClick={older}>
          Older records
        </button>
      )}
      {error ? <Trouble error={error} retry={again} /> : null}
      {loading ? <Lines count={8} /> : null}
      {!loading && !error && records.length === 0 ? <p className="quiet">There is no such record in this journal.</p> : null}
      <ol className="journal">
        {records.map((record, index) => (
          <Item key={record.sequence} at={record.at} kind={said(record.kind)} here={index === here} choose={choose}>
            <Entry record={record} execution={run.execution} />
          </Item>
        ))}
      </ol>
    </>
  );
}

const said = (kind: string): string => kind.replace(".recorded", "").replaceAll(/[.-]/g, " ");

/** The last of a list that had happened by a moment. */
function placeOf(list: { at: string }[], moment: number | undefined): number {
  if (moment === undefined) return -1;
  return list.findLastIndex((each) => new Date(each.at).getTime() <= moment);
}

interface ItemProps {
  at: string;
  kind: string;
  here: boolean;
  choose: (moment: string) => void;
  children: React.ReactNode;
}

function Item({ at, kind, here, choose, children }: ItemProps) {
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (here) item.current?.scrollIntoView({ block: "nearest" });
  }, [here]);
  return (
    <li ref={item} className={here ? "record here" : "record"} aria-current={here ? "true" : undefined}>
      <button
        type="button"
        className="record-time mono"
        title="Show the terminal at this moment"
        onClick={() => choose(at)}
      >
        {clock(at)}
      </button>
      <span className="record-kind quiet">{kind}</span>
      {children}
    </li>
  );
}

function Entry({ record, execution }: { record: JournalEntry; execution: string }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="record-body">
      <p className="record-text">
        <span>{record.text}</span>
        <button
          type="button"
          className="button plain small"
          aria-expanded={open}
          aria-label={`All that record ${record.sequence} says`}
          onClick={() => setOpen(!open)}
        >
          #{record.sequence}
        </button>
      </p>
      {open ? <Whole execution={execution} sequence={record.sequence} /> : null}
    </div>
  );
}

function Whole({ execution, sequence }: { execution: string; sequence: number }) {
  const page = useOperation("execution_journal", { execution, after: sequence - 1, limit: 1, data: true });
  return (
    <Loaded of={page} lines={3}>
      {({ records }) => (
        <pre className="output" tabIndex={0} role="region" aria-label={`Record ${sequence}`}>
          {JSON.stringify(records[0]?.data, null, 2)}
        </pre>
      )}
    </Loaded>
  );
}
