// One task: what it says, what it waits for, and every attempt with the agent's
// claim beside what the daemon found.

import { type FormEvent, type ReactNode, useState } from "react";
import { Link, useLocation, useParams } from "wouter";

import { Bar } from "../app/Menu";
import { useShortcuts } from "../app/shortcuts";
import { useAction, useOpenQuestions, useOperation } from "../daemon/queries";
import type { BoardTask, Note, TaskDetails, TaskLink } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { AttentionMark, TaskMark } from "../parts/marks";
import { Ago } from "../parts/time";
import { complain, say } from "../parts/toasts";
import { Attempts } from "./Attempts";
import { EditTask } from "./EditTask";
import "./board.css";

export function TaskPage() {
  const { task: number = "" } = useParams<{ task: string }>();
  const details = useOperation("board_show", { task: number });
  const [editing, setEditing] = useState(false);
  const [, navigate] = useLocation();
  useShortcuts({ e: () => setEditing(true), Escape: () => navigate("/board") });
  return (
    <>
      <Bar
        title={
          <>
            <Link href="/board">Board</Link> <span className="quiet">/</span>{" "}
            <span className="number">{details.data?.task.number ?? number}</span>
          </>
        }
      >
        {details.data?.attempts.length ? (
          <Link className="button" href={`/conversations?task=${details.data.task.number}`}>
            Conversations
          </Link>
        ) : null}
        {details.data ? <ReviewLink details={details.data} /> : null}
        {details.data ? <Actions task={details.data.task} edit={() => setEditing(true)} /> : null}
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={details} lines={10}>
          {(data) => <Details details={data} />}
        </Loaded>
      </div>
      {editing && details.data ? <EditTask task={details.data.task} close={() => setEditing(false)} /> : null}
    </>
  );
}

function ReviewLink({ details }: { details: TaskDetails }) {
  if (!details.attempts.some((attempt) => attempt.branch)) return null;
  return (
    <Link className="button" href={`/review/${details.task.number}`}>
      Review
    </Link>
  );
}

function Actions({ task, edit }: { task: BoardTask; edit: () => void }) {
  const retry = useAction("board_retry", () => say(`${task.number} is open again.`));
  const cancel = useAction("board_cancel", () => say(`${task.number} is given up.`, "rest"));
  const over = task.status === "done" || task.status === "failed";
  return (
    <>
      {task.status === "blocked" || task.status === "failed" ? (
        <button
          type="button"
          className="button primary"
          disabled={retry.isPending}
          onClick={() => retry.mutate({ task: task.number }, { onError: complain })}
        >
          Try again
        </button>
      ) : null}
      {over ? null : (
        <button type="button" className="button" onClick={edit}>
          Edit <kbd>e</kbd>
        </button>
      )}
      {over ? null : (
        <button
          type="button"
          className="button plain danger"
          disabled={cancel.isPending}
          onClick={() => {
            const sure =
              task.status !== "running" || window.confirm(`An agent works on ${task.number}. Giving it up ends the agent.`);
            if (sure) cancel.mutate({ task: task.number, reason: "given up on the board" }, { onError: complain });
          }}
        >
          Give up
        </button>
      )}
    </>
  );
}

function Details({ details }: { details: TaskDetails }) {
  const { task } = details;
  return (
    <article className="task">
      <header className="task-head">
        <TaskMark status={task.status} />
        <h2 className="task-title">{task.title}</h2>
        {task.blocked ? <p className="task-why">{task.blocked}</p> : null}
        <Asked number={task.number} />
        {details.waits.map((wait) => (
          <p key={wait.sentence} className="task-why">
            {wait.sentence}
          </p>
        ))}
      </header>
      <div className="task-body">
        <div className="stack">
          {task.description ? <p className="prose">{task.description}</p> : null}
          <Attempts details={details} />
          <Notes number={task.number} notes={details.notes} />
        </div>
        <aside className="task-side">
          <Facts details={details} />
        </aside>
      </div>
    </article>
  );
}

/** What a person is asked about it, and where to answer. */
function Asked({ number }: { number: string }) {
  const questions = useOpenQuestions();
  const asked = questions.data?.questions.filter((question) => question.task === number) ?? [];
  return asked.map((question) => (
    <p key={question.id} className="task-why">
      <AttentionMark attention="awaiting_operator" />{" "}
      <Link href={`/attention?at=Q-${question.number}`}>{question.question}</Link>
    </p>
  ));
}

function Facts({ details }: { details: TaskDetails }) {
  const { task } = details;
  const rows: [string, ReactNode][] = [
    ["Priority", task.priority],
    ["Phase", task.phases.length > 1 ? `${task.phase} of ${task.phases.join(", ")}` : task.phase],
    ["Agent", [task.engine ?? "any", task.model, task.permission].filter(Boolean).join(", ")],
    ["Repository", task.repository ? <code>{task.repository}</code> : null],
    ["Where", task.isolation],
    ["Starts from", task.base ? <code>{task.base}</code> : null],
    ["Afterwards", task.finish],
    ["Failed tries", `${task.tries}, at most ${task.max_attempts}`],
    ["Budget", task.budget?.tokens ? `${task.budget.tokens.toLocaleString()} tokens` : null],
    ["Touches", task.touches.length > 0 ? <code>{task.touches.join(" ")}</code> : null],
    ["Labels", task.labels.length > 0 ? task.labels.join(", ") : null],
    ["Due", task.due ? <Ago at={task.due} /> : null],
    ["Made", <Ago key="made" at={task.created_at} />],
    ["Over", task.finished_at ? <Ago at={task.finished_at} /> : null],
  ];
  return (
    <>
      <dl className="facts">
        {rows.map(([name, value]) =>
          value ? (
            <div key={name} className="fact">
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ) : null,
        )}
      </dl>
      <Commands name="Checks" commands={task.checks} />
      <Commands name="Setup" commands={task.setup} />
      <Links name="Part of" links={details.parent ? [details.parent] : []} />
      <Links name="Parts" links={details.children} />
      <Links name="Comes after" links={details.depends_on} />
      <Links name="Comes before" links={details.dependents} />
    </>
  );
}

function Commands({ name, commands }: { name: string; commands: BoardTask["checks"] }) {
  if (commands.length === 0) return null;
  return (
    <section>
      <h3>{name}</h3>
      <ul>
        {commands.map((command) => (
          <li key={command.run.join(" ")}>
            <code>{command.name ?? command.run.join(" ")}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Links({ name, links }: { name: string; links: TaskLink[] }) {
  if (links.length === 0) return null;
  return (
    <section>
      <h3>{name}</h3>
      <ul className="links">
        {links.map((link) => (
          <li key={link.number}>
            <Link href={`/board/${link.number}`}>
              <span className="number">{link.number}</span> {link.title}
            </Link>
            <TaskMark status={link.status} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Notes({ number, notes }: { number: string; notes: Note[] }) {
  const [text, setText] = useState("");
  const add = useAction("board_note", () => setText(""));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) add.mutate({ task: number, text: text.trim(), author: "person" }, { onError: complain });
  };
  return (
    <section className="section">
      <h2>Notes</h2>
      {notes.length > 0 ? (
        <ul className="notes">
          {notes.map((note) => (
            <li key={`${note.at}-${note.author}`}>
              <p className="quiet">
                {note.author} <Ago at={note.at} />
              </p>
              <p className="prose">{note.text}</p>
            </li>
          ))}
        </ul>
      ) : null}
      <form className="words" onSubmit={submit}>
        <textarea
          className="field"
          rows={2}
          aria-label="A note on the task"
          placeholder="Write a note…"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button" disabled={!text.trim() || add.isPending}>
          Add
        </button>
      </form>
    </section>
  );
}
