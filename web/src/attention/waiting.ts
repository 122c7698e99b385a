// Everything that waits for a person, as one list in one order: questions first,
// because an agent stands still for each, then tasks nobody works on, then
// incidents.

import type { Incident, IncidentPage, Question, QuestionPage, TaskPage, TaskSummary } from "../generated/operations";

export type Waiting =
  | { kind: "question"; key: string; question: Question }
  | { kind: "task"; key: string; task: TaskSummary }
  | { kind: "incident"; key: string; incident: Incident };

export function waitingList(
  questions: QuestionPage | undefined,
  tasks: TaskPage | undefined,
  incidents: IncidentPage | undefined,
): Waiting[] {
  const asked = new Set(
    questions?.questions.flatMap((question) => (question.origin.kind === "task" ? [question.origin.task] : [])),
  );
  return [
    ...(questions?.questions ?? []).map(
      (question): Waiting => ({ kind: "question", key: `Q-${question.number}`, question }),
    ),
    // What is asked about a task already says that it is blocked.
    ...(tasks?.tasks ?? [])
      .filter((task) => !asked.has(task.id))
      .map((task): Waiting => ({ kind: "task", key: task.number, task })),
    ...(incidents?.incidents ?? []).map(
      (incident): Waiting => ({ kind: "incident", key: incident.id, incident }),
    ),
  ];
}

/** What the rail counts: agents and tasks that stand still. */
export function waitingCount(questions: QuestionPage | undefined, tasks: TaskPage | undefined): number {
  return waitingList(questions, tasks, undefined).length;
}

