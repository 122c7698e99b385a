// One run: its journal as it grew, what was said to the agent and became of it,
// and the terminal at the moment of any record.

import { Fragment, lazy, Suspense, useState } from "react";
import { Link, useParams } from "wouter";

import { Bar } from "../app/Menu";
import { OpenQuestions } from "../attention/AnswerButtons";
import { useOperation } from "../daemon/queries";
import type { ExecutionDetails } from "../generated/operations";
import { CommandButton } from "../parts/command";
import { CostOf, Tokens } from "../parts/cost";
import { EngineMark } from "../parts/engine";
import { Lines, Loaded } from "../parts/Loaded";
import { Mark, runState } from "../parts/marks";
import { Prose } from "../parts/Prose";
import { Ago, Lasting } from "../parts/time";
import { AgentPlan } from "./AgentPlan";
import { driven } from "./control";
import { Journal } from "./Journal";
import { MessageForm } from "./MessageForm";
import { runName } from "./names";
import { interruptRun, stopRun } from "./runCommands";
import "../slots/slots.css";
import "./executions.css";

const Player = lazy(() => import("../slots/Player").then((module) => ({ default: module.Player })));

export function ExecutionPage() {
  const { execution = "" } = useParams<{ execution: string }>();
  const details = useOperation("execution_show", { execution });
  const [moment, setMoment] = useState<string>();
  // Where the recording is, once it plays on from the moment that was chosen.
  const [played, setPlayed] = useState<number>();
  const choose = (at: string | undefined) => {
    setMoment(at);
    setPlayed(at ? new Date(at).getTime() : undefined);
  };
  return (
    <>
      <Bar
        title={
          <>
            <Link href="/executions">Runs</Link> <span className="quiet">/</span>{" "}
            {details.data?.task ? <Link href={`/board/${details.data.task}`}>{details.data.task}</Link> : null}{" "}
            {details.data ? runName(details.data) : "…"}
          </>
        }
      >
        {details.data ? <Actions run={details.data} /> : null}
      </Bar>
      <div className="view">
        <Loaded of={details} lines={12}>
          {(run) => (
            <div className="run-page">
              <div className="stack">
                <Head run={run} />
                <OpenQuestions of={{ execution: run.execution, slot: run.ended_at ? null : run.slot }} keys />
                {run.control?.by === "structured" && !run.ended_at ? <AgentPlan execution={run.execution} /> : null}
                <Journal run={run} moment={played} choose={choose} />
                {run.ended_at ? null : <MessageForm execution={run.execution} />}
              </div>
              <aside className="stack run-side">
                {moment ? (
                  <section className="section">
                    <h2>
                      The terminal then{" "}
                      <button type="button" className="button plain small" onClick={() => choose(undefined)}>
                        Close
                      </button>
                    </h2>
                    <Suspense fallback={<Lines count={6} />}>
                      <Player slot={run.slot} at={moment} played={setPlayed} />
                    </Suspense>
                  </section>
                ) : null}
                <Facts run={run} />
                <Messages run={run} />
              </aside>
            </div>
          )}
        </Loaded>
      </div>
    </>
  );
}

function Head({ run }: { run: ExecutionDetails }) {
  const why = run.trouble ?? run.failure;
  return (
    <header className="run-head">
      <Mark {...runState(run)} />
      <EngineMark engine={run.engine} />
      {run.progress ? (
        <span className="quiet">
          <Prose text={run.progress} />
        </span>
      ) : null}
      {why ? (
        <p className="trouble" role="alert">
          <Prose text={why} />
        </p>
      ) : null}
    </header>
  );
}

function Actions({ run }: { run: ExecutionDetails }) {
  const live = { execution: run.execution, name: run.task ?? runName(run) };
  return (
    <>
      <Link href={`/slots/${run.slot}`} className="button">
        Terminal
      </Link>
      {run.conversation ? (
        <Link href={`/conversations/${encodeURIComponent(run.conversation)}`} className="button">
          Conversation
        </Link>
      ) : null}
      {run.ended_at ? null : (
        <>
          <CommandButton command={interruptRun(live)} />
          <CommandButton command={stopRun(live)} />
        </>
      )}
    </>
  );
}

function Facts({ run }: { run: ExecutionDetails }) {
  return (
    <dl className="facts">
      {run.task ? (
        <>
          <dt>Task</dt>
          <dd>
            <Link href={`/board/${run.task}`}>
              {run.task} {run.title}
            </Link>
          </dd>
        </>
      ) : null}
      <dt>Slot</dt>
      <dd>
        <Link href={`/slots/${run.slot}`}>{run.slot_name ?? "Recording"}</Link>
      </dd>
      <dt>Repository</dt>
      <dd title={run.repository.path}>{run.repository.name}</dd>
      <dt>Folder</dt>
      <dd className="mono">{run.cwd}</dd>
      <dt>Started</dt>
      <dd>
        <Ago at={run.started_at} />
      </dd>
      <dt>{run.ended_at ? "Took" : "Running for"}</dt>
      <dd>
        <Lasting from={run.started_at} to={run.ended_at} />
      </dd>
      {run.tokens.requests > 0 ? (
        <>
          <dt>Tokens</dt>
          <dd>
            <Tokens tokens={run.tokens} /> <span className="quiet">{run.tokens.requests} requests</span>
          </dd>
          <dt>Cost</dt>
          <dd>
            <CostOf cost={run.cost} />
          </dd>
        </>
      ) : null}
      <Driven run={run} />
      <dt>Reports by</dt>
      <dd>{run.signals.replaceAll("_", " ")}</dd>
      <dt>Journal</dt>
      <dd className="mono">{run.journal}</dd>
    </dl>
  );
}

/** What drives it and why, and what it says of itself where it has words for that. */
function Driven({ run: { control, agent, ended_at } }: { run: ExecutionDetails }) {
  return (
    <>
      {control ? (
        <>
          <dt>{ended_at ? "Was driven by" : "Driven by"}</dt>
          <dd>
            <Prose text={driven(control.by, control.why)} />
          </dd>
        </>
      ) : null}
      {agent?.agent ? (
        <>
          <dt>Agent</dt>
          <dd>{agent.agent}</dd>
        </>
      ) : null}
      {agent?.settings?.map(({ name, current }) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{current}</dd>
        </Fragment>
      ))}
    </>
  );
}

function Messages({ run }: { run: ExecutionDetails }) {
  if (run.messages.length === 0) return null;
  return (
    <section className="section">
      <h2>
        Messages <span className="quiet">{run.messages.length}</span>
      </h2>
      <ul className="messages">
        {run.messages.map((message) => (
          <li key={message.message}>
            <span
              className="mark"
              data-tone={message.status === "delivered" ? "good" : message.status === "failed" ? "bad" : "wait"}
            >
              {message.status}
            </span>
            <span className="quiet">
              <Ago at={message.accepted_at} /> {message.answers ? "an answer" : ""} {message.reason}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
