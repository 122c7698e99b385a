// Work that waits to be looked at: every worktree, and whether it holds anything.

import { Link } from "wouter";

import { Bar } from "../app/Menu";
import { useOperation } from "../daemon/queries";
import type { WorktreeStanding, WorktreeSummary } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { Mark, type Tone } from "../parts/marks";
import "./review.css";

const STANDING: Record<WorktreeStanding, [Tone, string]> = {
  in_use: ["work", "being worked on"],
  holds_work: ["wait", "holds work"],
  removable: ["rest", "brought back"],
  unreadable: ["bad", "cannot be read"],
};

const ORDER: WorktreeStanding[] = ["holds_work", "in_use", "unreadable", "removable"];

export function Review() {
  const worktrees = useOperation("worktree_list", {}, { fresh: true });
  return (
    <>
      <Bar title="Review" />
      <div className="view" tabIndex={0}>
        <Loaded of={worktrees}>
          {(page) => (page.worktrees.length === 0 ? <NoWork /> : <Table worktrees={page.worktrees} />)}
        </Loaded>
      </div>
    </>
  );
}

function NoWork() {
  return (
    <Nothing title="No work to look at">
      <p>
        Each attempt at a task works in a copy of its repository. While it is there you can read here what was changed,
        tell the agent what you think of it line by line, and merge it.
      </p>
    </Nothing>
  );
}

function Table({ worktrees }: { worktrees: WorktreeSummary[] }) {
  const sorted = worktrees.toSorted((a, b) => ORDER.indexOf(a.standing) - ORDER.indexOf(b.standing));
  return (
    <div className="scroll-x" role="region" aria-label="Worktrees" tabIndex={0}>
      <table className="table paragraphs">
        <thead>
          <tr>
            <th>State</th>
            <th>Task</th>
            <th>Branch</th>
            <th className="number">Commits</th>
            <th>Goes into</th>
            <th>Holds</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((worktree) => {
            const [tone, word] = STANDING[worktree.standing];
            return (
              <tr key={worktree.path}>
                <td>
                  <Mark tone={tone} word={word} busy={worktree.standing === "in_use"} />
                </td>
                <td className="name">
                  {worktree.standing === "unreadable" ? (
                    <span className="mono quiet">{worktree.path.split("/").slice(-2).join("/")}</span>
                  ) : (
                    <Link href={`/review/${encodeURIComponent(worktree.branch ?? worktree.path)}`}>
                      {worktree.task ? `${worktree.task} ${worktree.title ?? ""}` : worktree.branch}
                    </Link>
                  )}
                </td>
                <td className="mono quiet">{worktree.branch}</td>
                <td className="number" data-name="commits">{worktree.commits}</td>
                <td className="mono quiet" data-name="into">{worktree.base}</td>
                <td className="quiet">{worktree.reason}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
