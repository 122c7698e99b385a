// One changed file: its hunks line by line, with both numbers in the gutter, and
// the comments that stand at its lines.

import { type FormEvent, memo, useEffect, useRef, useState } from "react";

import { useOperation } from "../daemon/queries";
import type { ChangedFile, ChangedLine, FileChange, ReviewSide } from "../generated/operations";
import { Lines, Trouble } from "../parts/Loaded";
import type { DraftComment } from "./draft";

/** A line that can be commented on. */
export interface Spot {
  file: string;
  side: ReviewSide;
  line: number;
}

export const sameSpot = (a: Spot | undefined, b: Spot | undefined): boolean =>
  a !== undefined && b !== undefined && a.file === b.file && a.side === b.side && a.line === b.line;

export const spotOf = (file: string, line: ChangedLine): Spot =>
  line.new == null ? { file, side: "old", line: line.old ?? 0 } : { file, side: "new", line: line.new };

interface Props {
  worktree: string;
  file: ChangedFile;
  comments: DraftComment[];
  /** The line the keys are at, if it is in this file. */
  here: Spot | undefined;
  /** The line that is being commented on, if it is in this file. */
  writing: Spot | undefined;
  begin: (spot: Spot) => void;
  cancel: () => void;
  save: (spot: Spot, quote: string, text: string) => void;
  remove: (id: number) => void;
}

const WORDS: Record<FileChange, string> = {
  added: "new",
  deleted: "deleted",
  modified: "",
  renamed: "renamed",
  retyped: "became another kind of file",
};

export const DiffFile = memo(function DiffFile(props: Props) {
  const [whole, setWhole] = useState(false);
  const asked = useOperation(
    "worktree_diff",
    { worktree: props.worktree, files: [props.file.path] },
    { enabled: whole },
  );
  const file = asked.data?.files[0] ?? props.file;
  return (
    <section className="diff-file panel" aria-label={file.path} data-file={file.path}>
      <header className="diff-head">
        <h3 className="mono">
          {file.old_path ? <span className="quiet">{file.old_path} → </span> : null}
          {file.path}
        </h3>
        {WORDS[file.change] ? <span className="tag">{WORDS[file.change]}</span> : null}
        <Counts additions={file.additions} deletions={file.deletions} />
      </header>
      <Body {...props} file={file} />
      {whole && asked.isPending ? <Lines count={3} /> : null}
      {asked.error ? <Trouble error={asked.error} retry={() => void asked.refetch()} /> : null}
      {file.truncated ? (
        <p className="diff-note">
          {whole ? "There is more of it than can be shown." : "It is not shown whole because it is large."}{" "}
          {whole ? null : (
            <button type="button" className="button small" onClick={() => setWhole(true)}>
              Show it
            </button>
          )}
        </p>
      ) : null}
    </section>
  );
});

export function Counts({ additions, deletions }: { additions: number; deletions: number }) {
  return (
    <span className="counts number">
      {additions > 0 ? <span className="plus">+{additions}</span> : null}
      {deletions > 0 ? <span className="minus">−{deletions}</span> : null}
    </span>
  );
}

function Body(props: Props) {
  const { file } = props;
  if (file.binary) return <p className="diff-note quiet">It is no text, so its lines cannot be shown.</p>;
  if (file.hunks.length === 0 && !file.truncated) {
    return <p className="diff-note quiet">{file.change === "renamed" ? "Only its name changed." : "It has no lines."}</p>;
  }
  return (
    <table className="diff" aria-label={`Lines of ${file.path}`}>
      <tbody>
        {file.hunks.map((hunk) => [
          <tr key={`${hunk.old_start}-${hunk.new_start}`} className="hunk">
            <td colSpan={2} />
            <td className="mono">
              {range(hunk.new_start, hunk.new_lines)}
              {hunk.heading ? <span className="hunk-in"> {hunk.heading}</span> : null}
            </td>
          </tr>,
          ...hunk.lines.map((line) => <Row key={`${line.old ?? ""}-${line.new ?? ""}`} line={line} {...props} />),
        ])}
      </tbody>
    </table>
  );
}

function range(start: number, count: number): string {
  if (count === 0) return `after line ${start}`;
  return count === 1 ? `line ${start}` : `lines ${start} to ${start + count - 1}`;
}

function Row({ line, file, comments, here, writing, begin, cancel, save, remove }: Props & { line: ChangedLine }) {
  const spot = spotOf(file.path, line);
  const kind = line.old == null ? "added" : line.new == null ? "removed" : "same";
  const mine = comments.filter((comment) => sameSpot(comment, spot));
  const isHere = sameSpot(here, spot);
  const words = { added: "added", removed: "removed", same: "unchanged" }[kind];
  return (
    <>
      <tr className={isHere ? `line ${kind} here` : `line ${kind}`}>
        <td className="gutter">{line.old}</td>
        <td className="gutter">
          <button
            type="button"
            tabIndex={isHere ? 0 : -1}
            aria-label={`Comment on ${words} line ${spot.line}`}
            onClick={() => begin(spot)}
          >
            {line.new ?? "\u00a0"}
          </button>
        </td>
        <td className="code mono">
          <span className="sign" aria-hidden="true">
            {{ added: "+", removed: "−", same: " " }[kind]}
          </span>
          {line.text}
          {line.unended ? <span className="quiet"> (no end of line)</span> : null}
        </td>
      </tr>
      {mine.map((comment) => (
        <tr key={comment.id} className="said">
          <td colSpan={3}>
            <div className="said-inner">
              <p className="prose">{comment.text}</p>
              <button
                type="button"
                className="button plain small"
                aria-label={`Remove the comment on line ${comment.line}`}
                onClick={() => remove(comment.id)}
              >
                Remove
              </button>
            </div>
          </td>
        </tr>
      ))}
      {sameSpot(writing, spot) ? (
        <tr className="said">
          <td colSpan={3}>
            <Comment label={`Comment on line ${spot.line}`} cancel={cancel} save={(text) => save(spot, line.text, text)} />
          </td>
        </tr>
      ) : null}
    </>
  );
}

function Comment({ label, cancel, save }: { label: string; cancel: () => void; save: (text: string) => void }) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (text.trim()) save(text.trim());
  };
  return (
    <form className="said-inner" onSubmit={submit}>
      <textarea
        ref={field}
        className="field"
        rows={3}
        aria-label={label}
        placeholder="What should be different here?"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") cancel();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        }}
      />
      <span className="said-buttons">
        <button type="submit" className="button primary small" disabled={!text.trim()}>
          Keep the comment
        </button>
        <button type="button" className="button plain small" onClick={cancel}>
          Cancel
        </button>
      </span>
    </form>
  );
}
