// The run of an agent in each slot: what it works on and since when.

import { useMemo } from "react";

import { useOperation } from "../daemon/queries";
import type { ExecutionSummary } from "../generated/operations";

/** The newest run of every slot that is open. */
export function useRunsBySlot(): Map<string, ExecutionSummary> {
  const running = useOperation("execution_list", { all: false });
  return useMemo(() => new Map(running.data?.executions.map((run) => [run.slot, run])), [running.data]);
}

/** The newest run in a slot, also when both have ended: only then all that have ended are looked through. */
export function useRunIn(slot: string | undefined): ExecutionSummary | undefined {
  const running = useOperation("execution_list", { all: false });
  const now = running.data?.executions.find((run) => run.slot === slot);
  const enabled = slot !== undefined && running.data !== undefined && !now;
  const ended = useOperation("execution_list", { all: true, limit: 1000 }, { enabled });
  return now ?? ended.data?.executions.find((run) => run.slot === slot);
}
