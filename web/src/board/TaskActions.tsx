// What can be done with a task as a whole.

import { useState } from "react";

import { useAction } from "../daemon/queries";
import type { BoardTask } from "../generated/operations";
import { complain, say } from "../parts/toasts";
import { canBeTriedToo, TryWith } from "./TryWith";

export function TaskActions({ task, edit }: { task: BoardTask; edit: () => void }) {
  const retry = useAction("board_retry", () => say(`${task.number} is open again.`));
  const cancel = useAction("board_cancel", () => say(`${task.number} is cancelled.`, "rest"));
  const [trying, setTrying] = useState(false);
  const over = task.status === "done" || task.status === "failed";
  return (
    <>
      {task.status === "blocked" || task.status === "failed" ? (
        <button
          type="button"
          className="button primary"
          disabled={retry.isPending}
          onClick={() => retry.mutate({ task: task.number }, { onError: complain })}
        >
          Retry
        </button>
      ) : null}
      {task.status === "blocked" || task.status === "failed" || task.status === "review" ? (
        <button
          type="button"
          className="button"
          disabled={retry.isPending}
          title="A new worktree and a new conversation; what was done so far stays on its branch"
          onClick={() => retry.mutate({ task: task.number, fresh: true }, { onError: complain })}
        >
          Retry from scratch
        </button>
      ) : null}
      {canBeTriedToo(task) ? (
        <button type="button" className="button" onClick={() => setTrying(true)}>
          Try another agent
        </button>
      ) : null}
      {over ? null : (
        <button type="button" className="button" onClick={edit}>
          Edit <kbd>e</kbd>
        </button>
      )}
      {over ? null : (
        <button
          type="button"
          className="button plain danger"
          disabled={cancel.isPending}
          onClick={() => {
            const sure =
              task.status !== "running" || window.confirm(`An agent works on ${task.number}. Cancelling ends the agent.`);
            if (sure) cancel.mutate({ task: task.number, reason: "cancelled on the board" }, { onError: complain });
          }}
        >
          Cancel task
        </button>
      )}
      {trying ? <TryWith task={task} close={() => setTrying(false)} /> : null}
    </>
  );
}
