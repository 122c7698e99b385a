// One changed file: its head with what it is and whether it was looked at, its
// lines, and the ways to more of what stands around them.

import { memo, useCallback, useMemo, useState } from "react";

import { useOperation } from "../daemon/queries";
import type { ChangedFile, FileChange } from "../generated/operations";
import { Chevron } from "../parts/Chevron";
import { Lines, Trouble } from "../parts/Loaded";
import { DiffPiece, hasSpot, type Noting, piecesOf } from "./DiffLines";
import {
  before,
  CONTEXT,
  contextFor,
  MOST_CONTEXT,
  type Range,
  reachesEnd,
  type Segment,
  segmentsOf,
  STEP,
} from "./segments";
import { useColours } from "./useColours";

interface Props extends Noting {
  worktree: string;
  file: ChangedFile;
  split: boolean;
  viewed: boolean;
  folded: boolean;
  /** How many pieces of it may be drawn now. */
  room: number;
  setViewed: (path: string, viewed: boolean) => void;
  setFolded: (path: string, folded: boolean) => void;
}

const WORDS: Record<FileChange, string> = {
  added: "new",
  deleted: "deleted",
  modified: "",
  renamed: "renamed",
  retyped: "type changed",
};

export const DiffFile = memo(function DiffFile(props: Props) {
  const { worktree, viewed, folded, setViewed, setFolded } = props;
  const [whole, setWhole] = useState(false);
  const [opened, setOpened] = useState<Range[]>([]);
  const asked = useOperation("worktree_diff", { worktree, files: [props.file.path] }, { enabled: whole });
  const file = asked.data?.files[0] ?? props.file;
  const context = opened.length > 0 ? contextFor(file.hunks, opened) : 0;
  const wide = useOperation(
    "worktree_diff",
    { worktree, files: [file.path], context },
    { enabled: context > 0, placeholder: "keep" },
  );
  const wider = context > 0 ? wide.data?.files[0] : undefined;
  const open = useCallback((range: Range) => setOpened((before) => [...before, range]), []);
  const canOpen = file.change !== "added" && file.change !== "deleted" && file.hunks.length > 0;
  const everything = opened.some((range) => range.to >= Number.MAX_SAFE_INTEGER);
  return (
    <section className="diff-file panel" aria-label={file.path} data-file={file.path}>
      <header className="diff-head">
        <button
          type="button"
          className="button plain small fold"
          aria-expanded={!folded}
          aria-label={folded ? `Expand ${file.path}` : `Collapse ${file.path}`}
          onClick={() => setFolded(file.path, !folded)}
        >
          <Chevron />
        </button>
        <h3 className="mono">
          {file.old_path ? <span className="quiet">{file.old_path} → </span> : null}
          {file.path}
        </h3>
        {WORDS[file.change] ? <span className="tag">{WORDS[file.change]}</span> : null}
        <Counts additions={file.additions} deletions={file.deletions} />
        {canOpen && !folded ? (
          <button
            type="button"
            className="button plain small"
            onClick={() => setOpened(everything ? [] : [{ from: 1, to: Number.MAX_SAFE_INTEGER }])}
          >
            {everything ? "Changes only" : "Whole file"}
          </button>
        ) : null}
        <label className="viewed">
          <input type="checkbox" checked={viewed} onChange={(event) => setViewed(file.path, event.target.checked)} />
          Viewed
        </label>
      </header>
      {folded ? null : (
        <>
          <Body {...props} file={file} wider={wider} context={context} opened={opened} open={open} canOpen={canOpen} />
          {(whole && asked.isPending) || (context > 0 && wide.isPending) ? <Lines count={3} /> : null}
          {asked.error ? <Trouble error={asked.error} retry={() => void asked.refetch()} /> : null}
          {wide.error ? <Trouble error={wide.error} retry={() => void wide.refetch()} /> : null}
          {file.truncated ? (
            <p className="diff-note">
              {whole ? "There is more of it than can be shown." : "A large file, not shown whole."}{" "}
              {whole ? null : (
                <button type="button" className="button small" onClick={() => setWhole(true)}>
                  Show all
                </button>
              )}
            </p>
          ) : null}
        </>
      )}
    </section>
  );
});

export function Counts({ additions, deletions }: { additions: number; deletions: number }) {
  return (
    <span className="counts number">
      {additions > 0 ? <span className="plus">+{additions.toLocaleString()}</span> : null}
      {deletions > 0 ? <span className="minus">−{deletions.toLocaleString()}</span> : null}
    </span>
  );
}

/** How much was changed in all. */
export function Size({ files, additions, deletions }: { files: number; additions: number; deletions: number }) {
  return (
    <>
      <span>
        {files.toLocaleString()} {files === 1 ? "file" : "files"}
      </span>{" "}
      <Counts additions={additions} deletions={deletions} />
    </>
  );
}

interface BodyProps extends Props {
  wider: ChangedFile | undefined;
  context: number;
  opened: Range[];
  open: (range: Range) => void;
  canOpen: boolean;
}

function Body(props: BodyProps) {
  const { file, wider, opened, open, split, room, context, canOpen } = props;
  const segments = useMemo(() => segmentsOf(file.hunks, wider?.hunks, opened), [file, wider, opened]);
  const pieces = useMemo(() => segments.map((segment) => piecesOf(segment, split)), [segments, split]);
  const colours = useColours(file.path, room > 0 ? segments : undefined);
  if (file.binary) return <p className="diff-note quiet">Binary file.</p>;
  if (file.hunks.length === 0 && !file.truncated) {
    return <p className="diff-note quiet">{file.change === "renamed" ? "Only its name changed." : "Empty file."}</p>;
  }
  const atEnd = wider ? reachesEnd(wider.hunks, context) && isLast(wider, segments) : reachesEnd(file.hunks, CONTEXT);
  const last = segments.at(-1)?.lines.findLast((line) => line.new != null)?.new;
  let drawn = 0;
  return (
    <div className={split ? "diff split" : "diff"}>
      {segments.map((segment, index) => {
        const gap = canOpen ? before(segments, index) : undefined;
        return [
          index > 0 || segment.hidden > 0 || segment.heading ? (
            <p className="hunk" key={`gap-${index}`}>
              <Gap gap={gap} first={index === 0} open={open} />
              {segment.heading ? <span className="mono">{segment.heading}</span> : null}
            </p>
          ) : null,
          ...(pieces[index] ?? []).map((piece) => {
            const has = (spot: Props["here"]) => (hasSpot(piece, spot) ? spot : undefined);
            const here = has(props.here);
            const writing = has(props.writing);
            const { begin, cancel, save, remove } = props;
            const comments = props.comments.filter((comment) => hasSpot(piece, comment));
            return (
              <DiffPiece
                key={`${split}-${index}-${piece.key}`}
                drawn={drawn++ < room}
                file={file.path}
                piece={piece}
                colours={colours}
                {...{ comments, here, writing, begin, cancel, save, remove }}
              />
            );
          }),
        ];
      })}
      {canOpen && !atEnd && !file.truncated && last != null ? (
        <p className="hunk">
          <button type="button" className="button plain small" onClick={() => open({ from: last + 1, to: last + STEP })}>
            Show {STEP} more lines
          </button>
        </p>
      ) : null}
    </div>
  );
}

const isLast = (wider: ChangedFile, segments: Segment[]): boolean =>
  wider.hunks.at(-1)?.lines.at(-1)?.new === segments.at(-1)?.lines.at(-1)?.new;

/** What is hidden between two parts, and the ways to it from either side. */
function Gap({ gap, first, open }: { gap: Range | undefined; first: boolean; open: (range: Range) => void }) {
  if (!gap) return null;
  const hidden = gap.to - gap.from + 1;
  if (hidden <= STEP) {
    return (
      <button type="button" className="button plain small" onClick={() => open(gap)}>
        Show {hidden === 1 ? "the line" : `the ${hidden} lines`} {first ? "above" : "between"}
      </button>
    );
  }
  return (
    <>
      {first ? null : (
        <button
          type="button"
          className="button plain small"
          aria-label={`Show ${STEP} lines from line ${gap.from}`}
          onClick={() => open({ from: gap.from, to: gap.from + STEP - 1 })}
        >
          ↓ {STEP}
        </button>
      )}
      <button
        type="button"
        className="button plain small"
        aria-label={`Show ${STEP} lines up to line ${gap.to}`}
        onClick={() => open({ from: gap.to - STEP + 1, to: gap.to })}
      >
        ↑ {STEP}
      </button>
      {hidden <= MOST_CONTEXT ? (
        <button type="button" className="button plain small" onClick={() => open(gap)}>
          all {hidden.toLocaleString()} lines
        </button>
      ) : (
        <span className="quiet">{hidden.toLocaleString()} lines</span>
      )}
    </>
  );
}
