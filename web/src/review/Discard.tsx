// What is not committed in a worktree, and throwing it away: a merge needs a clean
// tree, and what a check or a build left there is nobody's work.

import { useState } from "react";

import { useAction, useOperation } from "../daemon/queries";
import { complain } from "../parts/toasts";
import { tellDiscarded } from "./discardCommand";

const useUncommitted = (worktree: string) => useOperation("worktree_discard", { worktree, confirmed: false }, { fresh: true });

/** Whether something in the worktree is not committed. */
export function useDirty(worktree: string): boolean {
  const { data } = useUncommitted(worktree);
  return data !== undefined && data.restored.length + data.removed.length > 0;
}

export function Discard({ worktree, discarded }: { worktree: string; discarded: () => void }) {
  const [sure, setSure] = useState(false);
  const preview = useUncommitted(worktree);
  const discard = useAction("worktree_discard", (done) => {
    tellDiscarded(done);
    setSure(false);
    void preview.refetch();
    discarded();
  });
  const files = [...(preview.data?.restored ?? []), ...(preview.data?.removed ?? [])];
  if (files.length === 0) return null;
  return (
    <div className="notice uncommitted">
      <span>
        {files.length === 1 ? "One file is" : `${files.length} files are`} not committed:{" "}
        {files.slice(0, 5).map((file, index) => (
          <span key={file}>
            {index > 0 ? ", " : ""}
            <code>{file}</code>
          </span>
        ))}
        {files.length > 5 ? ` and ${files.length - 5} more` : ""}.
      </span>
      <button
        type="button"
        className="button small danger"
        disabled={discard.isPending}
        onClick={() => (sure ? discard.mutate({ worktree, confirmed: true }, { onError: complain }) : setSure(true))}
      >
        {sure ? "Yes, discard them for good" : "Discard uncommitted changes"}
      </button>
    </div>
  );
}
