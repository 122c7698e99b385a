// The colours of the lines of a difference, by their numbers on either side.

import { useMemo } from "react";

import type { ChangedLine } from "../generated/operations";
import { languageOf } from "../highlight/languages";
import { useHighlighted } from "../highlight/useHighlighted";
import type { Segment } from "./segments";

/** The runs of a line, by its number on its side. */
export interface Colours {
  old: Map<number, number[]>;
  new: Map<number, number[]>;
}

const before = (lines: ChangedLine[]) => lines.filter((line) => line.old != null);
const after = (lines: ChangedLine[]) => lines.filter((line) => line.new != null);
const text = (lines: ChangedLine[]) => lines.map((line) => line.text).join("\n");

/** Both sides of each part are read as text of their own: neither has the other's lines in it. */
export function useColours(path: string, segments: Segment[] | undefined): Colours | undefined {
  const source = segments && segments.length > 0 ? segments : undefined;
  const found = useHighlighted(languageOf(path), source, () =>
    (source ?? []).flatMap(({ lines }) => [text(before(lines)), text(after(lines))]),
  );
  return useMemo(() => {
    if (!found || !source) return undefined;
    const colours: Colours = { old: new Map(), new: new Map() };
    source.forEach(({ lines }, index) => {
      before(lines).forEach((line, at) => colours.old.set(line.old ?? 0, found[2 * index]?.[at] ?? []));
      after(lines).forEach((line, at) => colours.new.set(line.new ?? 0, found[2 * index + 1]?.[at] ?? []));
    });
    return colours;
  }, [found, source]);
}
