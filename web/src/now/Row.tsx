// One agent, task, question or incident: what it is, what goes on, what it took,
// and the buttons that move it on.

import { memo, useRef, useState } from "react";
import { Link } from "wouter";

import { useShortcuts } from "../app/shortcuts";
import { AnswerButtons, InFull } from "../attention/AnswerButtons";
import { inFull } from "../attention/asked";
import { retryTask } from "../board/taskCommands";
import { MessageForm } from "../executions/MessageForm";
import type { CheckState, Incident, OverviewKind, OverviewLine, Question } from "../generated/operations";
import { Chevron } from "../parts/Chevron";
import { CommandButton, start } from "../parts/command";
import { CostOf, TokenSum } from "../parts/cost";
import { EngineMark } from "../parts/engine";
import { checkWords, Mark, TERMINAL, type Tone } from "../parts/marks";
import { Prose } from "../parts/Prose";
import { Ago, Lasting } from "../parts/time";
import { useNear } from "../parts/useNear";
import { resolveIncident } from "../system/incidentCommands";
import { Details } from "./Details";
import { addressOf, canBeTold, type Entry, useQuestion } from "./overview";

const KINDS: Record<OverviewKind, { tone: Tone; word: string; busy?: boolean }> = {
  asks: { tone: "wait", word: "asks" },
  error: { tone: "bad", word: "error" },
  question: { tone: "wait", word: "question" },
  review: { tone: "wait", word: "review" },
  blocked: { tone: "wait", word: "blocked" },
  works: { tone: "work", word: "working", busy: true },
  idle: { tone: "rest", word: "idle" },
  checks: { tone: "work", word: "checking", busy: true },
  waits: { tone: "rest", word: "waiting" },
  terminal: TERMINAL,
  done: { tone: "good", word: "done" },
  not_kept: { tone: "rest", word: "not kept" },
  failed: { tone: "bad", word: "failed" },
  ended: { tone: "rest", word: "ended" },
  cancelled: { tone: "rest", word: "cancelled" },
  crashed: { tone: "bad", word: "failed" },
};

interface Props {
  entry: Entry;
  selected: boolean;
  open: boolean;
  toggle: (key: string) => void;
}

export const Row = memo(function Row({ entry, selected, open, toggle, far }: Props & { far: boolean }) {
  const place = useRef<HTMLLIElement>(null);
  const near = useNear(place, 400, far);
  const shown = useRef<Entry>(undefined);
  if (!far || near || selected || open) shown.current = entry;
  const tone = entry.kind === "incident" ? incidentTone(entry.incident) : KINDS[entry.line.kind].tone;
  return (
    <li
      ref={place}
      className={selected ? "now-row selected" : "now-row"}
      data-row={entry.key}
      data-kind={entry.kind === "incident" ? "incident" : entry.line.kind}
      data-tone={tone}
      aria-current={selected ? "true" : undefined}
    >
      {shown.current ? <Body entry={shown.current} selected={selected} open={open} toggle={toggle} /> : null}
    </li>
  );
});

const Body = memo(function Body({ entry, selected, open, toggle }: Props) {
  return entry.kind === "incident" ? (
    <IncidentRow incident={entry.incident} selected={selected} />
  ) : (
    <AnyLine line={entry.line} selected={selected} open={open} toggle={() => toggle(entry.key)} />
  );
});

interface LineProps {
  line: OverviewLine;
  selected: boolean;
  open: boolean;
  toggle: () => void;
}

/** Only a line with a question looks for more of it: most of hundreds have none. */
function AnyLine(props: LineProps) {
  return props.line.question ? <AskingLine {...props} number={props.line.question.number} /> : <LineRow {...props} />;
}

function AskingLine({ number, ...props }: LineProps & { number: number }) {
  return <LineRow {...props} question={useQuestion(number)} />;
}

function LineRow({ line, selected, open, toggle, question }: LineProps & { question?: Question | undefined }) {
  const [writing, setWriting] = useState(false);
  const address = addressOf(line);
  const says = sentenceOf(line);
  const said = question ? `${says} ${inFull(question) ?? ""}` : says;
  return (
    <>
      <Mark {...KINDS[line.kind]} />
      <div className="row-main">
        <p className="row-title">
          {line.task ? (
            <Link href={`/board/${line.task}`} className="number">
              {line.task}
            </Link>
          ) : null}
          {address ? (
            <Link href={address} className="row-name one-line" title={line.title}>
              {line.title}
            </Link>
          ) : (
            <span className="row-name one-line">{line.title}</span>
          )}
        </p>
        <p className="row-says">
          <span className="row-activity" title={says}>
            <Prose text={says} />
          </span>
          {line.last_line && !says.includes(line.last_line) ? (
            <code className="row-last one-line" title={line.last_line}>
              {line.last_line}
            </code>
          ) : null}
        </p>
      </div>
      <Facts line={line} />
      <div className="row-actions">
        <Actions line={line} selected={selected} question={question} write={() => setWriting(true)} />
      </div>
      <button type="button" className="button plain small row-more" aria-expanded={open} onClick={toggle}>
        <Chevron />
        <span className="visually-hidden">Details of {line.task ?? line.title}</span>
      </button>
      {writing && line.execution ? <MessageForm execution={line.execution} rows={2} close={() => setWriting(false)} /> : null}
      {open ? <Details line={line} question={question} said={said} selected={selected} write={() => setWriting(true)} /> : null}
    </>
  );
}

/** What goes on; of a question what is asked, once. */
function sentenceOf(line: OverviewLine): string {
  return line.question && asksItself(line) ? line.question.headline : line.activity;
}

/** Of a task that cannot go on, the reason says more than the question what to do. */
const asksItself = ({ kind }: OverviewLine): boolean => kind !== "blocked" && kind !== "review";

function Facts({ line }: { line: OverviewLine }) {
  const over = line.ended_at;
  return (
    <p className="row-facts">
      {line.repository ? (
        <span className="row-repository one-line" title={line.repository.path}>
          {line.repository.name}
        </span>
      ) : null}
      {line.engine ? <EngineMark engine={line.engine} model={line.model} /> : null}
      {line.checks ? <Checks checks={line.checks} /> : null}
      {line.kind === "terminal" ? null : (
        <span className="row-used">
          <TokenSum tokens={line.tokens} />
          <CostOf cost={line.cost} />
        </span>
      )}
      <span className="row-time">
        {over ? (
          <>
            <Lasting from={line.started_at} to={over} /> <Ago at={over} />
          </>
        ) : (
          <Lasting from={line.started_at} />
        )}
      </span>
    </p>
  );
}

/** More than these are said as a number. */
const MOST_DOTS = 8;

function Checks({ checks: { passed, failed, round } }: { checks: CheckState }) {
  const words = checkWords({ passed, failed });
  if (passed + failed === 0) return <span className="checks quiet">{words}</span>;
  if (passed + failed > MOST_DOTS) {
    return (
      <span className="tag" data-tone={failed > 0 ? "bad" : "good"} title={`Round ${round}`}>
        {words}
      </span>
    );
  }
  return (
    <span className="checks" title={`${words}, round ${round}`}>
      <span className="visually-hidden">{words}</span>
      {Array.from({ length: passed + failed }, (_, index) => (
        <span key={index} className="check-dot" data-tone={index < passed ? "good" : "bad"} aria-hidden="true" />
      ))}
    </span>
  );
}

interface ActionsProps {
  line: OverviewLine;
  selected: boolean;
  question: Question | undefined;
  write: () => void;
}

function Actions({ line, selected, question, write }: ActionsProps) {
  if (line.question) {
    return (
      <>
        {question && asksItself(line) ? <InFull question={question} /> : null}
        <AnswerButtons question={line.question} open={question} keys={selected} box="closed" />
      </>
    );
  }
  switch (line.kind) {
    case "review":
      return (
        <Link href={`/review/${line.task ?? ""}`} className="button primary">
          Review
        </Link>
      );
    case "blocked":
      return line.task ? <Retry task={line.task} selected={selected} /> : null;
    default:
      return canBeTold(line) ? <Speak selected={selected} write={write} idle={line.kind === "idle" || line.kind === "error"} /> : null;
  }
}

function Retry({ task, selected }: { task: string; selected: boolean }) {
  const { look: _, ...retry } = retryTask({ number: task });
  useShortcuts({ r: () => void start(retry) }, selected);
  return <CommandButton command={{ ...retry, key: "r" }} />;
}

function Speak({ selected, write, idle }: { selected: boolean; write: () => void; idle: boolean }) {
  useShortcuts({ m: write }, selected);
  return (
    <button type="button" className={idle ? "button" : "button plain row-speak"} onClick={write}>
      Message {selected ? <kbd>m</kbd> : null}
    </button>
  );
}

const incidentTone = (incident: Incident): Tone => (incident.severity === "info" ? "rest" : "bad");

function IncidentRow({ incident, selected }: { incident: Incident; selected: boolean }) {
  const resolve = resolveIncident(incident);
  useShortcuts({ x: () => void start(resolve) }, selected);
  return (
    <>
      <Mark tone={incidentTone(incident)} word="incident" />
      <div className="row-main">
        <p className="row-title">
          <Link href="/system/incidents" className="row-name">
            <Prose text={incident.summary} />
          </Link>
        </p>
        <p className="row-says">
          {incident.subject}, seen {incident.occurrences} {incident.occurrences === 1 ? "time" : "times"}
        </p>
      </div>
      <p className="row-facts">
        <span className="row-time">
          <Ago at={incident.last_seen_at} />
        </span>
      </p>
      <div className="row-actions">
        <CommandButton command={{ ...resolve, key: "x" }} />
      </div>
    </>
  );
}
