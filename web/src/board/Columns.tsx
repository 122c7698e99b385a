// The columns and their cards. Cards of tasks that have not begun are ordered by
// dragging, or by Alt with the arrow keys.

import { type DragEvent, type KeyboardEvent, memo, useDeferredValue, useRef, useState } from "react";
import { Link } from "wouter";

import { useIsPhone } from "../app/phone";
import { CompactQuestion } from "../attention/AnswerButtons";
import type { OverviewLine, Question, TaskSummary } from "../generated/operations";
import { CostOf, TokenSum } from "../parts/cost";
import { EngineMark } from "../parts/engine";
import { ChecksMark, Mark, taskTone } from "../parts/marks";
import { Ago, Lasting } from "../parts/time";
import { type Card, COLUMNS, type ColumnName, type ColumnSpec, nameOf, PHONE_ORDER } from "./cards";
import { moveBetween } from "./reorder";

interface Props {
  cards: Card[];
  left: number;
  /** Ids of the cards that are chosen; nothing while nobody chooses. */
  selected: Set<string> | undefined;
  select: (selected: Set<string>) => void;
}

/**
 * A thousand cards are gone through in pieces, between frames: whoever types a
 * filter or scrolls comes first.
 */
export function Columns(props: Props) {
  return <Laid {...props} cards={useDeferredValue(props.cards)} />;
}

const Laid = memo(function Laid({ cards, left, selected, select }: Props) {
  const board = useRef<HTMLDivElement>(null);
  const isPhone = useIsPhone();
  const of = (name: ColumnName) => cards.filter((card) => card.column === name);
  const shown = ordered(isPhone).filter((column) => !(column.seldom || isPhone) || of(column.name).length > 0);
  if (shown.length === 0) return <p className="quiet column-empty">No task fits the filter.</p>;
  return (
    <>
      {isPhone && shown.length > 1 ? (
        <nav className="column-tabs" aria-label="Columns">
          {shown.map((column) => (
            <button
              key={column.name}
              type="button"
              className="button small"
              onClick={() => board.current?.querySelector(`[data-column="${column.name}"]`)?.scrollIntoView()}
            >
              {column.title} <span className="quiet">{of(column.name).length}</span>
            </button>
          ))}
        </nav>
      ) : null}
      <div ref={board} className="columns" onKeyDown={(event) => moveFocus(event, board.current)}>
        {shown.map((column) => (
          <Column
            key={column.name}
            {...column}
            cards={of(column.name)}
            left={column.name === "done" ? left : 0}
            selected={selected}
            select={select}
          />
        ))}
      </div>
    </>
  );
});

const ordered = (isPhone: boolean): ColumnSpec[] =>
  isPhone ? PHONE_ORDER.flatMap((name) => COLUMNS.filter((column) => column.name === name)) : COLUMNS;

interface ColumnProps {
  name: ColumnName;
  title: string;
  empty: string;
  cards: Card[];
  left: number;
  selected: Set<string> | undefined;
  select: (selected: Set<string>) => void;
}

const ORDERED: ColumnName[] = ["waiting", "ready"];

function Column({ name, title, empty, cards, left, selected, select }: ColumnProps) {
  const ordered = ORDERED.includes(name);
  const [over, setOver] = useState<string>();
  const drop = (event: DragEvent, at: number) => {
    event.preventDefault();
    setOver(undefined);
    const id = event.dataTransfer.getData("text/mission-task");
    const card = cards.find((each) => each.task.id === id);
    if (card) move(cards, card.task, at);
  };
  return (
    <section className="column" aria-labelledby={`column-${name}`} data-column={name}>
      <h2 id={`column-${name}`}>
        {title} <span className="quiet">{cards.length}</span>
      </h2>
      {cards.length === 0 ? <p className="quiet column-empty">{empty}</p> : null}
      <ol
        onDragOver={(event) => {
          if (ordered && event.dataTransfer.types.includes(`text/mission-column-${name}`)) event.preventDefault();
        }}
        onDrop={(event) => drop(event, cards.length)}
        onKeyDown={(event) => {
          if (!ordered || !event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
          const number = (event.target as HTMLElement).closest<HTMLElement>(".card")?.dataset.task;
          const index = cards.findIndex((card) => card.task.number === number);
          const card = cards[index];
          if (!card) return;
          event.preventDefault();
          move(cards, card.task, event.key === "ArrowUp" ? index - 1 : index + 2);
        }}
      >
        {cards.map((card, index) => (
          <li
            key={card.task.id}
            className={[over === card.task.id ? "drop-here" : "", selected ? "selectable" : ""].join(" ").trim() || undefined}
            onDragEnter={() => ordered && setOver(card.task.id)}
            onDrop={(event) => {
              event.stopPropagation();
              drop(event, index);
            }}
            onDragEnd={() => setOver(undefined)}
          >
            {selected ? (
              <input
                type="checkbox"
                aria-label={`Select ${card.task.number}`}
                checked={selected.has(card.task.id)}
                onChange={(event) => {
                  const next = new Set(selected);
                  if (event.target.checked) next.add(card.task.id);
                  else next.delete(card.task.id);
                  select(next);
                }}
              />
            ) : null}
            <TaskCard
              task={card.task}
              waits={card.waits.join("; ")}
              question={card.question}
              work={card.work}
              column={name}
              ordered={ordered}
            />
          </li>
        ))}
      </ol>
      {left > 0 ? <p className="quiet column-empty">and {left} before these</p> : null}
    </section>
  );
}

/** Puts a task before the card that is at this place now. */
function move(cards: Card[], task: TaskSummary, at: number): void {
  if (at < 0 || at > cards.length) return;
  const above = cards.slice(0, at).findLast((card) => card.task.id !== task.id)?.task;
  const below = cards.slice(at).find((card) => card.task.id !== task.id)?.task;
  const here = cards.findIndex((card) => card.task.id === task.id);
  if (at === here || at === here + 1) return;
  void moveBetween(task, above, below);
}

interface CardProps {
  task: TaskSummary;
  waits: string;
  question: Question | undefined;
  work: OverviewLine | undefined;
  column: ColumnName;
  ordered: boolean;
}

const TaskCard = memo(
  function TaskCard({ task, waits, question, work, column, ordered }: CardProps) {
    const why = task.blocked ?? waits;
    const runs = column === "running" ? work : undefined;
    const asks = question !== undefined;
    const card = (
      <Link
        href={`/board/${task.number}`}
        className="card"
        data-tone={asks ? "wait" : taskTone(task.status)}
        data-task={task.number}
        draggable={ordered}
        onDragStart={(event: DragEvent) => {
          event.dataTransfer.setData("text/mission-task", task.id);
          event.dataTransfer.setData(`text/mission-column-${column}`, "");
          event.dataTransfer.effectAllowed = "move";
        }}
      >
        <span className="card-top">
          <span className="number">{task.number}</span>
          {asks && column !== "blocked" ? <Mark tone="wait" word="asks" /> : null}
          {task.priority === "normal" ? null : (
            <span className="tag" data-tone={task.priority === "low" ? "rest" : "wait"}>
              {task.priority}
            </span>
          )}
          {task.phase === "execute" ? null : <span className="tag">{task.phase}</span>}
          <span className="card-time">
            {runs ? <Lasting from={runs.started_at} /> : <Ago at={task.updated_at} />}
          </span>
        </span>
        <span className="card-title">{task.title}</span>
        {runs && !asks ? <span className="card-work one-line">{runs.question?.headline ?? runs.activity}</span> : null}
        {why ? <span className="card-why">{why}</span> : null}
        <span className="card-tags">
          {task.repository ? <span className="tag card-repository">{nameOf(task.repository)}</span> : null}
          {task.engine ? <EngineMark engine={task.engine} /> : null}
          {task.one_of ? <span className="tag">one of {task.one_of}</span> : null}
          {task.labels?.map((label) => (
            <span key={label} className="tag">
              {label}
            </span>
          ))}
          {task.pull_request ? <span className="tag">Pull request #{task.pull_request.number}</span> : null}
          {runs?.checks ? <ChecksMark checks={runs.checks} /> : null}
          {runs ? (
            <span className="quiet card-tokens">
              <TokenSum tokens={runs.tokens} /> <CostOf cost={runs.cost} />
            </span>
          ) : null}
        </span>
      </Link>
    );
    if (!question) return card;
    // Beside the link and not in it: a button in a link is neither.
    return (
      <div className="card-asks">
        {card}
        {/* Of a task that cannot go on, the reason above says more than the question. */}
        <CompactQuestion question={question} says={question.origin.kind !== "task"} />
      </div>
    );
  },
  (before, after) =>
    before.waits === after.waits &&
    before.question?.id === after.question?.id &&
    before.column === after.column &&
    before.task.updated_at === after.task.updated_at &&
    before.task.priority === after.task.priority &&
    before.task.blocked === after.task.blocked &&
    before.task.one_of === after.task.one_of &&
    before.task.title === after.task.title &&
    before.task.labels?.join() === after.task.labels?.join() &&
    sameWork(before.work, after.work),
);

/** Whether a card would say the same of its agent. */
function sameWork(a: OverviewLine | undefined, b: OverviewLine | undefined): boolean {
  return (
    a === b ||
    (a?.activity === b?.activity &&
      a?.started_at === b?.started_at &&
      a?.tokens.counted === b?.tokens.counted &&
      a?.tokens.cache_read === b?.tokens.cache_read &&
      a?.cost.microdollars === b?.cost.microdollars &&
      a?.cost.told_microdollars === b?.cost.told_microdollars &&
      a?.cost.unpriced?.join() === b?.cost.unpriced?.join() &&
      a?.checks?.passed === b?.checks?.passed &&
      a?.checks?.failed === b?.checks?.failed)
  );
}

/** h, j, k and l go from card to card. */
function moveFocus(event: KeyboardEvent, board: HTMLElement | null): void {
  if (event.altKey || event.ctrlKey || event.metaKey || !board) return;
  const current = (event.target as HTMLElement).closest<HTMLElement>(".card");
  if (!current) return;
  const columns = [...board.querySelectorAll(".column")]
    .map((column) => [...column.querySelectorAll<HTMLElement>(".card")])
    .filter((cards) => cards.length > 0);
  const at = columns.findIndex((cards) => cards.includes(current));
  const row = columns[at]?.indexOf(current) ?? 0;
  const sideways = (by: number) => {
    const cards = columns[at + by];
    return cards?.[Math.min(row, cards.length - 1)];
  };
  const moves: Record<string, () => HTMLElement | undefined> = {
    j: () => columns[at]?.[row + 1],
    k: () => columns[at]?.[row - 1],
    h: () => sideways(-1),
    l: () => sideways(1),
  };
  const next = moves[event.key]?.();
  if (!next) return;
  event.preventDefault();
  next.focus();
}
