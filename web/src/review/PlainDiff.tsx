// The lines of one file to look at only: nothing can be opened or commented on.

import { useMemo } from "react";

import { DiffPiece, type Noting, piecesOf } from "./DiffLines";
import type { Segment } from "./segments";
import { useColours } from "./useColours";
import "./review.css";

interface Props {
  path: string;
  segments: Segment[] | undefined;
  split?: boolean;
}

const NOTHING: Noting = {
  comments: [],
  here: undefined,
  writing: undefined,
  begin: undefined,
  cancel: () => {},
  save: () => {},
  remove: () => {},
};

export function PlainDiff({ path, segments, split = false }: Props) {
  const pieces = useMemo(() => segments?.map((segment) => piecesOf(segment, split)), [segments, split]);
  const colours = useColours(path, segments);
  return (
    <div className={split ? "diff split" : "diff"}>
      {pieces?.map((parts, index) => [
        index > 0 ? <p key={`gap-${index}`} className="hunk" /> : null,
        ...parts.map((piece) => (
          <DiffPiece key={`${index}-${piece.key}`} file={path} piece={piece} colours={colours} drawn {...NOTHING} />
        )),
      ])}
    </div>
  );
}
