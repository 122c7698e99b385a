// The answers to a question as buttons, wherever an agent that asks is shown.
//
//   <AnswerButtons question={question} />        with keys: `keys`
//   <CompactQuestion question={question} />      with what is asked, where many stand together
//   <OpenQuestions of={{ task: "T-4" }} />       whatever is asked about a task, slot or run

import { type FormEvent, useEffect, useRef, useState } from "react";

import { useShortcuts } from "../app/shortcuts";
import { useOpenQuestions } from "../daemon/queries";
import type { Question } from "../generated/operations";
import { Prose } from "../parts/Prose";
import { type Asked, asked, type Choice, choicesOf, inFull, type OfferedQuestion } from "./asked";
import { answerQuestion } from "./questionCommands";
import "./answer.css";

interface Props {
  question: Question | OfferedQuestion;
  /** The same question with where it comes from, where the first lacks it. */
  open?: Question | undefined;
  /** Its keys work: 1 to 9, `a` and `d`; `m` goes to the box. */
  keys?: boolean;
  /** Whether an answer field is shown at once or behind a button. */
  box?: "open" | "closed";
  /** Small, where many things stand close together. */
  small?: boolean;
}

export function AnswerButtons({ question, open, keys = false, box = "open", small = false }: Props) {
  const what = asked(question, open);
  const [more, setMore] = useState(false);
  const [writing, setWriting] = useState(box === "open");
  // Once given it stays so: the question is about to go.
  const [given, setGiven] = useState(false);
  // Nor is one answered before all of it can be seen.
  const busy = given || (open === undefined && !("origin" in question));
  const give = (text: string) => {
    if (busy || !text.trim()) return;
    setGiven(true);
    void answerQuestion(what.name, text.trim()).then(setGiven);
  };
  // Where nothing is offered, words are the only answer.
  const needsBox = what.words && !small && choicesOf(what).length === 0;
  const showsBox = what.words && (needsBox || writing);
  return (
    <div className={small ? "answer small" : "answer"} role="group" aria-label={`Answer ${what.name}`} aria-busy={busy}>
      {keys ? <AnswerKeys what={what} give={give} write={() => setWriting(true)} /> : null}
      {what.pair ? (
        <span className="answer-buttons">
          <Answer choice={what.pair[0]} primary keys={keys} busy={busy} give={give} />
          <Answer choice={what.pair[1]} keys={keys} busy={busy} give={give} />
          {what.others.length > 0 ? (
            <button
              type="button"
              className="button plain"
              aria-expanded={more}
              disabled={busy}
              onClick={() => setMore(!more)}
            >
              {more ? "Fewer options" : "More options"}
            </button>
          ) : null}
        </span>
      ) : null}
      {what.others.length > 0 && (!what.pair || more) ? (
        <span className="answer-buttons">
          {what.others.map((choice) => (
            <Answer key={choice.key} choice={choice} keys={keys} busy={busy} give={give} />
          ))}
          {what.words && !showsBox ? (
            <button type="button" className="button plain" disabled={busy} onClick={() => setWriting(true)}>
              Write…
            </button>
          ) : null}
        </span>
      ) : null}
      {small && what.words && what.others.length === 0 && !showsBox ? (
        <span className="answer-buttons">
          <button type="button" className="button" disabled={busy} onClick={() => setWriting(true)}>
            Answer…
          </button>
        </span>
      ) : null}
      {showsBox ? <AnswerBox what={what} busy={busy} focus={writing && box === "closed"} give={give} /> : null}
    </div>
  );
}

interface AnswerProps {
  choice: Choice;
  primary?: boolean;
  /** Its key works, and is shown. */
  keys: boolean;
  busy: boolean;
  give: (text: string) => void;
}

function Answer({ choice, primary, keys, busy, give }: AnswerProps) {
  return (
    <button
      type="button"
      className={primary ? "button primary" : "button"}
      disabled={busy}
      title={choice.label === choice.option ? undefined : choice.option}
      onClick={() => give(choice.option)}
    >
      {keys && choice.key <= 9 ? <kbd>{choice.key}</kbd> : null}
      <span>{choice.label}</span>
    </button>
  );
}

interface BoxProps {
  what: Asked;
  busy: boolean;
  focus: boolean;
  give: (text: string) => void;
}

function AnswerBox({ what, busy, focus, give }: BoxProps) {
  const [words, setWords] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (focus) field.current?.focus();
  }, [focus]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    give(words);
  };
  return (
    <form className="words" onSubmit={submit}>
      <textarea
        ref={field}
        className="field"
        rows={1}
        data-answer={what.name}
        aria-label={`Answer to ${what.name}`}
        placeholder={what.others.length > 0 ? "Or in your own words…" : "Your answer…"}
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
  );
}

function AnswerKeys({ what, give, write }: { what: Asked; give: (text: string) => void; write: () => void }) {
  const choices = choicesOf(what).filter((choice) => choice.key <= 9);
  useShortcuts({
    ...Object.fromEntries(choices.map((choice) => [String(choice.key), () => give(choice.option)])),
    ...(what.pair ? { a: () => give(what.pair?.[0].option ?? ""), d: () => give(what.pair?.[1].option ?? "") } : {}),
    ...(what.words
      ? {
          m: () => {
            write();
            // A box that was closed is drawn first, and takes the focus itself.
            document.querySelector<HTMLElement>(`[data-answer="${what.name}"]`)?.focus();
          },
        }
      : {}),
  });
  return null;
}

interface Whose {
  task?: string | null | undefined;
  slot?: string | null | undefined;
  execution?: string | null | undefined;
}

/** Whether a question is asked by the agent of a task, a slot or a run. */
export function isAskedBy({ origin, task }: Question, of: Whose): boolean {
  if (of.task) return task === of.task;
  if (of.execution && "execution" in origin && origin.execution === of.execution) return true;
  return Boolean(of.slot && "slot" in origin && origin.slot === of.slot);
}

/** What the agent of a task, slot or run asks and nobody has answered, with the buttons. */
export function OpenQuestions({ of, keys = false }: { of: Whose; keys?: boolean }) {
  const questions = useOpenQuestions();
  const open = (questions.data?.questions ?? []).filter((question) => isAskedBy(question, of));
  if (open.length === 0) return null;
  return (
    <ul className="open-questions">
      {open.map((question, index) => (
        <li key={question.id} className="panel open-question" data-tone="wait" data-question={`Q-${question.number}`}>
          <p className="open-question-text">
            <span className="mark" data-tone="wait">
              asks
            </span>
            <strong>
              <Prose text={question.headline} />
            </strong>
          </p>
          <InFull question={question} />
          <AnswerButtons question={question} keys={keys && index === 0} />
        </li>
      ))}
    </ul>
  );
}

/** A question in few lines, where its agent is one of many. */
export function CompactQuestion({ question, says = true }: { question: Question; says?: boolean }) {
  return (
    <div className="compact-question" data-question={`Q-${question.number}`}>
      {says ? (
        <>
          <p>
            <Prose text={question.headline} />
          </p>
          <InFull question={question} />
        </>
      ) : null}
      <AnswerButtons question={question} box="closed" small />
    </div>
  );
}

/** The end of what is asked for, where its headline has no room for it: nobody is to allow what is not shown. */
export function InFull({ question }: { question: Question }) {
  const full = inFull(question);
  if (!full) return null;
  return (
    <pre className="output asked-in-full" tabIndex={0} role="region" aria-label={`All of Q-${question.number}`}>
      {full}
    </pre>
  );
}
