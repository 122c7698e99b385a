// Which column a task stands in. Nothing of this is stored: a task is ready or
// waits because of facts the daemon works out when it is asked.

import type { Question, ReadyReport, TaskSummary } from "../generated/operations";

export type ColumnName = "waiting" | "ready" | "running" | "blocked" | "done" | "failed";

export const COLUMNS: { name: ColumnName; title: string; empty: string }[] = [
  { name: "waiting", title: "Waiting", empty: "Tasks that wait for another, a limit or a place." },
  { name: "ready", title: "Ready", empty: "Tasks that can begin now." },
  { name: "running", title: "Running", empty: "Tasks an agent works on." },
  { name: "blocked", title: "Needs you", empty: "Tasks that cannot go on without you." },
  { name: "done", title: "Done", empty: "Tasks whose checks passed." },
  { name: "failed", title: "Failed", empty: "Tasks that were tried often enough or given up." },
];

export interface Card {
  task: TaskSummary;
  column: ColumnName;
  /** Why it waits, a sentence each. */
  waits: string[];
  /** A person is asked about it, or by its agent. */
  asks: boolean;
}

export function cardsOf(tasks: TaskSummary[], ready: ReadyReport, questions: Question[]): Card[] {
  const asking = new Set(questions.map((question) => question.task));
  const columns = columnsOf(ready);
  return tasks.map((task) => ({ task, ...columns(task), asks: asking.has(task.number) }));
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
    if (task.status !== "open") return { column: task.status, waits: waits.get(task.id) ?? [] };
    if (canBegin.has(task.id)) return { column: "ready", waits: [] };
    const why = waits.get(task.id);
    if (why) return { column: "waiting", waits: why };
    if (allWaitingNamed && !allReadyNamed) return { column: "ready", waits: [] };
    return { column: "waiting", waits: allReadyNamed ? [] : ["stands further back"] };
  };
}

export interface Filter {
  words: string;
  label: string;
  engine: string;
  priority: string;
}

export function fits(task: TaskSummary, filter: Filter): boolean {
  const words = filter.words.toLowerCase();
  return (
    (!words || `${task.number} ${task.title}`.toLowerCase().includes(words)) &&
    (!filter.label || (task.labels ?? []).includes(filter.label)) &&
    (!filter.engine || task.engine === filter.engine) &&
    (!filter.priority || task.priority === filter.priority)
  );
}
