// Which other work this one can be held against: attempts at the same task, and
// the work of other tasks in the same repository.

import { useLocation } from "wouter";

import { useOperation } from "../daemon/queries";
import type { TaskDetails, WorktreeChanges } from "../generated/operations";
import { agentOf } from "../parts/engine";

export function CompareWith({ changes, task }: { changes: WorktreeChanges; task: TaskDetails | undefined }) {
  const [, navigate] = useLocation();
  const list = useOperation("worktree_list", {});
  const attempts = (task?.attempts ?? []).flatMap(({ branch, number }) =>
    branch && branch !== changes.branch ? [{ branch, name: `${task?.task.number}, attempt ${number}` }] : [],
  );
  const known = new Set([changes.branch, ...attempts.map((each) => each.branch)]);
  const own = list.data?.worktrees.find((each) => each.branch === changes.branch)?.repository ?? task?.task.repository;
  const others = (list.data?.worktrees ?? []).flatMap(({ branch, repository, task: number, title, files }) => {
    if (!branch || known.has(branch) || repository !== own || files === 0) return [];
    // They have one title: what tells them apart is who did it.
    const rival = task?.alternatives?.find((each) => each.number === number);
    const name = rival ? `${rival.number}, ${agentOf(rival)}` : `${number ?? branch} ${title ?? ""}`.trim();
    return [{ branch, name, rival: rival !== undefined }];
  });
  const rivals = others.filter((each) => each.rival);
  const choices = [...attempts, ...rivals, ...others.filter((each) => !each.rival)];
  if (choices.length === 0 || !changes.branch) return null;
  return (
    <select
      className="field compare-with"
      aria-label="Compare with"
      value=""
      onChange={(event) => {
        const search = new URLSearchParams({ with: event.target.value });
        navigate(`/review/${encodeURIComponent(changes.branch ?? "")}?${search}`);
      }}
    >
      <option value="">Compare with…</option>
      {choices.map(({ branch, name }) => (
        <option key={branch} value={branch}>
          {name}
        </option>
      ))}
    </select>
  );
}
