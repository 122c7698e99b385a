// One run: its journal as it grew, what was said to the agent and became of it,
// and the terminal at the moment of any record.

import { type FormEvent, lazy, Suspense, useState } from "react";
import { Link, useParams } from "wouter";

import { Bar } from "../app/Menu";
import { useAction, useOperation } from "../daemon/queries";
import type { ExecutionDetails } from "../generated/operations";
import { Lines, Loaded } from "../parts/Loaded";
import { AttentionMark, LifecycleMark } from "../parts/marks";
import { Ago, Lasting } from "../parts/time";
import { complain, say } from "../parts/toasts";
import { Journal } from "./Journal";
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
            {details.data?.slot_name ?? details.data?.engine ?? "…"}
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
                {run.questions.length > 0 ? <Asked run={run} /> : null}
                <Journal run={run} moment={played} choose={choose} />
                {run.ended_at ? null : <Tell run={run} />}
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
  return (
    <header className="run-head">
      <LifecycleMark lifecycle={run.lifecycle} />
      <AttentionMark attention={run.attention} />
      {run.ended_at ? null : <span>{run.activity}</span>}
      {run.progress ? <span className="quiet">{run.progress}</span> : null}
      {run.trouble ? (
        <p className="trouble" role="alert">
          {run.trouble}
        </p>
      ) : null}
    </header>
  );
}

function Actions({ run }: { run: ExecutionDetails }) {
  const interrupt = useAction("execution_interrupt", () => say("It is told to stop what it does.", "rest"));
  const cancel = useAction("execution_cancel", () => say("The run is ended.", "rest"));
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
          <button
            type="button"
            className="button"
            disabled={interrupt.isPending}
            onClick={() => interrupt.mutate({ execution: run.execution }, { onError: complain })}
          >
            Interrupt
          </button>
          <button
            type="button"
            className="button plain danger"
            disabled={cancel.isPending}
            onClick={() => {
              if (window.confirm("End this run and every process it started?")) {
                cancel.mutate({ execution: run.execution, reason: "ended on the board" }, { onError: complain });
              }
            }}
          >
            End it
          </button>
        </>
      )}
    </>
  );
}

function Asked({ run }: { run: ExecutionDetails }) {
  const answer = useAction("execution_answer", () => say("The answer is on its way."));
  return (
    <section className="section">
      <h2>It asks</h2>
      {run.questions.map((question) => (
        <form
          key={question.request}
          className="panel asked"
          onSubmit={(event: FormEvent<HTMLFormElement>) => {
            event.preventDefault();
            const text = String(new FormData(event.currentTarget).get("answer") ?? "").trim();
            if (text) answer.mutate({ execution: run.execution, request: question.request, text }, { onError: complain });
          }}
        >
          <p>{question.question}</p>
          <div className="options">
            {(question.choices ?? []).map((choice) => (
              <button
                key={choice}
                type="button"
                className="button"
                disabled={answer.isPending}
                onClick={() =>
                  answer.mutate({ execution: run.execution, request: question.request, text: choice }, { onError: complain })
                }
              >
                {choice}
              </button>
            ))}
          </div>
          <div className="words">
            <textarea className="field" name="answer" rows={2} aria-label={`Answer: ${question.question}`} placeholder="Your answer…" />
            <button type="submit" className="button primary" disabled={answer.isPending}>
              Answer
            </button>
          </div>
        </form>
      ))}
    </section>
  );
}

function Tell({ run }: { run: ExecutionDetails }) {
  const [text, setText] = useState("");
  const send = useAction("execution_message", () => {
    setText("");
    say("The message is queued; it is typed when the agent waits for one.");
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) send.mutate({ execution: run.execution, text: text.trim() }, { onError: complain });
  };
  return (
    <form className="words" onSubmit={submit}>
      <textarea
        className="field"
        rows={3}
        aria-label="A message to the agent"
        placeholder="A message to the agent…"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey) submit(event);
        }}
      />
      <button type="submit" className="button primary" disabled={send.isPending || !text.trim()}>
        Queue
      </button>
    </form>
  );
}

function Facts({ run }: { run: ExecutionDetails }) {
  const { tokens } = run;
  return (
    <dl className="facts">
      <dt>Agent</dt>
      <dd>{run.engine}</dd>
      <dt>Folder</dt>
      <dd className="mono">{run.cwd}</dd>
      <dt>Reports by</dt>
      <dd>{run.signals.replaceAll("_", " ")}</dd>
      <dt>Began</dt>
      <dd>
        <Ago at={run.started_at} />
      </dd>
      <dt>{run.ended_at ? "Took" : "For"}</dt>
      <dd>
        <Lasting from={run.started_at} to={run.ended_at} />
      </dd>
      {tokens.requests > 0 ? (
        <>
          <dt>Tokens</dt>
          <dd>
            {tokens.input.toLocaleString()} in, {tokens.output.toLocaleString()} out
            <br />
            <span className="quiet">
              {tokens.cache_read.toLocaleString()} from the cache, {tokens.requests} requests
            </span>
          </dd>
        </>
      ) : null}
      {run.conversation ? (
        <>
          <dt>Conversation</dt>
          <dd className="mono">
            <Link href={`/conversations/${encodeURIComponent(run.conversation)}`}>{run.conversation}</Link>
          </dd>
        </>
      ) : null}
      <dt>Journal</dt>
      <dd className="mono">{run.journal}</dd>
    </dl>
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
