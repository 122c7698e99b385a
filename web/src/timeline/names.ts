// What people call the things events name by id.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { allTasks } from "../board/useBoard";
import { TITLES, useOperation } from "../daemon/queries";
import type { Event, TimelineEvent } from "../generated/operations";
import { tell } from "./sentences";

export interface Names {
  /** What an event is about. */
  about: (event: Event) => string | undefined;
  /** What happened, beside the word for it and what it is about; maybe nothing more. */
  said: (event: TimelineEvent) => string;
  /** The repository it happened in, if in one. */
  repository: (event: Event) => string | undefined;
  /** Whether all of them are known by now. */
  known: boolean;
}

/** How ids are written: what they are of, and a long word. */
const ID = /\b[a-z]+_[0-9a-z]{20,}\b/g;

/** Kinds whose one word says all, once it is known what they are about. */
const SAID_BY_KIND = new Set<Event["type"]>([
  "board_task_created",
  "board_task_updated",
  "board_task_claimed",
  "execution_ended",
]);

/** The whole board for its titles, read when the view opens and when it grows, not whenever a task goes on. */
const useTitles = () => useQuery({ queryKey: [TITLES], queryFn: ({ signal }) => allTasks(signal), staleTime: 0 });

export function useNames(): Names {
  const board = useTitles();
  const slots = useOperation("slot_list", { all: true });
  const runs = useOperation("execution_list", { all: true, limit: 1000 });
  const questions = useOperation("question_list", { all: true });
  return useMemo(() => {
    const names = new Map<string, string>();
    const folders = new Map<string, string>();
    for (const task of board.data?.tasks ?? []) {
      names.set(task.id, `${task.number} ${task.title}`);
      if (task.repository) folders.set(task.id, task.repository);
    }
    for (const slot of slots.data?.slots ?? []) names.set(slot.slot, slot.name);
    for (const run of runs.data?.executions ?? []) {
      const name = run.title ? (run.task ? `${run.task} ${run.title}` : run.title) : (names.get(run.slot) ?? run.engine);
      names.set(run.execution, name);
      folders.set(run.execution, run.repository.path);
      folders.set(run.slot, run.repository.path);
      // Its terminal is known by what is done in it.
      if (run.title) names.set(run.slot, name);
    }
    const asked = new Map(questions.data?.questions.map((question) => [question.id, question]));
    const taskOf = new Map(board.data?.tasks.map((task) => [task.number, task.id]));
    const first = (event: Event, known: Map<string, string>) => {
      const { task, slot, execution, question } = event as Record<string, string | undefined>;
      const ofQuestion = question ? asked.get(question) : undefined;
      const id = task ?? (ofQuestion?.task ? taskOf.get(ofQuestion.task) : undefined);
      return [id, execution, slot].map((each) => (each ? known.get(each) : undefined)).find(Boolean);
    };
    return {
      known: Boolean(board.data && runs.data && questions.data),
      about: (event) => first(event, names),
      repository: (event) => first(event, folders),
      said: (told) => {
        const { event } = told;
        const question = "question" in event && event.type.startsWith("question_") ? asked.get(event.question) : undefined;
        if (question) {
          const text = question.headline;
          return event.type === "question_answered" && question.answer ? `${text} ${question.answer}` : text;
        }
        const { task, execution } = event as Record<string, string | undefined>;
        // What it is about and what became of it stand before it already.
        if (SAID_BY_KIND.has(event.type) && names.has(task ?? execution ?? "")) return "";
        return tell(told).sentence.replace(ID, (id) => names.get(id) ?? id);
      },
    };
  }, [board.data, slots.data, runs.data, questions.data]);
}
