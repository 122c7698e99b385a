// The run of an agent in each slot: what it works on and since when.

import { useMemo } from "react";

import { useOperation } from "../daemon/queries";
import type { ExecutionSummary } from "../generated/operations";

/** The newest run of every slot that is open. */
export function useRunsBySlot(): Map<string, ExecutionSummary> {
  const running = useOperation("execution_list", { all: false });
  return useMemo(() => new Map(running.data?.executions.map((run) => [run.slot, run])), [running.data]);
}

/** The newest run in a slot, also when both have ended. */
export function useRunIn(slot: string | undefined): ExecutionSummary | undefined {
  const runs = useOperation("execution_list", { all: true, limit: 1000 }, { enabled: slot !== undefined });
  return runs.data?.executions.find((run) => run.slot === slot);
}
