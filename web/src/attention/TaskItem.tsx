// A task nobody goes on with: why, what its checks said, and what can be done.

import { Link, useLocation } from "wouter";

import { useShortcuts } from "../app/shortcuts";
import { useAction, useOperation } from "../daemon/queries";
import type { TaskSummary } from "../generated/operations";
import { complain, say } from "../parts/toasts";
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
  const details = useOperation("board_show", { task: task.number });
  const retry = useAction("board_retry", () => say(`${task.number} is open again.`));
  const cancel = useAction("board_cancel", () => say(`${task.number} is given up.`, "rest"));
  const tryAgain = () => retry.mutate({ task: task.number }, { onError: complain });
  const failed = (details.data?.evidence ?? []).filter((evidence) => !evidence.passed);
  const claim = details.data?.attempts.at(-1)?.claim;
  useShortcuts({ r: tryAgain, Enter: () => navigate(`/board/${task.number}`) });
  return (
    <>
      {task.blocked ? <p>{task.blocked}</p> : null}
      {claim ? (
        <p className="quiet">
          Its agent claimed <em>{claim.kind}</em>: {claim.text}
        </p>
      ) : null}
      {failed.map((evidence) => (
        <figure key={`${evidence.round}-${evidence.check}`}>
          <figcaption className="quiet">
            <code>{evidence.check}</code>{" "}
            {evidence.timed_out ? "took too long" : `ended with ${evidence.exit ?? `signal ${evidence.signal}`}`}, round{" "}
            {evidence.round}
          </figcaption>
          <pre className="output" tabIndex={0} role="region" aria-label={`Output of ${evidence.check}`}>
            {evidence.tail || "It wrote nothing."}
          </pre>
        </figure>
      ))}
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
