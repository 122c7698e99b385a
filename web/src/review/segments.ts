// The lines of a file that are shown: those of its hunks, and what was opened
// between them. Everything here is plain data over the answer of the daemon.

import type { ChangedFile, ChangedHunk, ChangedLine, ReviewSide } from "../generated/operations";

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

/** Lines without a break between them. */
export interface Segment {
  heading: string;
  lines: ChangedLine[];
  /** Unchanged lines that are hidden before it. */
  hidden: number;
}

/** Numbers of lines as they are now, both included. */
export interface Range {
  from: number;
  to: number;
}

/** What git shows around a change unless it is asked for more. */
export const CONTEXT = 3;
/** What one press opens. */
export const STEP = 20;
export const MOST_CONTEXT = 5000;

const within = (number: number, ranges: Range[]): boolean =>
  ranges.some((range) => range.from <= number && number <= range.to);

const same = (line: ChangedLine): boolean => line.old != null && line.new != null;

/** The hunks, with unchanged lines of `wide`, a difference with more around it, that were opened. */
export function segmentsOf(hunks: ChangedHunk[], wide: ChangedHunk[] | undefined, opened: Range[]): Segment[] {
  const shown = new Set(hunks.flatMap((hunk) => hunk.lines.map(nameOf)));
  const all = wide ? lines(wide) : [];
  const names = new Set(all.map(nameOf));
  // What was cut off the wide answer is taken from the narrow one.
  all.push(...lines(hunks).filter((line) => !names.has(nameOf(line))));
  const headings = new Map(hunks.map((hunk) => [nameOf(hunk.lines[0] ?? { text: "" }), hunk.heading ?? ""]));
  const segments: Segment[] = [];
  let last: { old: number; new: number } = { old: 0, new: 0 };
  for (const line of all) {
    if (!shown.has(nameOf(line)) && !(same(line) && within(line.new ?? 0, opened))) continue;
    const hidden = line.new == null ? (line.old ?? 0) - last.old - 1 : line.new - last.new - 1;
    let segment = segments.at(-1);
    if (!segment || hidden > 0) {
      segment = { heading: headings.get(nameOf(line)) ?? "", lines: [], hidden: Math.max(0, hidden) };
      segments.push(segment);
    }
    segment.lines.push(line);
    last = { old: line.old ?? last.old, new: line.new ?? last.new };
  }
  return segments;
}

const lines = (hunks: ChangedHunk[]): ChangedLine[] => hunks.flatMap((hunk) => hunk.lines);
const nameOf = (line: ChangedLine): string => `${line.old ?? ""}-${line.new ?? ""}`;

/** Where the lines before a segment begin and end; of one without a new line, none can be opened. */
export function before(segments: Segment[], index: number): Range | undefined {
  const segment = segments[index];
  const first = segment?.lines.find((line) => line.new != null)?.new;
  if (!segment || first == null || segment.hidden === 0) return undefined;
  return { from: first - segment.hidden, to: first - 1 };
}

/** How much context a difference must have so that these lines are in it. */
export function contextFor(hunks: ChangedHunk[], opened: Range[]): number {
  const edges = hunks.flatMap((hunk) => [hunk.new_start, hunk.new_start + Math.max(0, hunk.new_lines - 1)]);
  const away = (number: number) => Math.min(...edges.map((edge) => Math.abs(edge - number)));
  const farthest = Math.max(0, ...opened.flatMap((range) => [away(range.from), away(range.to)]));
  // In few sizes, so that the next press may find its lines there already.
  const sizes = [CONTEXT + 2 * STEP, 100, 400, 1600, MOST_CONTEXT];
  return sizes.find((size) => size >= farthest + CONTEXT) ?? MOST_CONTEXT;
}

/** Whether the last hunk ends with the file: git had less to show behind it. */
export function reachesEnd(hunks: ChangedHunk[], context: number): boolean {
  const last = hunks.at(-1)?.lines ?? [];
  const trailing = last.length - 1 - last.findLastIndex((line) => !same(line));
  return trailing < context;
}

/** Two lines beside each other; a side that has none is empty. */
export interface Pair {
  old: ChangedLine | undefined;
  new: ChangedLine | undefined;
}

/** What was taken out stands beside what came instead. */
export function pairsOf(lines: ChangedLine[]): Pair[] {
  const pairs: Pair[] = [];
  let removed: ChangedLine[] = [];
  let added: ChangedLine[] = [];
  const flush = () => {
    for (let row = 0; row < Math.max(removed.length, added.length); row++) {
      pairs.push({ old: removed[row], new: added[row] });
    }
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.new == null) {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.old == null) added.push(line);
    else {
      flush();
      pairs.push({ old: line, new: line });
    }
  }
  flush();
  return pairs;
}

/** Says whether a change is still the one that was looked at. */
export function fingerprint(file: ChangedFile, head: string): string {
  // Of what is not shown whole only the commit can tell.
  if (file.truncated || file.binary) return `${head} ${file.additions} ${file.deletions}`;
  let hash = 0x811c9dc5;
  const add = (text: string) => {
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  };
  add(`${file.change} ${file.old_path ?? ""}`);
  for (const hunk of file.hunks) {
    for (const line of hunk.lines) add(`\n${line.old == null ? "+" : line.new == null ? "-" : " "}${line.text}`);
  }
  return (hash >>> 0).toString(16);
}
