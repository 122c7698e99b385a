// What people call the things events name by id.

import { useMemo } from "react";

import { useBoardTasks } from "../board/useBoard";
import { useOperation } from "../daemon/queries";
import type { Event } from "../generated/operations";

export function useNames(): (event: Event) => string | undefined {
  const board = useBoardTasks();
  const slots = useOperation("slot_list", { all: true });
  const runs = useOperation("execution_list", { all: true, limit: 1000 });
  return useMemo(() => {
    const tasks = new Map(board.data?.tasks.map((task) => [task.id, task.number]));
    const names = new Map(slots.data?.slots.map((slot) => [slot.slot, slot.name]));
    const slotOf = new Map(runs.data?.executions.map((run) => [run.execution, run.slot]));
    return (event) => {
      const { task, slot, execution } = event as { task?: string; slot?: string; execution?: string };
      if (task && tasks.has(task)) return tasks.get(task);
      return names.get(slot ?? slotOf.get(execution ?? "") ?? "");
    };
  }, [board.data, slots.data, runs.data]);
}
