// One slot: its terminal, which can be taken over, and the reasons for what it is
// taken to be doing. A slot that is closed shows its recording instead.

import { lazy, Suspense } from "react";
import { Link, useParams, useSearchParams } from "wouter";

import { Bar } from "../app/Menu";
import { OpenQuestions } from "../attention/AnswerButtons";
import { useOperation } from "../daemon/queries";
import { runName } from "../executions/names";
import type { ExecutionSummary, SlotSummary } from "../generated/operations";
import { CommandButton } from "../parts/command";
import { EngineMark } from "../parts/engine";
import { Lines, Loaded, Nothing } from "../parts/Loaded";
import { SlotMark } from "../parts/marks";
import { Prose } from "../parts/Prose";
import { Ago } from "../parts/time";
import { Explain } from "./Explain";
import { useRunIn } from "./runs";
import { interruptSlot, stopSlot } from "./slotCommands";
import { Terminal } from "./Terminal";
import "./slots.css";

const Player = lazy(() => import("./Player").then((module) => ({ default: module.Player })));

export function SlotPage() {
  const { slot: id = "" } = useParams<{ slot: string }>();
  const [search, setSearch] = useSearchParams();
  const slots = useOperation("slot_list", { all: true });
  const slot = slots.data?.slots.find((each) => each.slot === id || (each.name === id && !each.closed_at));
  const run = useRunIn(slot?.slot);
  const playing = search.has("recording") || Boolean(slot?.closed_at);
  return (
    <>
      <Bar
        title={
          <>
            <Link href="/slots">Slots</Link> <span className="quiet">/</span>{" "}
            {run?.task ? <Link href={`/board/${run.task}`}>{run.task}</Link> : null} {run?.title ?? slot?.name ?? "…"}
          </>
        }
      >
        {slot && !slot.closed_at ? (
          <button
            type="button"
            className="button"
            aria-pressed={playing}
            onClick={() => setSearch(playing ? {} : { recording: "" }, { replace: true })}
          >
            Recording
          </button>
        ) : null}
        {slot ? <Actions slot={slot} /> : null}
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={slots} lines={14}>
          {() =>
            slot ? (
              <div className="slot-page">
                <div className="slot-main">
                  {slot.closed_at ? null : <OpenQuestions of={{ slot: slot.slot }} />}
                  {playing ? (
                    <Suspense fallback={<Lines count={12} />}>
                      <Player slot={slot.slot} at={search.get("at")} />
                    </Suspense>
                  ) : (
                    <Terminal slot={slot} take={search.has("take") ? () => setSearch({}, { replace: true }) : undefined} />
                  )}
                </div>
                <aside className="slot-side">
                  <Facts slot={slot} run={run} />
                  {slot.closed_at ? null : <Explain slot={slot.slot} state={slot.reading.state} />}
                </aside>
              </div>
            ) : (
              <Nothing title="There is no such slot">
                <p>
                  <Link href="/slots">All slots</Link>
                </p>
              </Nothing>
            )
          }
        </Loaded>
      </div>
    </>
  );
}

function Actions({ slot }: { slot: SlotSummary }) {
  if (slot.closed_at) return null;
  return (
    <>
      <a className="button" href={`/api/v1/slots/${slot.slot}/screenshot.png`} target="_blank" rel="noreferrer">
        Screenshot
      </a>
      <CommandButton command={interruptSlot(slot)} />
      <CommandButton command={stopSlot(slot)} />
    </>
  );
}

function Facts({ slot, run }: { slot: SlotSummary; run: ExecutionSummary | undefined }) {
  const { reading } = slot;
  return (
    <section className="stack-tight">
      <p className="slot-state">
        <SlotMark slot={slot} />
        <span className="quiet">
          {Math.round(reading.confidence * 100)} % sure, by {reading.authority}
        </span>
      </p>
      {reading.state === "confirming" ? null : (
        <p>
          <Prose text={reading.reason} />
        </p>
      )}
      {slot.trouble ? (
        <p className="trouble" role="alert">
          {slot.trouble}
        </p>
      ) : null}
      <dl className="facts">
        {run?.task ? (
          <>
            <dt>Task</dt>
            <dd>
              <Link href={`/board/${run.task}`}>
                {run.task} {run.title}
              </Link>
            </dd>
          </>
        ) : null}
        {run ? (
          <>
            <dt>Run</dt>
            <dd>
              <Link href={`/executions/${run.execution}`}>{run.task ? "Journal of this run" : runName(run)}</Link>
            </dd>
          </>
        ) : null}
        <dt>Slot</dt>
        <dd>{slot.name}</dd>
        <dt>Agent</dt>
        <dd>
          <EngineMark engine={slot.engine} />
        </dd>
        {slot.program ? (
          <>
            <dt>Program</dt>
            <dd className="mono">{slot.program.argv.join(" ")}</dd>
            <dt>Folder</dt>
            <dd className="mono">{slot.program.cwd}</dd>
            <dt>Process</dt>
            <dd>{slot.program.pid}</dd>
          </>
        ) : null}
        <dt>Started</dt>
        <dd>
          <Ago at={slot.created_at} />
        </dd>
        {slot.closed_at ? (
          <>
            <dt>Ended</dt>
            <dd>
              <Ago at={slot.closed_at} />
            </dd>
          </>
        ) : null}
      </dl>
    </section>
  );
}
