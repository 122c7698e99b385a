// What can be done with a task in the state it is in.

import { go } from "../app/address";
import type { BoardTask, BoardTaskStatus } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";
import { discardCommand } from "../review/discardCommand";

/** As much of a task as decides what can be done with it. */
export interface TaskFacts {
  number: string;
  title: string;
  status: BoardTaskStatus;
  isolation?: BoardTask["isolation"];
  /** An attempt has left something that can be looked at. */
  hasWork?: boolean;
}

/** What a task's own page has buttons for. */
export function taskCommands(task: TaskFacts): Command[] {
  const { number, status } = task;
  const isOver = status === "done" || status === "failed";
  const commands: Command[] = [];
  if (status === "blocked" || status === "failed") commands.push(retryTask(task));
  if (status === "blocked" || status === "failed" || status === "review") {
    commands.push({
      label: "Retry from scratch",
      name: `Retry ${number} from scratch`,
      hint: "A new worktree and a new conversation; what was done so far stays on its branch",
      run: () => retry(number, true),
    });
  }
  if (canBeTriedToo(task)) {
    commands.push({
      label: "Try another agent",
      name: `Try ${number} with another agent`,
      also: "engine alternative",
      run: () => go(`/board/${number}?try`),
    });
  }
  if (!isOver) {
    commands.push(
      { label: "Edit", name: `Edit ${number}`, also: "change priority labels", key: "e", run: () => go(`/board/${number}?edit`) },
      cancelTask(task),
    );
  }
  return commands.map((command) => ({ ...command, about: task.title }));
}

/** What its page has in other places: a form, a link, another page. */
export function moreTaskCommands({ number, title, status, hasWork }: TaskFacts): Command[] {
  const commands: Command[] = [
    ...(status === "review" ? mergeCommands(number, number) : []),
    ...(status === "review" || hasWork
      ? [{ label: "Review", name: `Review ${number}`, also: "diff changes", run: () => go(`/review/${number}`) }]
      : []),
    ...(hasWork && status !== "running" && status !== "done" ? [discardCommand(number, number)] : []),
    {
      label: "Add",
      name: `Note on ${number}`,
      also: "write comment",
      takesWords: true,
      run: (text) => perform("board_note", { task: number, text, author: "person" }, () => say(`The note is on ${number}.`)),
    },
  ];
  return commands.map((command) => ({ ...command, about: title }));
}

/** Merging is asked about once more by its dialog, which says what it would do. */
export function mergeCommands(worktree: string, name: string): Command[] {
  const address = `/review/${encodeURIComponent(worktree)}`;
  return [
    {
      label: "Merge…",
      name: `Merge ${name}`,
      also: "approve accept squash rebase finish branch patch",
      key: "m",
      run: () => go(`${address}?merge`),
    },
    {
      label: "Open a pull request…",
      name: `Open a pull request for ${name}`,
      also: "pr github",
      run: () => go(`${address}?merge=pull_request`),
    },
  ];
}

export const retryTask = ({ number }: Pick<TaskFacts, "number">): Command => ({
  label: "Retry",
  name: `Retry ${number}`,
  also: "try again",
  look: "primary",
  run: () => retry(number, false),
});

const retry = (task: string, fresh: boolean) =>
  perform("board_retry", { task, ...(fresh ? { fresh } : {}) }, () => say(`${task} is open again.`));

export const cancelTask = ({ number, status }: Pick<TaskFacts, "number" | "status">): Command => ({
  label: "Cancel task",
  name: `Cancel ${number}`,
  also: "give up stop",
  look: "danger",
  confirm: status === "running" ? `An agent works on ${number}. Cancelling ends the agent.` : undefined,
  run: () => perform("board_cancel", { task: number, reason: "cancelled in the page" }, () => say(`${number} is cancelled.`, "rest")),
});

/** Whether another agent may try it beside whoever does. */
const canBeTriedToo = ({ status, isolation }: TaskFacts): boolean =>
  isolation === "worktree" && (status === "open" || status === "blocked" || status === "review");
