// Which column a task stands in. Nothing of this is stored: a task is ready or
// waits because of facts the daemon works out when it is asked.

import type { OverviewLine, Question, ReadyReport, TaskSummary } from "../generated/operations";

export type ColumnName = "waiting" | "ready" | "running" | "blocked" | "review" | "done" | "failed";

export interface ColumnSpec {
  name: ColumnName;
  title: string;
  empty: string;
  /** Shown only when it has cards. */
  seldom?: boolean;
}

export const COLUMNS: ColumnSpec[] = [
  { name: "waiting", title: "Waiting", empty: "Tasks that wait for another, a limit or a place." },
  { name: "ready", title: "Ready", empty: "Tasks that can begin now." },
  { name: "running", title: "Running", empty: "Tasks an agent works on." },
  { name: "blocked", title: "Blocked", empty: "Tasks that cannot go on without you.", seldom: true },
  { name: "review", title: "Ready for review", empty: "Verified work that waits for you to merge it." },
  { name: "done", title: "Done", empty: "Tasks whose checks passed." },
  { name: "failed", title: "Failed", empty: "Tasks that were tried often enough or cancelled.", seldom: true },
];

/** On a phone: what has something for you first, then what goes on. */
export const PHONE_ORDER: ColumnName[] = ["blocked", "review", "running", "ready", "waiting", "done", "failed"];

export interface Card {
  task: TaskSummary;
  column: ColumnName;
  /** Why it waits, a sentence each. */
  waits: string[];
  /** What a person is asked about it, or by its agent. */
  question?: Question | undefined;
  /** What its agent does now. */
  work?: OverviewLine | undefined;
}

export function cardsOf(
  tasks: TaskSummary[],
  ready: ReadyReport,
  questions: Question[],
  work: Map<string, OverviewLine>,
  idle: string | undefined,
): Card[] {
  const asked = new Map(questions.toReversed().map((question) => [question.task, question]));
  const columns = columnsOf(ready);
  return tasks.map((task) => {
    const { column, waits } = columns(task);
    const why = column === "ready" && idle ? [idle] : waits;
    return { task, column, waits: why, question: asked.get(task.number), work: work.get(task.number) };
  });
}

function columnsOf(ready: ReadyReport): (task: TaskSummary) => Pick<Card, "column" | "waits"> {
  const canBegin = new Set(ready.ready.map((task) => task.id));
  const waits = new Map(
    ready.waiting.map((waiting) => [waiting.task.id, waiting.waits.map((wait) => wait.sentence)]),
  );
  // The report names a few hundred of each. Those it leaves out stand behind
  // them: if it names all that are ready, the others wait.
  const allReadyNamed = ready.ready_total <= ready.ready.length;
  const allWaitingNamed = ready.open_total - ready.ready_total <= ready.waiting.length;
  return (task) => {
    if (task.status !== "open") return { column: columnOf(task.status), waits: waits.get(task.id) ?? [] };
    if (canBegin.has(task.id)) return { column: "ready", waits: [] };
    const why = waits.get(task.id);
    if (why) return { column: "waiting", waits: why };
    if (allWaitingNamed && !allReadyNamed) return { column: "ready", waits: [] };
    return { column: "waiting", waits: allReadyNamed ? [] : ["stands further back"] };
  };
}

/** A status this page does not know is a person's to look at. */
function columnOf(status: string): ColumnName {
  return COLUMNS.find((column) => column.name === status)?.name ?? "blocked";
}

/** Why nothing that is ready starts; nothing when it does. */
export function idleReason(mode: string | undefined, working: number, places: number): string | undefined {
  if (mode === undefined) return undefined;
  if (mode !== "running") return `the autopilot is ${mode}`;
  if (working >= places) return places === 1 ? "waits for the one place for agents" : `all ${places} places for agents are taken`;
  return undefined;
}

export interface Filter {
  words: string;
  label: string;
  engine: string;
  priority: string;
  repository: string;
}

export function fits(task: TaskSummary, filter: Filter): boolean {
  const words = filter.words.toLowerCase();
  const repository = task.repository ?? "";
  return (
    (!words || `${task.number} ${task.title} ${nameOf(repository)}`.toLowerCase().includes(words)) &&
    (!filter.label || (task.labels ?? []).includes(filter.label)) &&
    (!filter.engine || task.engine === filter.engine) &&
    (!filter.priority || task.priority === filter.priority) &&
    (!filter.repository || repository === filter.repository)
  );
}

/** The name of a repository is that of its folder. */
export const nameOf = (path: string): string => path.replace(/\/+$/, "").split("/").at(-1) ?? "";
