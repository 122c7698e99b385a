// Moving a task between two others: it takes the priority of the place and a
// rank between those of its neighbours.

import { call } from "../daemon/call";
import { queries } from "../daemon/queries";
import type { Priority, TaskSummary } from "../generated/operations";
import { complain } from "../parts/toasts";
import type { BoardTasks } from "./useBoard";

export async function moveBetween(
  task: TaskSummary,
  above: TaskSummary | undefined,
  below: TaskSummary | undefined,
): Promise<void> {
  const [over, under] = await Promise.all([placeOf(above), placeOf(below)]);
  const place = rankBetween(task.priority, over, under);
  if (!place) return;
  showMoved(task, above, below, place.priority);
  try {
    await call("board_edit", { task: task.number, set: { priority: place.priority, rank: place.rank } });
  } catch (error) {
    complain(error as Error);
  }
  await queries.invalidateQueries({ queryKey: ["board_list"] });
  await queries.invalidateQueries({ queryKey: ["board_ready"] });
}

interface Place {
  priority: Priority;
  rank: number;
}

async function placeOf(task: TaskSummary | undefined): Promise<Place | undefined> {
  if (!task) return undefined;
  const { task: whole } = await call("board_show", { task: task.number });
  return { priority: whole.priority, rank: whole.rank };
}

/** Where a new task stands before this one, the first of the board. */
export async function rankOnTop(own: Priority, first: TaskSummary | undefined): Promise<Partial<Place>> {
  return rankBetween(own, undefined, await placeOf(first)) ?? {};
}

const ORDER: Priority[] = ["urgent", "high", "normal", "low"];

export function rankBetween(own: Priority, above: Place | undefined, below: Place | undefined): Place | undefined {
  if (above && below && above.priority === below.priority) {
    return { priority: above.priority, rank: (above.rank + below.rank) / 2 };
  }
  // At the border of two priorities, or at an end: the own one if it fits there.
  const highest = above ? ORDER.indexOf(above.priority) : 0;
  const lowest = below ? ORDER.indexOf(below.priority) : ORDER.length - 1;
  const wanted = Math.max(highest, Math.min(ORDER.indexOf(own), lowest));
  const priority = ORDER[wanted] ?? own;
  if (above?.priority === priority) return { priority, rank: above.rank + 1 };
  if (below?.priority === priority) return { priority, rank: below.rank - 1 };
  return above || below ? { priority, rank: 0 } : undefined;
}

/** Where it will stand, before the daemon has said so. */
function showMoved(
  task: TaskSummary,
  above: TaskSummary | undefined,
  below: TaskSummary | undefined,
  priority: Priority,
): void {
  queries.setQueryData<BoardTasks>(["board_list", "whole"], (board) => {
    if (!board) return board;
    const others = board.tasks.filter((each) => each.id !== task.id);
    const next = below ? others.findIndex((each) => each.id === below.id) : -1;
    const previous = above ? others.findIndex((each) => each.id === above.id) : -1;
    const at = next >= 0 ? next : previous + 1;
    return { ...board, tasks: others.toSpliced(at, 0, { ...task, priority }) };
  });
}
