import type { BoardTaskStatus, WorktreeChanges } from "../generated/operations";

/**
 * Whether work can be merged now: nobody works in it, and of work whose worktree is
 * removed only what waits for a review.
 */
export function canBeMerged(work: WorktreeChanges | undefined, status: BoardTaskStatus | undefined): boolean {
  return work !== undefined && !work.in_use && (Boolean(work.path) || status === "review");
}
