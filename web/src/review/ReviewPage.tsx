// The work of one attempt: what was changed, what its checks say, what you have to
// say about it, and bringing it back.

import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link, useParams } from "wouter";

import { Bar } from "../app/Menu";
import { useShortcuts } from "../app/shortcuts";
import { EvidenceList } from "../board/Attempts";
import { useOperation } from "../daemon/queries";
import type { Attempt, ChangedFile, ExecutionDetails, TaskDetails, WorktreeChanges } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { clock } from "../parts/time";
import { Counts, DiffFile, sameSpot, type Spot, spotOf } from "./DiffFile";
import { useDraft, withComment } from "./draft";
import { Merge } from "./Merge";
import { Say } from "./Say";
import { Sent } from "./Sent";
import "../board/board.css";
import "./review.css";

export function ReviewPage() {
  const params = useParams<{ worktree: string }>();
  const worktree = decodeURIComponent(params.worktree ?? "");
  const changes = useOperation("worktree_diff", { worktree }, { fresh: true });
  const [merging, setMerging] = useState(false);
  const data = changes.data;
  useShortcuts({ r: () => void changes.refetch(), m: () => setMerging(Boolean(data?.path)) });
  return (
    <>
      <Bar
        title={
          <>
            <Link href="/review">Review</Link> <span className="quiet">/</span>{" "}
            {data?.task ? <Link href={`/board/${data.task}`}>{data.task}</Link> : <span className="mono">{worktree}</span>}
          </>
        }
      >
        <button type="button" className="button" disabled={changes.isFetching} onClick={() => void changes.refetch()}>
          Read again <kbd>r</kbd>
        </button>
        {data?.path ? (
          <button
            type="button"
            className="button primary"
            disabled={Boolean(data.in_use)}
            title={data.in_use ?? undefined}
            onClick={() => setMerging(true)}
          >
            Merge… <kbd>m</kbd>
          </button>
        ) : null}
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={changes} lines={14}>
          {(changed) => <Work worktree={worktree} changes={changed} readAt={changes.dataUpdatedAt} />}
        </Loaded>
      </div>
      {merging ? (
        <Merge
          worktree={worktree}
          close={() => {
            setMerging(false);
            void changes.refetch();
          }}
        />
      ) : null}
    </>
  );
}

interface WorkProps {
  worktree: string;
  changes: WorktreeChanges;
  readAt: number;
}

function Work({ worktree, changes, readAt }: WorkProps) {
  const { draft, change, clear } = useDraft(worktree);
  const [here, setHere] = useState<Spot>();
  const [moves, setMoves] = useState(0);
  const [writing, setWriting] = useState<Spot>();
  const files = useRef<HTMLDivElement>(null);
  const spots = useMemo(() => changes.files.flatMap(spotsOf), [changes]);
  const task = useOperation("board_show", { task: changes.task ?? "" }, { enabled: Boolean(changes.task) });
  const attempt = attemptOf(task.data, changes);
  const execution = attempt?.execution ?? "";
  const run = useOperation("execution_show", { execution }, { enabled: Boolean(execution) });

  const go = (spot: Spot | undefined) => {
    if (!spot) return;
    setHere(spot);
    setMoves((before) => before + 1);
  };
  // Once the line has its mark, it is brought into sight. Before the next key: later
  // it would take the focus from a comment that this key begins.
  useLayoutEffect(() => {
    if (moves === 0) return;
    const row = files.current?.querySelector<HTMLElement>("tr.here");
    row?.scrollIntoView({ block: "nearest" });
    row?.querySelector("button")?.focus({ preventScroll: true });
  }, [moves]);
  const step = (by: number) => {
    const place = spots.findIndex((spot) => sameSpot(spot, here));
    go(spots[place === -1 ? 0 : Math.min(Math.max(place + by, 0), spots.length - 1)]);
  };
  const stepFile = (by: number) => {
    const names = changes.files.map((file) => file.path);
    const next = names[names.indexOf(here?.file ?? "") + by] ?? names[by > 0 ? 0 : names.length - 1];
    const first = spots.find((spot) => spot.file === next);
    if (first) go(first);
    files.current?.querySelector(`[data-file="${CSS.escape(next ?? "")}"]`)?.scrollIntoView({ block: "start" });
  };
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    n: () => stepFile(1),
    p: () => stepFile(-1),
    c: () => here && setWriting(here),
  });

  const begin = useCallback((spot: Spot) => {
    setHere(spot);
    setWriting(spot);
  }, []);
  const cancel = useCallback(() => setWriting(undefined), []);
  const save = useCallback(
    (spot: Spot, quote: string, text: string) => {
      change((before) => withComment(before, { ...spot, quote, text }));
      setWriting(undefined);
    },
    [change],
  );
  const remove = useCallback(
    (id: number) => change((before) => ({ ...before, comments: before.comments.filter((each) => each.id !== id) })),
    [change],
  );

  return (
    <article className="review">
      <header className="review-head">
        {changes.title ? <h2 className="task-title">{changes.title}</h2> : null}
        <p className="quiet">
          {changes.branch ? <code>{changes.branch}</code> : null} since{" "}
          <code title={changes.base_commit}>
            {changes.base ? `${changes.base} at ` : ""}
            {changes.base_commit.slice(0, 8)}
          </code>
          {changes.attempt ? <>, attempt {changes.attempt}</> : null}
        </p>
        {changes.in_use ? (
          <p className="mark busy" data-tone="work">
            {changes.in_use}; this is from {clock(new Date(readAt).toISOString())}
          </p>
        ) : null}
        {changes.path ? null : <p className="quiet">The worktree is gone; this is what was made in it.</p>}
      </header>
      <div className="review-body">
        <div className="stack review-files" ref={files}>
          {changes.files.length === 0 ? (
            <Nothing title="Nothing was changed">
              <p>There is no difference from where the work began{changes.in_use ? " yet" : ""}.</p>
            </Nothing>
          ) : null}
          {changes.files.map((file) => (
            <DiffFile
              key={file.path}
              worktree={worktree}
              file={file}
              comments={draft.comments.filter((comment) => comment.file === file.path)}
              here={here?.file === file.path ? here : undefined}
              writing={writing?.file === file.path ? writing : undefined}
              begin={begin}
              cancel={cancel}
              save={save}
              remove={remove}
            />
          ))}
          {changes.files_left_out > 0 ? (
            <p className="diff-note">
              {changes.files_left_out.toLocaleString()} more files were changed than can be listed here.
            </p>
          ) : null}
        </div>
        <aside className="stack review-side">
          <Files changes={changes} show={(path) => files.current?.querySelector(`[data-file="${CSS.escape(path)}"]`)?.scrollIntoView()} />
          <Say
            draft={draft}
            change={change}
            clear={clear}
            remove={remove}
            changes={changes}
            status={task.data?.task.status}
            run={run.data}
          />
          {run.data ? <Sent execution={run.data.execution} messages={run.data.messages} /> : null}
          <Checks task={task.data} attempt={attempt} run={run.data} />
        </aside>
      </div>
    </article>
  );
}

const spotsOf = (file: ChangedFile): Spot[] =>
  file.hunks.flatMap((hunk) => hunk.lines.map((line) => spotOf(file.path, line)));

function attemptOf(task: TaskDetails | undefined, changes: WorktreeChanges): Attempt | undefined {
  return task?.attempts.find((attempt) => attempt.number === changes.attempt) ?? task?.attempts.at(-1);
}

function Files({ changes, show }: { changes: WorktreeChanges; show: (path: string) => void }) {
  if (changes.files.length === 0) return null;
  return (
    <nav className="section" aria-label="Changed files">
      <h2>
        Files <span className="quiet">{changes.files.length}</span>
        <Counts additions={changes.additions} deletions={changes.deletions} />
      </h2>
      <ul className="file-list">
        {changes.files.map((file) => (
          <li key={file.path}>
            <button type="button" onClick={() => show(file.path)} title={file.path}>
              <span className="mono one-line">{file.path}</span>
              <Counts additions={file.additions} deletions={file.deletions} />
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

interface ChecksProps {
  task: TaskDetails | undefined;
  attempt: Attempt | undefined;
  run: ExecutionDetails | undefined;
}

function Checks({ task, attempt, run }: ChecksProps) {
  // The board tells the evidence of the last attempt only.
  const evidence = task && attempt && attempt === task.attempts.at(-1) ? task.evidence : [];
  return (
    <>
      {evidence.length > 0 ? (
        <section className="section">
          <h2>Checks</h2>
          <EvidenceList evidence={evidence} open={false} />
        </section>
      ) : null}
      {attempt?.claim ? (
        <section className="section">
          <h2>The agent says</h2>
          <p className="prose">{attempt.claim.text}</p>
        </section>
      ) : null}
      {run ? (
        <p className="quiet">
          <Link href={`/executions/${run.execution}`}>The run</Link> and <Link href={`/slots/${run.slot}`}>its terminal</Link>
        </p>
      ) : null}
    </>
  );
}
