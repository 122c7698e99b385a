// The lines of a difference, in one column or in two. They are drawn in pieces of
// a few dozen: one that the keys or a comment touch is drawn anew alone, and only
// one that is near the window gets its colours.

import { memo, type ReactNode, useRef, useState } from "react";

import type { ChangedLine } from "../generated/operations";
import { Highlighted } from "../highlight/useHighlighted";
import { useNear } from "../parts/useNear";
import { KeptComment, WriteComment } from "./Comment";
import type { DraftComment } from "./draft";
import { type Pair, pairsOf, sameSpot, type Segment, type Spot, spotOf } from "./segments";
import type { Colours } from "./useColours";

export const PIECE = 64;

export interface Noting {
  comments: DraftComment[];
  /** The line the keys are at, if it is among these. */
  here: Spot | undefined;
  /** The line that is being commented on, if it is among these. */
  writing: Spot | undefined;
  /** Nothing where lines cannot be commented on. */
  begin: ((spot: Spot) => void) | undefined;
  cancel: () => void;
  save: (spot: Spot, quote: string, text: string) => void;
  remove: (id: number) => void;
}

/** A row of one column is a line, of two a pair. */
export interface Piece {
  key: string;
  lines?: ChangedLine[];
  pairs?: Pair[];
}

export function piecesOf(segment: Segment, split: boolean): Piece[] {
  const rows = split ? pairsOf(segment.lines) : segment.lines;
  const pieces: Piece[] = [];
  for (let at = 0; at < rows.length; at += PIECE) {
    const part = rows.slice(at, at + PIECE);
    const first = segment.lines[at];
    const key = `${first?.old ?? ""}-${first?.new ?? ""}-${at}`;
    pieces.push(split ? { key, pairs: part as Pair[] } : { key, lines: part as ChangedLine[] });
  }
  return pieces;
}

export function hasSpot(piece: Piece, spot: Spot | undefined): boolean {
  if (!spot) return false;
  const has = (line: ChangedLine | undefined) =>
    line !== undefined && (spot.side === "old" ? line.new == null && line.old === spot.line : line.new === spot.line);
  return piece.lines?.some(has) ?? piece.pairs?.some((pair) => has(pair.old) || has(pair.new)) ?? false;
}

interface Props extends Noting {
  file: string;
  piece: Piece;
  colours: Colours | undefined;
  /** Whether it is its turn; what is near the window does not wait for it. */
  drawn: boolean;
}

/** About how high a line is. */
const LINE_PX = 18;

export const DiffPiece = memo(function DiffPiece({ piece, colours, drawn, ...noting }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [wasNear, setWasNear] = useState(false);
  const near = useNear(place, 600, !wasNear) || wasNear;
  if (near && !wasNear) setWasNear(true);
  const height = (piece.lines ?? piece.pairs ?? []).length * LINE_PX;
  // What is not drawn yet is, when the keys come to it.
  const shown = drawn || near || noting.here || noting.writing;
  const props = { ...noting, colours: near ? colours : undefined };
  return (
    <div
      ref={place}
      className="diff-piece"
      style={shown ? { containIntrinsicBlockSize: `auto ${height}px` } : { height: `${height}px` }}
    >
      {shown ? (
        <table>
          <colgroup>
            <col className="gutter-column" />
            {piece.pairs ? <col /> : null}
            <col className="gutter-column" />
            <col />
          </colgroup>
          <tbody>
            {piece.lines?.map((line) => <Line key={`${line.old ?? ""}-${line.new ?? ""}`} line={line} {...props} />)}
            {piece.pairs?.map((pair) => (
              <PairRow key={`${pair.old?.old ?? ""}-${pair.new?.new ?? ""}`} pair={pair} {...props} />
            ))}
          </tbody>
        </table>
      ) : null}
    </div>
  );
}, sameProps);

/** Functions are kept by the page; comments are a new list each time. */
function sameProps(a: Props, b: Props): boolean {
  const comments = a.comments.length === b.comments.length && a.comments.every((each, at) => each === b.comments[at]);
  const noted = a.here === b.here && a.writing === b.writing && comments;
  return noted && a.piece === b.piece && a.colours === b.colours && a.drawn === b.drawn;
}

type Kind = "added" | "removed" | "same";
const WORDS: Record<Kind, string> = { added: "added", removed: "removed", same: "unchanged" };
const SIGNS: Record<Kind, string> = { added: "+", removed: "−", same: " " };

const kindOf = (line: ChangedLine): Kind => (line.old == null ? "added" : line.new == null ? "removed" : "same");

interface RowProps extends Noting {
  file: string;
  colours: Colours | undefined;
}

interface LineNumberProps {
  line: ChangedLine;
  spot: Spot;
  here: boolean;
  begin: Noting["begin"];
}

function LineNumber({ line, spot, here, begin }: LineNumberProps) {
  if (!begin) return line.new ?? line.old;
  return (
    <button
      type="button"
      tabIndex={here ? 0 : -1}
      aria-label={`Comment on ${WORDS[kindOf(line)]} line ${spot.line}`}
      onClick={() => begin(spot)}
    >
      {line.new ?? line.old}
    </button>
  );
}

function Text({ line, colours }: { line: ChangedLine; colours: Colours | undefined }) {
  const runs = line.new == null ? colours?.old.get(line.old ?? 0) : colours?.new.get(line.new);
  return (
    <>
      <span className="sign" aria-hidden="true">
        {SIGNS[kindOf(line)]}
      </span>
      <Highlighted text={line.text} runs={runs} />
      {line.unended ? <span className="quiet"> (no newline at the end)</span> : null}
    </>
  );
}

function Line({ line, file, colours, ...noting }: RowProps & { line: ChangedLine }) {
  const spot = spotOf(file, line);
  const here = sameSpot(noting.here, spot);
  const kind = kindOf(line);
  const number = <LineNumber line={line} spot={spot} here={here} begin={noting.begin} />;
  return (
    <>
      <tr className={here ? `line ${kind} here` : `line ${kind}`}>
        <td className="gutter">{spot.side === "old" ? number : line.old}</td>
        <td className="gutter">{spot.side === "new" ? number : null}</td>
        <td className="code mono">
          <Text line={line} colours={colours} />
        </td>
      </tr>
      <Notes lines={[line]} file={file} columns={3} {...noting} />
    </>
  );
}

function PairRow({ pair, file, colours, ...noting }: RowProps & { pair: Pair }) {
  const unchanged = pair.old !== undefined && pair.old === pair.new;
  const lines = [pair.old, pair.new].filter((line) => line !== undefined);
  const side = (line: ChangedLine | undefined, name: "old" | "new"): ReactNode => {
    if (!line) {
      return (
        <>
          <td className="gutter absent" />
          <td className="code absent" />
        </>
      );
    }
    const spot = spotOf(file, line);
    const kind = kindOf(line);
    // An unchanged line is commented on as it is now.
    const here = sameSpot(noting.here, spot) && !(unchanged && name === "old");
    const names = here ? `${kind} here` : kind;
    return (
      <>
        <td className={`gutter ${names}`}>
          {unchanged && name === "old" ? line.old : <LineNumber line={line} spot={spot} here={here} begin={noting.begin} />}
        </td>
        <td className={`code mono ${kind}`}>
          <Text line={line} colours={colours} />
        </td>
      </>
    );
  };
  return (
    <>
      <tr className="line beside">
        {side(pair.old, "old")}
        {side(pair.new, "new")}
      </tr>
      <Notes lines={unchanged ? lines.slice(1) : lines} file={file} columns={4} {...noting} />
    </>
  );
}

/** The comments on these lines, and the one that is being written. */
function Notes({ lines, file, columns, comments, writing, cancel, save, remove }: Noting & { lines: ChangedLine[]; file: string; columns: number }) {
  return lines.map((line) => {
    const spot = spotOf(file, line);
    const mine = comments.filter((comment) => sameSpot(comment, spot));
    const asked = sameSpot(writing, spot);
    if (mine.length === 0 && !asked) return null;
    return (
      <tr key={`${spot.side}-${spot.line}`} className="said">
        <td colSpan={columns}>
          {mine.map((comment) => (
            <KeptComment key={comment.id} comment={comment} remove={remove} />
          ))}
          {asked ? (
            <WriteComment label={`Comment on line ${spot.line}`} cancel={cancel} save={(text) => save(spot, line.text, text)} />
          ) : null}
        </td>
      </tr>
    );
  });
}
