// What was changed, with the keys that go through it: line by line, file by file.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";

import { useShortcuts } from "../app/shortcuts";
import { useOperation } from "../daemon/queries";
import type { Attempt, ChangedFile, ExecutionDetails, TaskDetails, WorktreeChanges } from "../generated/operations";
import { Nothing } from "../parts/Loaded";
import { PullRequestLink } from "../parts/PullRequestLink";
import { clock } from "../parts/time";
import { DiffFile } from "./DiffFile";
import { PIECE } from "./DiffLines";
import { Discard } from "./Discard";
import { type DraftComment, useDraft, withComment } from "./draft";
import { FileTree } from "./FileTree";
import { Say } from "./Say";
import { sameSpot, type Spot, spotOf } from "./segments";
import { Sent } from "./Sent";
import { Verdict } from "./Verdict";
import { useViewed } from "./viewed";

interface Props {
  worktree: string;
  changes: WorktreeChanges;
  readAt: number;
  split: boolean;
  refresh: () => void;
}

export function Work({ worktree, changes, readAt, split, refresh }: Props) {
  const { draft, change, clear } = useDraft(worktree);
  const { viewed, setViewed } = useViewed(worktree, changes);
  // What was viewed is folded until it is opened by hand, and the other way round.
  const [folds, setFolds] = useState<Record<string, boolean>>({});
  const isFolded = (path: string) => folds[path] ?? viewed.has(path);
  const [here, setHere] = useState<Spot>();
  const [moves, setMoves] = useState(0);
  const [writing, setWriting] = useState<Spot>();
  const files = useRef<HTMLDivElement>(null);
  const spots = useMemo(() => changes.files.flatMap(spotsOf), [changes]);
  const rooms = useRooms(changes, split);
  const comments = useMemo(() => byFile(draft.comments), [draft.comments]);
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
    const row = files.current?.querySelector<HTMLElement>(".here");
    row?.scrollIntoView({ block: "nearest" });
    row?.querySelector("button")?.focus({ preventScroll: true });
  }, [moves]);
  const section = (path: string) => files.current?.querySelector(`[data-file="${CSS.escape(path)}"]`);
  const step = (by: number) => {
    const open = spots.filter((spot) => !isFolded(spot.file));
    const place = open.findIndex((spot) => sameSpot(spot, here));
    go(open[place === -1 ? 0 : Math.min(Math.max(place + by, 0), open.length - 1)]);
  };
  const stepFile = (by: number) => {
    const names = changes.files.map((file) => file.path);
    const next = names[names.indexOf(here?.file ?? "") + by] ?? names[by > 0 ? 0 : names.length - 1] ?? "";
    const first = spots.find((spot) => spot.file === next);
    // A file without lines is a place too: the next key goes on from it.
    go(first ?? { file: next, side: "new", line: 0 });
    section(next)?.scrollIntoView({ block: "start" });
  };
  const view = useCallback(
    (path: string, is: boolean) => {
      setViewed(path, is);
      setFolds(({ [path]: _, ...others }) => others);
    },
    [setViewed],
  );
  const fold = useCallback((path: string, is: boolean) => setFolds((before) => ({ ...before, [path]: is })), []);
  const viewHere = () => {
    const path = here?.file ?? changes.files[0]?.path;
    if (path === undefined) return;
    const is = !viewed.has(path);
    view(path, is);
    if (is) stepFile(here ? 1 : 2);
  };
  useShortcuts({
    j: () => step(1),
    k: () => step(-1),
    n: () => stepFile(1),
    p: () => stepFile(-1),
    c: () => here && here.line > 0 && setWriting(here),
    v: viewHere,
    x: () => here && fold(here.file, !isFolded(here.file)),
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
        {task.data?.task.pull_request ? (
          <p>
            <PullRequestLink of={task.data.task.pull_request} />
          </p>
        ) : null}
        {changes.in_use ? (
          <p className="mark busy" data-tone="work">
            {changes.in_use}; this is from {clock(new Date(readAt).toISOString())}
          </p>
        ) : null}
        {changes.path ? null : <p className="quiet">Its worktree is removed; this is what is on its branch.</p>}
      </header>
      {task.data ? (
        <Verdict
          evidence={attempt === task.data.attempts.at(-1) ? task.data.evidence : []}
          head={changes.head_commit}
          none={task.data.task.checks.length === 0}
        />
      ) : null}
      {changes.path && !changes.in_use ? <Discard worktree={worktree} discarded={refresh} /> : null}
      <div className="review-body">
        <div className="stack review-files" ref={files}>
          {changes.files.length === 0 ? (
            <Nothing title="Nothing was changed">
              <p>There is no difference from where the work began{changes.in_use ? " yet" : ""}.</p>
            </Nothing>
          ) : null}
          {changes.files.map((file, index) => (
            <DiffFile
              key={file.path}
              worktree={worktree}
              file={file}
              split={split}
              viewed={viewed.has(file.path)}
              folded={isFolded(file.path)}
              room={rooms[index] ?? 0}
              setViewed={view}
              setFolded={fold}
              comments={comments.get(file.path) ?? NONE}
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
          <FileTree changes={changes} viewed={viewed} show={(path) => section(path)?.scrollIntoView()} />
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
          <Claim attempt={attempt} run={run.data} />
        </aside>
      </div>
    </article>
  );
}

const NONE: DraftComment[] = [];

/** The same lists as long as nothing is said: a file that nobody touches is not drawn anew. */
function byFile(comments: DraftComment[]): Map<string, DraftComment[]> {
  const files = new Map<string, DraftComment[]>();
  for (const comment of comments) files.set(comment.file, [...(files.get(comment.file) ?? []), comment]);
  return files;
}

const spotsOf = (file: ChangedFile): Spot[] =>
  file.hunks.flatMap((hunk) => hunk.lines.map((line) => spotOf(file.path, line)));

function attemptOf(task: TaskDetails | undefined, changes: WorktreeChanges): Attempt | undefined {
  return task?.attempts.find((attempt) => attempt.number === changes.attempt) ?? task?.attempts.at(-1);
}

/** Pieces that are drawn at once, and with each frame after. */
const FIRST = 8;
const SLICE = 4;

/** How many pieces of each file may be drawn now: a large change grows frame by frame. */
function useRooms(changes: WorktreeChanges, split: boolean): number[] {
  const counts = useMemo(
    () =>
      changes.files.map((file) => file.hunks.reduce((sum, hunk) => sum + Math.ceil(hunk.lines.length / PIECE), 0)),
    [changes],
  );
  const total = counts.reduce((sum, count) => sum + count, 0);
  const [drawn, setDrawn] = useState(FIRST);
  const [way, setWay] = useState(split);
  if (way !== split) {
    setWay(split);
    setDrawn(FIRST);
  }
  useEffect(() => {
    if (drawn >= total) return;
    const frame = requestAnimationFrame(() => setDrawn((before) => before + SLICE));
    return () => cancelAnimationFrame(frame);
  }, [drawn, total]);
  let before = 0;
  return counts.map((count) => {
    const room = drawn - before;
    before += count;
    // What was opened between hunks is more than was counted.
    return room >= count ? Number.MAX_SAFE_INTEGER : Math.max(0, room);
  });
}

function Claim({ attempt, run }: { attempt: Attempt | undefined; run: ExecutionDetails | undefined }) {
  return (
    <>
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
