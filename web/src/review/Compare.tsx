// Two pieces of work beside each other, such as two attempts at one task: what each
// changed, what its checks and its cost came to, and where they differ. One is kept.

import { useMemo, useState } from "react";
import { Link } from "wouter";

import { Bar } from "../app/Menu";
import { useOperation } from "../daemon/queries";
import type { Attempt, ChangedFile, Conversation, WorktreeChanges, WorktreeSummary } from "../generated/operations";
import { CostOf, Tokens } from "../parts/cost";
import { agentOf } from "../parts/engine";
import { Loaded, Nothing } from "../parts/Loaded";
import { Checks } from "../parts/marks";
import { Lasting } from "../parts/time";
import { Counts, Size } from "./DiffFile";
import { FileDifference } from "./FileDifference";
import { Merge } from "./Merge";

export function Compare({ first, second }: { first: string; second: string }) {
  const one = useOperation("worktree_diff", { worktree: first }, { fresh: true });
  const two = useOperation("worktree_diff", { worktree: second }, { fresh: true });
  const [merging, setMerging] = useState<string>();
  return (
    <>
      <Bar
        title={
          <>
            <Link href="/review">Review</Link> <span className="quiet">/</span> Compare
          </>
        }
      />
      <div className="view" tabIndex={0}>
        <Loaded of={one}>
          {(a) => <Loaded of={two}>{(b) => <Both names={[first, second]} a={a} b={b} keep={setMerging} />}</Loaded>}
        </Loaded>
      </div>
      {merging ? <Merge worktree={merging} close={() => setMerging(undefined)} /> : null}
    </>
  );
}

interface BothProps {
  names: [string, string];
  a: WorktreeChanges;
  b: WorktreeChanges;
  keep: (worktree: string) => void;
}

function Both({ names, a, b, keep }: BothProps) {
  const files = useMemo(() => filesOf(a, b), [a, b]);
  const different = files.filter((file) => !file.same);
  return (
    <article className="review compare">
      <div className="compare-sides">
        <Side name={names[0]} changes={a} keep={keep} />
        <Side name={names[1]} changes={b} keep={keep} />
      </div>
      <p className="quiet">The one that is not kept stays on its branch.</p>
      {files.length === 0 ? <Nothing title="Neither changed anything" /> : null}
      {files.length > 0 && different.length === 0 ? <Nothing title="Both changed the same, to the letter" /> : null}
      <FileTable files={files} />
      {different.map((file) => (
        <FileDifference key={file.path} path={file.path} first={names[0]} second={names[1]} inFirst={file.a} inSecond={file.b} />
      ))}
    </article>
  );
}

function Side({ name, changes, keep }: { name: string; changes: WorktreeChanges; keep: (worktree: string) => void }) {
  const task = useOperation("board_show", { task: changes.task ?? "" }, { enabled: Boolean(changes.task) });
  const list = useOperation("worktree_list", {});
  const talks = useOperation("conversation_list", { task: changes.task ?? "", limit: 200 }, { enabled: Boolean(changes.task) });
  const attempt = task.data?.attempts.find((each) => each.number === changes.attempt);
  const summary = list.data?.worktrees.find((each) => each.branch != null && each.branch === changes.branch);
  const talk = talks.data?.conversations.find((each) => each.execution != null && each.execution === attempt?.execution);
  const obstacle = obstacleOf(changes, summary);
  const model = task.data?.task.model ?? undefined;
  const label = changes.task ? `${changes.task}${changes.attempt ? `, attempt ${changes.attempt}` : ""}` : name;
  return (
    <section className="panel compare-side" aria-label={label}>
      <h2>
        <Link href={`/review/${encodeURIComponent(name)}`}>{label}</Link>
      </h2>
      {changes.title ? <p>{changes.title}</p> : null}
      <SideFacts changes={changes} attempt={attempt} summary={summary} talk={talk} model={model} />
      <button
        type="button"
        className="button primary"
        disabled={obstacle !== undefined}
        title={obstacle}
        onClick={() => keep(name)}
      >
        Keep this one…
      </button>
    </section>
  );
}

/** Why it cannot be kept by a press. */
function obstacleOf(changes: WorktreeChanges, summary: WorktreeSummary | undefined): string | undefined {
  if (changes.in_use) return changes.in_use;
  if (changes.files.length === 0) return "It changed nothing";
  // Only what the daemon lists can be merged by it.
  return changes.path || summary ? undefined : "Its worktree is removed: merge its branch with git";
}

interface SideFactsProps {
  changes: WorktreeChanges;
  attempt: Attempt | undefined;
  summary: WorktreeSummary | undefined;
  talk: Conversation | undefined;
  model: string | undefined;
}

function SideFacts({ changes, attempt, summary, talk, model }: SideFactsProps) {
  const engine = talk?.engine ?? summary?.engine;
  return (
    <dl className="facts">
      <dt>Checks</dt>
      <dd>
        {summary ? <Checks verdict={summary.checks} /> : attempt?.outcome ? attempt.outcome.replaceAll("_", " ") : "not known"}
      </dd>
      <dt>Changes</dt>
      <dd>
        <Size
          files={changes.files.length + changes.files_left_out}
          additions={changes.additions}
          deletions={changes.deletions}
        />
      </dd>
      {engine ? (
        <>
          <dt>Agent</dt>
          <dd>{agentOf({ engine, model })}</dd>
        </>
      ) : null}
      {attempt ? (
        <>
          <dt>Time</dt>
          <dd>
            <Lasting from={attempt.started_at} to={attempt.ended_at} />
          </dd>
        </>
      ) : null}
      {talk ? (
        <>
          <dt>Cost</dt>
          <dd>
            {usedNothing(talk) ? <span className="quiet">not reported</span> : null}
            <Tokens tokens={talk.tokens} /> <CostOf cost={talk.cost} />
          </dd>
        </>
      ) : null}
      {changes.branch ? (
        <>
          <dt>Branch</dt>
          <dd className="mono">{changes.branch}</dd>
        </>
      ) : null}
    </dl>
  );
}

const usedNothing = ({ tokens }: Conversation): boolean =>
  tokens.input + tokens.output + tokens.cache_read + tokens.cache_write === 0;

interface ComparedFile {
  path: string;
  a: ChangedFile | undefined;
  b: ChangedFile | undefined;
  same: boolean;
}

function filesOf(a: WorktreeChanges, b: WorktreeChanges): ComparedFile[] {
  const paths = [...new Set([...a.files, ...b.files].map((file) => file.path))].sort();
  return paths.map((path) => {
    const [inA, inB] = [a, b].map((each) => each.files.find((file) => file.path === path));
    return { path, a: inA, b: inB, same: isSame(inA, inB) };
  });
}

/** Whether two changes are one; of what is not shown whole nobody can tell. */
function isSame(a: ChangedFile | undefined, b: ChangedFile | undefined): boolean {
  if (!a || !b || [a, b].some((file) => file.binary || file.truncated)) return false;
  const written = (file: ChangedFile) => [file.change, file.old_path ?? "", file.hunks.map((hunk) => hunk.lines)];
  return JSON.stringify(written(a)) === JSON.stringify(written(b));
}

function FileTable({ files }: { files: ComparedFile[] }) {
  if (files.length === 0) return null;
  const cell = (file: ChangedFile | undefined) =>
    file ? <Counts additions={file.additions} deletions={file.deletions} /> : <span className="quiet">not changed</span>;
  return (
    <div className="scroll-x" role="region" aria-label="Files of both" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th>File</th>
            <th>Left</th>
            <th>Right</th>
            <th>Both</th>
          </tr>
        </thead>
        <tbody>
          {files.map((file) => (
            <tr key={file.path}>
              <td className="mono">{file.path}</td>
              <td>{cell(file.a)}</td>
              <td>{cell(file.b)}</td>
              <td className="quiet">{file.same ? "the same" : file.a && file.b ? "different" : "only one"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
