// The work of one attempt: what its checks say, what was changed, what you have to
// say about it, and merging it.

import { Link, useParams, useSearchParams } from "wouter";

import { Bar } from "../app/Menu";
import { useRemembered } from "../app/remember";
import { useIsPhone } from "../app/phone";
import { useShortcuts } from "../app/shortcuts";
import { useOperation } from "../daemon/queries";
import type { Finish } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { canBeMerged } from "./canBeMerged";
import { Compare } from "./Compare";
import { CompareWith } from "./CompareWith";
import { keepsOver, Merge } from "./Merge";
import { roundsOf } from "./Verdict";
import { Work } from "./Work";
import "../board/board.css";
import "./review.css";

export function ReviewPage() {
  const params = useParams<{ worktree: string }>();
  const [search] = useSearchParams();
  const worktree = decodeURIComponent(params.worktree ?? "");
  const other = search.get("with");
  return other ? <Compare first={worktree} second={other} /> : <Page worktree={worktree} />;
}

function Page({ worktree }: { worktree: string }) {
  const changes = useOperation("worktree_diff", { worktree }, { fresh: true });
  const [search, setSearch] = useSearchParams();
  const setMerging = (is: boolean) => setSearch(is ? { merge: "" } : {}, { replace: true });
  const [wanted, setSplit] = useRemembered("review.split", false);
  // Where two columns of source can be read beside each other.
  const wide = !useIsPhone();
  const split = wanted && wide;
  const data = changes.data;
  const task = useOperation("board_show", { task: data?.task ?? "" }, { enabled: Boolean(data?.task) });
  // The board tells the evidence of the last attempt only.
  const isLast = data !== undefined && task.data?.attempts.at(-1)?.number === data.attempt;
  const last = isLast ? roundsOf(task.data?.evidence ?? [])[0] : undefined;
  const red = last !== undefined && last.failed.length > 0;
  const mergeable = canBeMerged(data, task.data?.task.status);
  const merging = mergeable && search.has("merge");
  // Whoever takes one of several gives the others up.
  const rivals = (task.data?.alternatives ?? []).filter(
    (each) => each.number !== data?.task && each.status !== "done" && each.status !== "failed",
  );
  const keeps = keepsOver(rivals.map((each) => each.number));
  useShortcuts({
    r: () => void changes.refetch(),
    m: () => mergeable && setMerging(true),
    s: () => setSplit(!wanted),
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
          data && (mergeable || data.in_use) ? (
            <button
              type="button"
              className={red ? "button danger" : "button primary"}
              disabled={Boolean(data.in_use)}
              title={data.in_use ?? keeps}
              onClick={() => setMerging(true)}
            >
              Merge… <kbd>m</kbd>
            </button>
          ) : null
        }
      >
        {data ? <CompareWith changes={data} task={task.data} /> : null}
        {wide ? (
          <button type="button" className="button" aria-pressed={split} onClick={() => setSplit(!split)}>
            Side by side <kbd>s</kbd>
          </button>
        ) : null}
        <button type="button" className="button" disabled={changes.isFetching} onClick={() => void changes.refetch()}>
          Refresh <kbd>r</kbd>
        </button>
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={changes} lines={14}>
          {(changed) => (
            <Work
              worktree={worktree}
              changes={changed}
              readAt={changes.dataUpdatedAt}
              split={split}
              refresh={() => void changes.refetch()}
            />
          )}
        </Loaded>
      </div>
      {merging ? (
        <Merge
          worktree={worktree}
          first={(search.get("merge") || undefined) as Finish | undefined}
          close={() => {
            setMerging(false);
            void changes.refetch();
          }}
        />
      ) : null}
    </>
  );
}
