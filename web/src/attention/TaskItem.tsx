// A task nobody goes on with: why, what its checks said, and what can be done.

import { Link, useLocation } from "wouter";

import { useShortcuts } from "../app/shortcuts";
import { useAction } from "../daemon/queries";
import type { TaskSummary } from "../generated/operations";
import { complain, say } from "../parts/toasts";
import { Findings } from "./Findings";
import { Item } from "./Item";

interface Props {
  task: TaskSummary;
  selected: boolean;
  select: () => void;
}

export function TaskItem({ task, selected, select }: Props) {
  return (
    <Item
      id={task.number}
      tone={task.status === "failed" ? "bad" : "wait"}
      what={task.status}
      number={task.number}
      title={task.title}
      at={task.updated_at}
      selected={selected}
      select={select}
    >
      <Dealing task={task} />
    </Item>
  );
}

function Dealing({ task }: { task: TaskSummary }) {
  const [, navigate] = useLocation();
  const retry = useAction("board_retry", () => say(`${task.number} is open again.`));
  const cancel = useAction("board_cancel", () => say(`${task.number} is given up.`, "rest"));
  const tryAgain = () => retry.mutate({ task: task.number }, { onError: complain });
  useShortcuts({ r: tryAgain, Enter: () => navigate(`/board/${task.number}`) });
  return (
    <>
      {task.blocked ? <p>{task.blocked}</p> : null}
      <Findings task={task.number} />
      <p className="item-foot">
        <button type="button" className="button" disabled={retry.isPending} onClick={tryAgain}>
          Try again <kbd>r</kbd>
        </button>
        <Link href={`/board/${task.number}`} className="button">
          Open the task <kbd>Enter</kbd>
        </Link>
        {task.status === "blocked" ? (
          <button
            type="button"
            className="button plain danger spread"
            disabled={cancel.isPending}
            onClick={() => cancel.mutate({ task: task.number, reason: "given up on the board" }, { onError: complain })}
          >
            Give up
          </button>
        ) : null}
      </p>
    </>
  );
}
