// Work that waits to be looked at, first what is ready for it, each with its size,
// what its checks say, and how old it is.

import { useState } from "react";
import { Link } from "wouter";

import { Bar } from "../app/Menu";
import { isOfProject, ProjectSwitcher, useProject } from "../app/Project";
import { useShortcuts } from "../app/shortcuts";
import { nameOf } from "../board/cards";
import { useOperation } from "../daemon/queries";
import type { WorktreeLanding, WorktreeSummary } from "../generated/operations";
import { EngineMark } from "../parts/engine";
import { Loaded, Nothing } from "../parts/Loaded";
import { Checks, Mark, type Tone } from "../parts/marks";
import { PullRequestLink } from "../parts/PullRequestLink";
import { Ago } from "../parts/time";
import { Size } from "./DiffFile";
import "./review.css";

export function Review() {
  const worktrees = useOperation("worktree_list", {}, { fresh: true });
  const [filter, setFilter] = useState("");
  const project = useProject();
  const refresh = () => void worktrees.refetch();
  useShortcuts({ r: refresh });
  return (
    <>
      <Bar
        title="Review"
        action={
          <button type="button" className="button" disabled={worktrees.isFetching} onClick={refresh}>
            Refresh <kbd>r</kbd>
          </button>
        }
      >
        <ProjectSwitcher />
        <input
          type="search"
          className="field review-filter"
          aria-label="Filter"
          placeholder="Filter by title, task, agent…"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={worktrees}>
          {(page) => (page.worktrees.length === 0 ? <NoWork /> : <Groups worktrees={page.worktrees} filter={filter} project={project} />)}
        </Loaded>
      </div>
    </>
  );
}

function NoWork() {
  return (
    <Nothing title="Nothing to review">
      <p>
        Each attempt at a task works in a copy of its repository. When its checks pass it is listed here: read what was
        changed, comment on it line by line, send it back or merge it.
      </p>
    </Nothing>
  );
}

interface Group {
  name: string;
  has: (worktree: WorktreeSummary) => boolean;
  /** Behind a press: there is nothing to do with it. */
  folded?: boolean;
}

const GROUPS: Group[] = [
  { name: "Ready for review", has: ({ standing }) => standing === "ready_for_review" },
  { name: "Needs a decision", has: ({ standing }) => standing === "holds_work" || standing === "unreadable" },
  { name: "In progress", has: ({ standing }) => standing === "in_use" },
  { name: "Nothing to review", has: ({ standing }) => standing === "removable", folded: true },
];

function Groups({ worktrees, filter, project }: { worktrees: WorktreeSummary[]; filter: string; project: string }) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (worktree: WorktreeSummary) => {
    const text = [worktree.title, worktree.task, worktree.repository, worktree.branch, worktree.engine].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const ofProject = worktrees.filter((worktree) => isOfProject(project, worktree.repository));
  const fitting = ofProject.filter(fits);
  if (ofProject.length === 0) return <Nothing title={`Nothing to review in ${nameOf(project)}`} />;
  if (fitting.length === 0) return <Nothing title="No work matches the filter" />;
  return (
    <div className="stack review-list">
      {GROUPS.map((group) => {
        const members = fitting.filter(group.has).toSorted((a, b) => (b.updated_at ?? "").localeCompare(a.updated_at ?? ""));
        if (members.length === 0) return null;
        const heading = (
          <>
            {group.name} <span className="quiet">{members.length}</span>
          </>
        );
        const list = (
          <ul className="review-items" aria-label={group.name}>
            {members.map((worktree) => (
              <li key={worktree.path}>
                <Item worktree={worktree} />
              </li>
            ))}
          </ul>
        );
        return group.folded && words.length === 0 ? (
          <details key={group.name} className="section" open={members.length === fitting.length}>
            <summary>
              <h2>{heading}</h2>
            </summary>
            {list}
          </details>
        ) : (
          <section key={group.name} className="section">
            <h2>{heading}</h2>
            {list}
          </section>
        );
      })}
    </div>
  );
}

function Item({ worktree }: { worktree: WorktreeSummary }) {
  const state = stateOf(worktree);
  const name = worktree.title ?? worktree.branch ?? worktree.path.split("/").slice(-2).join("/");
  return (
    <article className="review-item">
      <p className="review-item-head">
        {worktree.standing === "unreadable" ? (
          <span className="mono">{name}</span>
        ) : (
          <Link href={`/review/${encodeURIComponent(worktree.branch ?? worktree.path)}`}>{name}</Link>
        )}
        {state ? <Mark tone={state[0]} word={state[1]} /> : null}
      </p>
      <p className="review-item-facts quiet">
        {worktree.task ? <Link href={`/board/${worktree.task}`}>{worktree.task}</Link> : null}
        <PullRequestLink of={worktree.pull_request} />
        {worktree.repository ? (
          <span className="tag" title={worktree.repository}>
            {worktree.repository.split("/").at(-1)}
          </span>
        ) : null}
        {worktree.engine ? <EngineMark engine={worktree.engine} /> : null}
        {worktree.attempt && worktree.attempt > 1 ? <span>attempt {worktree.attempt}</span> : null}
        <Checks verdict={worktree.checks} />
        {worktree.files > 0 ? (
          <Size files={worktree.files} additions={worktree.additions} deletions={worktree.deletions} />
        ) : null}
        {worktree.updated_at ? <Ago at={worktree.updated_at} /> : null}
      </p>
      {worktree.standing === "unreadable" ? <p className="quiet">{worktree.reason}</p> : null}
    </article>
  );
}

const LANDED: Record<WorktreeLanding, [Tone, string]> = {
  no_changes: ["rest", "No changes"],
  merged: ["good", "Merged"],
  branch: ["rest", "Branch kept"],
  patch: ["rest", "Patch written"],
};

/** What the heading of its group does not say. */
function stateOf({ standing, landed, status }: WorktreeSummary): [Tone, string] | undefined {
  switch (standing) {
    case "ready_for_review":
    case "in_use":
      return undefined;
    case "unreadable":
      return ["bad", "Cannot be read"];
    case "removable":
      return landed ? LANDED[landed] : undefined;
    case "holds_work":
      return status === "failed" || status === "blocked" ? ["wait", `Task ${status}`] : ["wait", "Not merged"];
  }
}
