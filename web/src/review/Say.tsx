// What you have to say about the work: a remark and the comments, sent together.
// Where no agent runs that could take it, it goes onto the task instead.

import { useAction } from "../daemon/queries";
import type { BoardTaskStatus, ExecutionDetails, WorktreeChanges } from "../generated/operations";
import { complain, say } from "../parts/toasts";
import { asSent, type Draft, isEmpty, worded } from "./draft";

interface Props {
  draft: Draft;
  change: (next: (before: Draft) => Draft) => void;
  clear: () => void;
  remove: (id: number) => void;
  changes: WorktreeChanges;
  status: BoardTaskStatus | undefined;
  run: ExecutionDetails | undefined;
}

export function Say({ draft, change, clear, remove, changes, status, run }: Props) {
  const running = run !== undefined && !run.ended_at;
  return (
    <section className="section review-say">
      <h2>
        Your review{" "}
        {draft.comments.length > 0 ? <span className="quiet">{draft.comments.length === 1 ? "one comment" : `${draft.comments.length} comments`}</span> : null}
      </h2>
      <ul className="draft" hidden={draft.comments.length === 0}>
        {draft.comments.map((comment) => (
          <li key={comment.id}>
            <span className="mono quiet one-line" title={comment.file}>
              {comment.file.split("/").at(-1)}:{comment.line}
            </span>
            <span className="one-line">{comment.text}</span>
            <button
              type="button"
              className="button plain small"
              aria-label={`Remove the comment on ${comment.file} line ${comment.line} from the review`}
              onClick={() => remove(comment.id)}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      <textarea
        className="field"
        rows={4}
        aria-label="Overall comment"
        placeholder="Overall comment…"
        value={draft.remark}
        onChange={(event) => change((before) => ({ ...before, remark: event.target.value }))}
      />
      {running ? (
        <ToAgent draft={draft} clear={clear} changes={changes} run={run} />
      ) : (
        <ToTask draft={draft} clear={clear} changes={changes} status={status} />
      )}
      <p className="quiet review-keys">
        <kbd>j</kbd> <kbd>k</kbd> line, <kbd>n</kbd> <kbd>p</kbd> file, <kbd>c</kbd> comment, <kbd>v</kbd> viewed,{" "}
        <kbd>x</kbd> collapse, <kbd>s</kbd> side by side
      </p>
    </section>
  );
}

function ToAgent({
  draft,
  clear,
  changes,
  run,
}: Pick<Props, "draft" | "clear" | "changes"> & { run: ExecutionDetails }) {
  const send = useAction("review_send", () => {
    clear();
    say("The review is on its way: the agent is given it when it waits for something.");
  });
  return (
    <button
      type="button"
      className="button primary"
      disabled={send.isPending || isEmpty(draft)}
      onClick={() =>
        send.mutate(
          {
            to: run.execution,
            key: `review/${draft.key}`,
            commit: changes.head_commit.slice(0, 12),
            comments: draft.comments.map(asSent),
            ...(draft.remark.trim() ? { remark: draft.remark.trim() } : {}),
          },
          { onError: complain },
        )
      }
    >
      Send to agent
    </button>
  );
}

/** A task that waits for a person is tried again with what the note says. */
function ToTask({ draft, clear, changes, status }: Pick<Props, "draft" | "clear" | "changes" | "status">) {
  const task = changes.task;
  const again = status === "blocked" || status === "failed" || status === "review";
  const retry = useAction("board_retry", () => say(`${task} is sent back, with your review.`));
  const note = useAction("board_note", () => {
    clear();
    if (again && task) retry.mutate({ task }, { onError: complain });
    else say("The review is a note on the task.");
  });
  if (!task) return <p className="quiet">This work belongs to no task, so there is nobody to send a review to.</p>;
  return (
    <>
      <button
        type="button"
        className="button primary"
        disabled={note.isPending || retry.isPending || isEmpty(draft)}
        onClick={() => note.mutate({ task, text: worded(draft) }, { onError: complain })}
      >
        {again ? "Send back with comments" : "Add as a note"}
      </button>
      <p className="quiet">
        {again
          ? "Its agent has ended: the next attempt begins with your review."
          : "Its agent has ended, so the review becomes a note on the task."}
      </p>
    </>
  );
}
