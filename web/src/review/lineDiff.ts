// The difference between two texts, line by line, in the form the daemon gives
// differences in: for two versions of a file that are in no commit of each other.

import type { ChangedHunk, ChangedLine } from "../generated/operations";
import { CONTEXT } from "./segments";

/** Beyond so many differences, what is left counts as replaced. */
const MOST_EDITS = 1000;

/** The shortest way from one list to the other (Myers), as pairs of equal lines. */
function equalLines(a: string[], b: string[]): [number, number][] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1];
  const pairs: [number, number][] = Array.from({ length: start }, (_, line) => [line, line]);
  for (const [x, y] of middle(a.slice(start, endA), b.slice(start, endB))) pairs.push([x + start, y + start]);
  for (let line = 0; endA + line < a.length; line++) pairs.push([endA + line, endB + line]);
  return pairs;
}

function middle(a: string[], b: string[]): [number, number][] {
  const trace: Map<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(a.length + b.length, MOST_EDITS); edits++) {
    const next = new Map(reached);
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));
      let x = down ? (reached.get(k + 1) ?? 0) : (reached.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return walked([...trace, reached], a.length, b.length, edits);
    }
    trace.push(reached);
    reached = next;
  }
  return [];
}

/** Back along the way that was found. */
function walked(trace: Map<number, number>[], x: number, y: number, edits: number): [number, number][] {
  const pairs: [number, number][] = [];
  for (; edits >= 0; edits--) {
    const reached = trace[edits] ?? new Map<number, number>();
    const k = x - y;
    const down = k === -edits || (k !== edits && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));
    const before = down ? k + 1 : k - 1;
    const [fromX, fromY] = edits === 0 ? [0, 0] : [reached.get(before) ?? 0, (reached.get(before) ?? 0) - before];
    while (x > fromX && y > fromY) pairs.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  return pairs.reverse();
}

/** The hunks between two texts, with the usual lines around each change. */
export function hunksBetween(a: string[], b: string[]): ChangedHunk[] {
  const lines: ChangedLine[] = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...equalLines(a, b), [a.length, b.length] as const]) {
    while (x < nextX) lines.push({ old: ++x, text: a[x - 1] ?? "" });
    while (y < nextY) lines.push({ new: ++y, text: b[y - 1] ?? "" });
    if (x < a.length && y < b.length) lines.push({ old: ++x, new: ++y, text: a[x - 1] ?? "" });
  }
  const changed = lines.flatMap((line, index) => (line.old == null || line.new == null ? [index] : []));
  const hunks: ChangedHunk[] = [];
  let end = -1;
  for (const index of changed) {
    const from = Math.max(0, index - CONTEXT);
    const to = Math.min(lines.length, index + CONTEXT + 1);
    if (from <= end && hunks.length > 0) hunks.at(-1)?.lines.push(...lines.slice(end, to));
    else hunks.push({ old_start: 0, old_lines: 0, new_start: 0, new_lines: 0, lines: lines.slice(from, to) });
    end = to;
  }
  return hunks.map((hunk) => ({
    ...hunk,
    old_start: hunk.lines.find((line) => line.old != null)?.old ?? 0,
    new_start: hunk.lines.find((line) => line.new != null)?.new ?? 0,
    old_lines: hunk.lines.filter((line) => line.old != null).length,
    new_lines: hunk.lines.filter((line) => line.new != null).length,
  }));
}
