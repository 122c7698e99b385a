// The whole board, however many pages it has, and what its agents do now.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { call } from "../daemon/call";
import { useOperation } from "../daemon/queries";
import { useOverview } from "../now/overview";
import type { BoardTaskStatus, OverviewLine, TaskSummary } from "../generated/operations";

const PAGE = 500;
/** Beyond this nobody looks at cards one by one; the filters find the rest. */
const MOST_OPEN = 3000;
const MOST_OVER = 500;

export const NOT_OVER: BoardTaskStatus[] = ["open", "running", "blocked", "review"];
const OVER: BoardTaskStatus[] = ["done", "failed"];

export interface BoardTasks {
  tasks: TaskSummary[];
  /** How many are over and not among `tasks`. */
  left: number;
}

async function pages(status: BoardTaskStatus[], most: number, signal: AbortSignal) {
  const tasks: TaskSummary[] = [];
  for (;;) {
    const page = await call("board_list", { status, offset: tasks.length, limit: PAGE }, signal);
    tasks.push(...page.tasks);
    if (page.tasks.length < PAGE || tasks.length >= Math.min(page.total, most)) {
      return { tasks, left: Math.max(0, page.total - tasks.length) };
    }
  }
}

export async function allTasks(signal: AbortSignal): Promise<BoardTasks> {
  const [open, over] = await Promise.all([pages(NOT_OVER, MOST_OPEN, signal), pages(OVER, MOST_OVER, signal)]);
  over.tasks.sort((a, b) => b.updated_at.localeCompare(a.updated_at));
  return { tasks: [...open.tasks, ...over.tasks], left: over.left };
}

export const useBoardTasks = () =>
  useQuery({ queryKey: ["board_list", "whole"], queryFn: ({ signal }) => allTasks(signal) });

export const useReady = () => useOperation("board_ready", { limit: 200 });

/** What the agent of each task does now, by the number of the task. */
export function useWork(): Map<string, OverviewLine> {
  const overview = useOverview();
  return useMemo(() => {
    const lines = [...(overview.data?.needs_you ?? []), ...(overview.data?.working ?? []), ...(overview.data?.idle ?? [])];
    return new Map(lines.flatMap((line) => (line.task ? [[line.task, line] as const] : [])));
  }, [overview.data]);
}
