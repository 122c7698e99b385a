// Bringing the work back: first what it would do, then doing it.

import { useState } from "react";

import { useAction, useOperation } from "../daemon/queries";
import type { Finish, FinishResult, WorktreeFinished } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { complain, say } from "../parts/toasts";

const WAYS: Record<Finish, string> = {
  merge: "Merge",
  rebase: "Rebase",
  branch: "Leave it on its branch",
  patch: "Write a patch",
};

export function Merge({ worktree, close }: { worktree: string; close: () => void }) {
  const [how, setHow] = useState<Finish>();
  const params = { worktree, ...(how ? { how } : {}) };
  // Whatever was known before may not be so any more.
  const preview = useOperation("worktree_finish", { ...params, confirmed: false }, { placeholder: "keep", fresh: true });
  const finish = useAction("worktree_finish", (done) => {
    say(became(done));
    close();
  });
  return (
    <Sheet title="Bring the work back" close={close}>
      <label className="merge-how">
        <span>How</span>
        <select
          className="field"
          value={how ?? preview.data?.how ?? "merge"}
          onChange={(event) => setHow(event.target.value as Finish)}
        >
          {Object.entries(WAYS).map(([way, name]) => (
            <option key={way} value={way}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <Loaded of={preview} lines={3}>
        {(foreseen) => (
          <>
            <Foreseen foreseen={foreseen} />
            <div className="merge-buttons">
              <button
                type="button"
                className="button primary"
                disabled={finish.isPending || preview.isFetching || preview.isError || !brings(foreseen.result)}
                onClick={() => finish.mutate({ ...params, confirmed: true }, { onError: complain })}
              >
                {WAYS[foreseen.how]}
              </button>
              <button type="button" className="button" onClick={close}>
                Not now
              </button>
            </div>
          </>
        )}
      </Loaded>
    </Sheet>
  );
}

function Foreseen({ foreseen }: { foreseen: WorktreeFinished }) {
  const { result, into, worktree } = foreseen;
  return (
    <dl className="facts">
      <dt>From</dt>
      <dd className="mono">{worktree.branch}</dd>
      <dt>Into</dt>
      <dd className="mono">{into}</dd>
      <dt>It would</dt>
      <dd>{would(result)}</dd>
      {foreseen.completes ? (
        <>
          <dt>With that</dt>
          <dd>{foreseen.completes} is done</dd>
        </>
      ) : null}
    </dl>
  );
}

const brings = (result: FinishResult): boolean => result.kind === "would_bring" || result.kind === "already_there";

function would(result: FinishResult): string {
  switch (result.kind) {
    case "would_bring":
      return `bring ${result.commits} ${result.commits === 1 ? "commit" : "commits"}, without a conflict`;
    case "already_there":
      return "change nothing: the work is there already";
    case "nothing_to_bring":
      return "change nothing: nothing was committed";
    default:
      return result.kind.replaceAll("_", " ");
  }
}

function became({ result, into }: WorktreeFinished): string {
  switch (result.kind) {
    case "merged":
      return `${into} has the work at ${result.commit.slice(0, 8)}.`;
    case "branch":
      return `The work is on ${result.name}.`;
    case "patch":
      return `The work is in ${result.path}.`;
    default:
      return `${into} has the work.`;
  }
}
