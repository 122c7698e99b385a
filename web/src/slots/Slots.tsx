// Every slot with its live terminal, what it is taken to be doing, and why.

import { useMemo } from "react";
import { Link } from "wouter";

import { Bar } from "../app/Menu";
import { useRemembered } from "../app/remember";
import { OpenQuestions } from "../attention/AnswerButtons";
import { useOpenQuestions, useOperation } from "../daemon/queries";
import type { ExecutionSummary, SlotSummary } from "../generated/operations";
import { EngineMark } from "../parts/engine";
import { Loaded, Nothing } from "../parts/Loaded";
import { Mark, slotTone, SlotMark, type Tone } from "../parts/marks";
import { Prose } from "../parts/Prose";
import { Ago, Lasting } from "../parts/time";
import { useRunsBySlot } from "./runs";
import { Screen } from "./Screen";
import "./slots.css";

const SIZES = { small: "15rem", medium: "23rem", large: "36rem" } as const;

export function Slots() {
  const [size, setSize] = useRemembered<keyof typeof SIZES>("slots.size", "medium");
  const [closed, setClosed] = useRemembered("slots.closed", false);
  const slots = useOperation("slot_list", { all: closed }, { placeholder: "keep" });
  const runs = useRunsBySlot();
  const asking = useAsking();
  return (
    <>
      <Bar title="Slots">
        <button type="button" className="button" aria-pressed={closed} onClick={() => setClosed(!closed)}>
          Show ended
        </button>
        <div className="together" role="group" aria-label="Size of the terminals">
          {(Object.keys(SIZES) as (keyof typeof SIZES)[]).map((each) => (
            <button
              key={each}
              type="button"
              className="button"
              aria-pressed={each === size}
              onClick={() => setSize(each)}
            >
              {each}
            </button>
          ))}
        </div>
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={slots}>
          {({ slots: all }) => {
            const open = byNeed(
              all.filter((slot) => !slot.closed_at),
              asking,
            );
            const gone = all.filter((slot) => slot.closed_at);
            return (
              <div className="stack">
                {open.length === 0 ? <NoSlots /> : null}
                <ul className="slots" style={{ "--tile": SIZES[size] } as React.CSSProperties}>
                  {open.map((slot) => (
                    <li key={slot.slot}>
                      <Tile slot={slot} run={runs.get(slot.slot)} asks={asking.has(slot.slot)} />
                    </li>
                  ))}
                </ul>
                {closed ? <Closed slots={gone} /> : null}
              </div>
            );
          }}
        </Loaded>
      </div>
    </>
  );
}

function NoSlots() {
  return (
    <Nothing title="No agent runs now">
      <p>
        A slot is the terminal an agent runs in. The autopilot opens one for each task it works on; you can open one
        yourself:
      </p>
      <pre className="output">mission run "Explain this repository"</pre>
      <p>
        <Link href="/board">Open the board</Link>
      </p>
    </Nothing>
  );
}

/** Those that ask first, then those that work, those that wait for work, and the rest. */
const NEED: Record<Tone, number> = { wait: 0, bad: 1, work: 2, good: 3, rest: 3 };

function byNeed(slots: SlotSummary[], asking: Set<string>): SlotSummary[] {
  const need = (slot: SlotSummary) => (asking.has(slot.slot) ? 0 : NEED[slotTone(slot.reading.state)]);
  return slots.toSorted((a, b) => need(a) - need(b) || b.created_at.localeCompare(a.created_at));
}

/** The slots whose agents ask something, by a dialog or in words. */
function useAsking(): Set<string> {
  const questions = useOpenQuestions();
  return useMemo(
    () => new Set(questions.data?.questions.flatMap(({ origin }) => ("slot" in origin ? [origin.slot] : []))),
    [questions.data],
  );
}

interface TileProps {
  slot: SlotSummary;
  run: ExecutionSummary | undefined;
  asks: boolean;
}

function Tile({ slot, run, asks }: TileProps) {
  const { reading } = slot;
  const name = run?.title ?? slot.name;
  return (
    <article className="tile" data-tone={asks ? "wait" : slotTone(reading.state)} data-slot={slot.name}>
      <header>
        <EngineMark engine={slot.engine} bare />
        {run?.task ? (
          <Link href={`/board/${run.task}`} className="number">
            {run.task}
          </Link>
        ) : null}
        <Link href={`/slots/${slot.slot}`} className="tile-name one-line" title={name === slot.name ? undefined : `${name} (${slot.name})`}>
          {name}
        </Link>
        {asks ? <Mark tone="wait" word="asks" /> : <SlotMark slot={slot} title={reading.reason} />}
      </header>
      <Link href={`/slots/${slot.slot}`} aria-hidden="true" tabIndex={-1} className="tile-screen">
        <Screen slot={slot.slot} label={`Terminal of ${slot.name}`} />
      </Link>
      <p className="tile-why" title={reading.reason}>
        <span className="one-line">
          {/* What is asked stands below. */}
          {asks ? null : <Prose text={slot.trouble ?? reading.waiting_for ?? reading.reason} />}
        </span>
        {run ? <Lasting from={run.started_at} to={run.ended_at} /> : <Ago at={slot.created_at} />}
      </p>
      {asks ? <OpenQuestions of={{ slot: slot.slot }} /> : null}
    </article>
  );
}

function Closed({ slots }: { slots: SlotSummary[] }) {
  return (
    <section className="section">
      <h2>
        Ended <span className="quiet">{slots.length}</span>
      </h2>
      {slots.length === 0 ? <p className="quiet">None yet. Their recordings stay and can be played.</p> : null}
      <div className="scroll-x">
        <table className="table">
          <tbody>
            {slots.map((slot) => (
              <tr key={slot.slot}>
                <td>
                  <Link href={`/slots/${slot.slot}`}>{slot.name}</Link>
                </td>
                <td>
                  <EngineMark engine={slot.engine} />
                </td>
                <td>
                  <Prose text={slot.reading.reason} />
                </td>
                <td>{slot.closed_at ? <Ago at={slot.closed_at} /> : null}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
