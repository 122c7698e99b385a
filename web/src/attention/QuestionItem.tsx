// A question, and the ways to answer it: an option by its number, allow and deny
// for a permission, words where words are wanted.

import { type FormEvent, useRef, useState } from "react";
import { Link } from "wouter";

import { useShortcuts } from "../app/shortcuts";
import { useAction } from "../daemon/queries";
import type { GrantScope, Question } from "../generated/operations";
import { Trouble } from "../parts/Loaded";
import { say } from "../parts/toasts";
import { Findings } from "./Findings";
import { Item } from "./Item";
import { headline } from "./AnswerButtons";

interface Props {
  question: Question;
  selected: boolean;
  select: () => void;
}

const WHAT = { dialog: "dialog", needs_input: "question", task: "task", tool: "tool" } as const;

export function QuestionItem({ question, selected, select }: Props) {
  const { origin } = question;
  const permission = origin.kind === "dialog" ? origin.permission : undefined;
  const asks = question.task ?? (origin.kind === "dialog" ? origin.slot_name : undefined);
  return (
    <Item
      id={`Q-${question.number}`}
      tone="wait"
      what={permission ? "permission" : WHAT[origin.kind]}
      number={`Q-${question.number}`}
      title={headline(question)}
      from={asks ? <span className="quiet">{asks}</span> : null}
      at={question.asked_at}
      selected={selected}
      select={select}
    >
      <Answering key={question.id} question={question} />
    </Item>
  );
}

type Permission = NonNullable<Extract<Question["origin"], { kind: "dialog" }>["permission"]>;

type Hold = "once" | GrantScope;

const HOLDS: Record<Hold, string> = {
  once: "this once",
  asker: "for an hour, whoever asked",
  slot: "for an hour, this slot",
  execution: "for an hour, this run",
  task: "for an hour, this task",
  everywhere: "for an hour, every agent",
};

const TASK_ANSWERS = ["try again", "give up"];

function Answering({ question }: { question: Question }) {
  const { origin } = question;
  const dialog = origin.kind === "dialog" ? origin : undefined;
  const field = useRef<HTMLTextAreaElement>(null);
  const [words, setWords] = useState("");
  const [hold, setHold] = useState<Hold>("once");
  const answer = useAction("question_answer", (result) => {
    say(`Q-${result.question.number} is answered: ${result.question.answer ?? ""}`);
  });
  const dismiss = useAction("question_dismiss", () => say(`Q-${question.number} is dismissed.`, "rest"));
  const busy = answer.isPending || dismiss.isPending || answer.isSuccess;
  const name = `Q-${question.number}`;
  // A task that cannot go on takes these two words, and any others for its agent.
  const options = origin.kind === "task" && !question.options?.length ? TASK_ANSWERS : (question.options ?? []);

  const give = (text: string) => {
    if (busy || !text.trim()) return;
    const grant = hold !== "once" && text === dialog?.allows ? { grant: { scope: hold, seconds: 3600 } } : {};
    answer.mutate({ question: name, answer: text, by: "person", ...grant });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    give(words);
  };

  useShortcuts({
    ...Object.fromEntries(options.slice(0, 9).map((option, index) => [String(index + 1), () => give(option)])),
    ...(dialog?.allows ? { a: () => give(dialog.allows ?? "") } : {}),
    ...(dialog?.denies ? { d: () => give(dialog.denies ?? "") } : {}),
    x: () => dismiss.mutate({ question: name }),
    Enter: () => field.current?.focus(),
  });

  return (
    <>
      {dialog?.permission ? (
        <>
          <p>{question.question}</p>
          <Asked permission={dialog.permission} />
        </>
      ) : null}
      {origin.kind === "task" ? <Findings task={origin.task} /> : null}
      {question.context ? <pre className="output">{question.context}</pre> : null}
      {options.length > 0 ? (
        <ol className="options">
          {options.map((option, index) => {
            const kind = option === dialog?.allows ? "primary" : "";
            return (
              <li key={option}>
                <button type="button" className={`button ${kind}`} disabled={busy} onClick={() => give(option)}>
                  <kbd>{index + 1}</kbd>
                  <span>{option}</span>
                </button>
              </li>
            );
          })}
        </ol>
      ) : null}
      {dialog?.allows && dialog.permission ? (
        <label className="hold">
          Allow{" "}
          <select className="field" value={hold} onChange={(event) => setHold(event.target.value as Hold)}>
            {(Object.keys(HOLDS) as Hold[]).map((each) => (
              <option key={each} value={each}>
                {HOLDS[each]}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      {options.length === 0 || origin.kind !== "dialog" ? (
        <form className="words" onSubmit={submit}>
          <textarea
            ref={field}
            className="field"
            rows={2}
            aria-label={`Answer to ${name}`}
            placeholder={options.length > 0 ? "Or in your own words…" : "Your answer…"}
            value={words}
            disabled={busy}
            onChange={(event) => setWords(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && !event.shiftKey) submit(event);
              else if (event.key === "Escape") field.current?.blur();
            }}
          />
          <button type="submit" className="button primary" disabled={busy || !words.trim()}>
            Answer
          </button>
        </form>
      ) : null}
      {answer.error ? <Trouble error={answer.error} /> : null}
      {dismiss.error ? <Trouble error={dismiss.error} /> : null}
      <p className="item-foot">
        <Where question={question} />
        <span className="quiet">
          {answer.isPending ? "being told to the agent…" : answer.isSuccess ? "answered" : null}
        </span>
        <button
          type="button"
          className="button plain small spread"
          disabled={busy}
          onClick={() => dismiss.mutate({ question: name })}
        >
          Dismiss <kbd>x</kbd>
        </button>
      </p>
    </>
  );
}

function Asked({ permission }: { permission: Permission }) {
  const rows: [string, string | null | undefined][] = [
    ["Tool", permission.server ? `${permission.tool ?? "?"} of ${permission.server}` : permission.tool],
    ["Command", permission.command],
    ["Argument", permission.argument],
    ["File", permission.path],
  ];
  return (
    <dl className="facts">
      {rows.map(([name, value]) =>
        value ? (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd className="mono">{value}</dd>
          </div>
        ) : null,
      )}
      {permission.shown_in_part ? (
        <div className="fact">
          <dt>Mind</dt>
          <dd>The dialog shows only a part of it.</dd>
        </div>
      ) : null}
    </dl>
  );
}

function Where({ question }: { question: Question }) {
  const { origin } = question;
  const slot = origin.kind === "dialog" || origin.kind === "needs_input" ? origin.slot : undefined;
  const execution = "execution" in origin ? origin.execution : undefined;
  return (
    <span className="item-where">
      {slot ? <Link href={`/slots/${slot}`}>its terminal</Link> : null}
      {execution ? <Link href={`/executions/${execution}`}>its run</Link> : null}
      {question.task ? <Link href={`/board/${question.task}`}>its task</Link> : null}
      {question.blocks > 1 ? <span className="quiet">{question.blocks} wait for this</span> : null}
    </span>
  );
}
