// One file as two pieces of work left it, beside each other. One that did not
// change it has it as it was.

import { useMemo } from "react";

import { useOperation } from "../daemon/queries";
import type { ChangedFile } from "../generated/operations";
import { Lines } from "../parts/Loaded";
import { hunksBetween } from "./lineDiff";
import { PlainDiff } from "./PlainDiff";
import { MOST_CONTEXT, segmentsOf } from "./segments";

interface Props {
  path: string;
  first: string;
  second: string;
  inFirst: ChangedFile | undefined;
  inSecond: ChangedFile | undefined;
}

export function FileDifference({ path, first, second, inFirst, inSecond }: Props) {
  const one = useWholeFile(first, path, inFirst !== undefined);
  const two = useWholeFile(second, path, inSecond !== undefined);
  const [a, b] = [one.data?.files[0], two.data?.files[0]];
  const pending = (inFirst !== undefined && one.isPending) || (inSecond !== undefined && two.isPending);
  const segments = useMemo(() => {
    if (pending || [a, b].some((file) => file?.binary || file?.truncated)) return undefined;
    const hunks = hunksBetween(textOf(a, b), textOf(b, a));
    return segmentsOf(hunks, undefined, []);
  }, [a, b, pending]);
  return (
    <section className="diff-file panel" aria-label={`Difference in ${path}`}>
      <header className="diff-head compared">
        <h3 className="mono">{path}</h3>
        <span className="quiet">
          {inFirst && inSecond ? "changed by both" : inFirst ? "changed on the left only" : "changed on the right only"}
        </span>
      </header>
      {pending ? <Lines count={3} /> : null}
      {!pending && !segments ? <p className="diff-note quiet">It is no text, or too long to be compared line by line.</p> : null}
      <PlainDiff path={path} segments={segments} split />
    </section>
  );
}

const useWholeFile = (worktree: string, path: string, has: boolean) =>
  useOperation("worktree_diff", { worktree, files: [path], context: MOST_CONTEXT }, { enabled: has });

/** The file as this work left it, else as the other one found it. */
function textOf(own: ChangedFile | undefined, other: ChangedFile | undefined): string[] {
  const lines = (file: ChangedFile | undefined) => file?.hunks.flatMap((hunk) => hunk.lines) ?? [];
  return own
    ? lines(own).filter((line) => line.new != null).map((line) => line.text)
    : lines(other).filter((line) => line.old != null).map((line) => line.text);
}
