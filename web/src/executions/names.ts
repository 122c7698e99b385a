// What a run is called: by its task, by what it was asked, or by its terminal.

import type { ExecutionSummary } from "../generated/operations";

export function runName(run: Pick<ExecutionSummary, "title" | "slot_name" | "engine" | "repository">): string {
  return run.title ?? run.slot_name ?? `${run.engine} in ${run.repository.name}`;
}
