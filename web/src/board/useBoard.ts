// The whole board, however many pages it has.

import { useQuery } from "@tanstack/react-query";

import { call } from "../daemon/call";
import { useOperation } from "../daemon/queries";
import type { BoardTaskStatus, TaskSummary } from "../generated/operations";

const PAGE = 500;
/** Beyond this nobody looks at cards one by one; the filters find the rest. */
const MOST_OPEN = 3000;
const MOST_OVER = 500;

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

export function useBoardTasks() {
  return useQuery({
    queryKey: ["board_list", "whole"],
    queryFn: async ({ signal }): Promise<BoardTasks> => {
      const [open, over] = await Promise.all([
        pages(["open", "running", "blocked"], MOST_OPEN, signal),
        pages(["done", "failed"], MOST_OVER, signal),
      ]);
      over.tasks.sort((a, b) => b.updated_at.localeCompare(a.updated_at));
      return { tasks: [...open.tasks, ...over.tasks], left: over.left };
    },
  });
}

export const useReady = () => useOperation("board_ready", { limit: 200 });
