// One task: what it says, what it waits for, its agent while one works on it, and
// every attempt with the agent's claim beside what the daemon found.

import { type FormEvent, type ReactNode, useState } from "react";
import { Link, useLocation, useParams, useSearchParams } from "wouter";

import { Bar } from "../app/Menu";
import { useShortcuts } from "../app/shortcuts";
import { OpenQuestions } from "../attention/AnswerButtons";
import { useAction, useOpenQuestions, useOperation } from "../daemon/queries";
import { DRIVERS } from "../executions/control";
import type { BoardTask, Note, TaskDetails, TaskLink } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { TaskMark } from "../parts/marks";
import { PullRequestLink } from "../parts/PullRequestLink";
import { Ago } from "../parts/time";
import { complain } from "../parts/toasts";
import { line } from "../start/engines";
import { Alternatives } from "./Alternatives";
import { Attempts, outcomeTone } from "./Attempts";
import { nameOf } from "./cards";
import { EditTask } from "./EditTask";
import { Live } from "./Live";
import { TaskActions } from "./TaskActions";
import { TryWith } from "./TryWith";
import "./board.css";

export function TaskPage() {
  const { task: number = "" } = useParams<{ task: string }>();
  const details = useOperation("board_show", { task: number });
  const [search, setSearch] = useSearchParams();
  const status = details.data?.task.status;
  // What is over is not changed any more.
  const editable = status !== undefined && status !== "done" && status !== "failed";
  const asked = search.has("edit");
  // Once open it stays, also when the task ends meanwhile: somebody types in it.
  const [editing, setOpen] = useState(false);
  if (asked && editable && !editing) setOpen(true);
  if (!asked && editing) setOpen(false);
  const setEditing = (is: boolean) => setSearch(is ? { edit: "" } : {}, { replace: true });
  const [, navigate] = useLocation();
  useShortcuts({ e: () => editable && setEditing(true), Escape: () => navigate("/board") });
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
        {details.data ? <TaskActions task={details.data.task} /> : null}
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={details} lines={10}>
          {(data) => <Details details={data} />}
        </Loaded>
      </div>
      {editing && details.data ? (
        <EditTask
          task={details.data.task}
          after={details.data.depends_on.map((link) => link.number)}
          close={() => setEditing(false)}
        />
      ) : null}
      {search.has("try") && details.data ? (
        <TryWith task={details.data.task} close={() => setSearch({}, { replace: true })} />
      ) : null}
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

function Details({ details }: { details: TaskDetails }) {
  const { task } = details;
  const questions = useOpenQuestions();
  const asked = questions.data?.questions.some((question) => question.task === task.number) ?? false;
  const newest = details.attempts.at(-1);
  const working = newest && !newest.ended_at ? newest : undefined;
  // Why it is blocked is said once: by the question if there is one, else here.
  const waits = details.waits.filter((wait) => wait.wait !== "blocked");
  return (
    <article className="task">
      <header className="task-head">
        <p className="task-marks">
          <TaskMark status={task.status} />
          {task.repository ? (
            <Link className="tag" href={`/board?repo=${encodeURIComponent(task.repository)}`}>
              {nameOf(task.repository)}
            </Link>
          ) : null}
        </p>
        <h2 className="task-title">{task.title}</h2>
        {task.blocked && !asked ? <p className="task-why">{task.blocked}</p> : null}
        {waits.map((wait) => (
          <p key={wait.sentence} className="task-why">
            {wait.sentence}
          </p>
        ))}
        {working ? null : <OpenQuestions of={{ task: task.number }} keys />}
      </header>
      {working ? <Live task={task.number} attempt={working} /> : null}
      <div className="task-body">
        <div className="stack">
          {task.description ? <p className="prose">{task.description}</p> : null}
          <Alternatives details={details} />
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

function Facts({ details }: { details: TaskDetails }) {
  const { task } = details;
  const rows: [string, ReactNode][] = [
    ["Priority", task.priority],
    ["Phase", task.phases.length > 1 ? `${task.phase} of ${task.phases.join(", ")}` : task.phase],
    ["Agent", [task.engine ?? "any", task.model, task.permission?.replaceAll("-", " "), task.control && `driven by ${DRIVERS[task.control]}`].filter(Boolean).join(", ")],
    ["Repository", task.repository ? <code>{task.repository}</code> : null],
    ["Isolation", task.isolation],
    ["Start from", task.base ? <code>{task.base}</code> : null],
    ["When verified", task.finish.replaceAll("_", " ")],
    ["Handed over", task.pull_request ? <PullRequestLink of={task.pull_request} /> : null],
    ["Attempts", attemptsOf(details)],
    ["May fail", task.max_attempts === 1 ? "once" : `${task.max_attempts} times`],
    ["Budget", task.budget?.tokens ? `${task.budget.tokens.toLocaleString()} tokens` : null],
    ["Touches", task.touches.length > 0 ? <code>{task.touches.join(" ")}</code> : null],
    ["Labels", task.labels.length > 0 ? task.labels.join(", ") : null],
    ["Due", task.due ? <Ago at={task.due} /> : null],
    ["Created", <Ago key="created" at={task.created_at} />],
    ["Finished", task.finished_at ? <Ago at={task.finished_at} /> : null],
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
      <Links name="After" links={details.depends_on} />
      <Links name="Before" links={details.dependents} />
    </>
  );
}

function attemptsOf({ attempts }: TaskDetails): string | null {
  if (attempts.length === 0) return null;
  const failed = attempts.filter(({ outcome }) => outcome && outcomeTone(outcome) === "bad").length;
  return failed === 0 ? String(attempts.length) : `${attempts.length}, of which ${failed} failed`;
}

function Commands({ name, commands }: { name: string; commands: BoardTask["checks"] }) {
  if (commands.length === 0) return null;
  return (
    <section>
      <h3>{name}</h3>
      <ul>
        {commands.map((command) => (
          <li key={command.run.join(" ")}>
            <code>{command.name ?? line(command.run)}</code>
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
