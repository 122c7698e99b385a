// The work of one attempt: what its checks say, what was changed, what you have to
// say about it, and merging it.

import { useState } from "react";
import { Link, useParams } from "wouter";

import { Bar } from "../app/Menu";
import { useRemembered } from "../app/remember";
import { useShortcuts } from "../app/shortcuts";
import { useOperation } from "../daemon/queries";
import { Loaded } from "../parts/Loaded";
import { Merge } from "./Merge";
import { Work } from "./Work";
import "../board/board.css";
import "./review.css";

export function ReviewPage() {
  const params = useParams<{ worktree: string }>();
  const worktree = decodeURIComponent(params.worktree ?? "");
  const changes = useOperation("worktree_diff", { worktree }, { fresh: true });
  const [merging, setMerging] = useState(false);
  const [split, setSplit] = useRemembered("review.split", false);
  const data = changes.data;
  useShortcuts({
    r: () => void changes.refetch(),
    m: () => setMerging(data !== undefined && !data.in_use),
    s: () => setSplit(!split),
  });
  return (
    <>
      <Bar
        title={
          <>
            <Link href="/review">Review</Link> <span className="quiet">/</span>{" "}
            {data?.task ? <Link href={`/board/${data.task}`}>{data.task}</Link> : <span className="mono">{worktree}</span>}
          </>
        }
        action={
          data ? (
            <button
              type="button"
              className="button primary"
              disabled={Boolean(data.in_use)}
              title={data.in_use ?? undefined}
              onClick={() => setMerging(true)}
            >
              Merge… <kbd>m</kbd>
            </button>
          ) : null
        }
      >
        <button type="button" className="button" aria-pressed={split} onClick={() => setSplit(!split)}>
          Side by side <kbd>s</kbd>
        </button>
        <button type="button" className="button" disabled={changes.isFetching} onClick={() => void changes.refetch()}>
          Refresh <kbd>r</kbd>
        </button>
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={changes} lines={14}>
          {(changed) => <Work worktree={worktree} changes={changed} readAt={changes.dataUpdatedAt} split={split} />}
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
