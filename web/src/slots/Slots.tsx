// Every slot with its live terminal, what it is taken to be doing, and why.

import { Link } from "wouter";

import { Bar } from "../app/Menu";
import { useRemembered } from "../app/remember";
import { useOperation } from "../daemon/queries";
import type { SlotSummary } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { slotTone, SlotMark } from "../parts/marks";
import { Ago } from "../parts/time";
import { Screen } from "./Screen";
import "./slots.css";

const SIZES = { small: "15rem", medium: "23rem", large: "36rem" } as const;

export function Slots() {
  const [size, setSize] = useRemembered<keyof typeof SIZES>("slots.size", "medium");
  const [closed, setClosed] = useRemembered("slots.closed", false);
  const slots = useOperation("slot_list", { all: closed }, { placeholder: "keep" });
  return (
    <>
      <Bar title="Slots">
        <button type="button" className="button" aria-pressed={closed} onClick={() => setClosed(!closed)}>
          Closed too
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
            const open = all.filter((slot) => !slot.closed_at);
            const gone = all.filter((slot) => slot.closed_at);
            return (
              <div className="stack">
                {open.length === 0 ? <NoSlots /> : null}
                <ul className="slots" style={{ "--tile": SIZES[size] } as React.CSSProperties}>
                  {open.map((slot) => (
                    <li key={slot.slot}>
                      <Tile slot={slot} />
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
    <Nothing title="No agent runs">
      <p>
        A slot is the terminal an agent runs in. The autopilot opens one for each task it works on; you can open one
        yourself:
      </p>
      <pre className="output">mission run claude</pre>
      <p>
        <Link href="/board">Look at the board</Link>
      </p>
    </Nothing>
  );
}

function Tile({ slot }: { slot: SlotSummary }) {
  const { reading } = slot;
  return (
    <article className="tile" data-tone={slotTone(reading.state)} data-slot={slot.name}>
      <header>
        <Link href={`/slots/${slot.slot}`} className="tile-name one-line">
          {slot.name}
        </Link>
        <span className="quiet">{slot.engine}</span>
        <SlotMark state={reading.state} title={`${reading.reason} (${Math.round(reading.confidence * 100)} %)`} />
      </header>
      <Link href={`/slots/${slot.slot}`} aria-hidden="true" tabIndex={-1} className="tile-screen">
        <Screen slot={slot.slot} label={`Terminal of ${slot.name}`} />
      </Link>
      <p className="tile-why" title={reading.reason}>
        <span className="one-line">{slot.trouble ?? reading.waiting_for ?? reading.reason}</span>
        <span className="quiet" title={`How sure that is, by ${reading.authority}`}>
          {Math.round(reading.confidence * 100)} %
        </span>
      </p>
    </article>
  );
}

function Closed({ slots }: { slots: SlotSummary[] }) {
  return (
    <section className="section">
      <h2>
        Closed <span className="quiet">{slots.length}</span>
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
                <td className="quiet">{slot.engine}</td>
                <td>{slot.reading.reason}</td>
                <td>{slot.closed_at ? <Ago at={slot.closed_at} /> : null}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
