// What can be done to several tasks at once. Each is asked for alone, and what
// could not be done is said by its number.

import { useState } from "react";

import { call } from "../daemon/call";
import { queries } from "../daemon/queries";
import type { Priority, TaskSummary } from "../generated/operations";
import { say } from "../parts/toasts";

export function Bulk({ tasks, clear }: { tasks: TaskSummary[]; clear: () => void }) {
  const [busy, setBusy] = useState(false);
  const [label, setLabel] = useState("");
  const retried = tasks.filter((task) => task.status === "blocked" || task.status === "failed");
  const open = tasks.filter((task) => task.status !== "done" && task.status !== "failed");

  const each = async (done: string, some: TaskSummary[], act: (task: TaskSummary) => Promise<unknown>) => {
    setBusy(true);
    const failed: string[] = [];
    for (const task of some) {
      await act(task).catch((error: Error) => failed.push(`${task.number}: ${error.message}`));
    }
    await queries.invalidateQueries({ queryKey: ["board_list"] });
    await queries.invalidateQueries({ queryKey: ["board_ready"] });
    setBusy(false);
    const count = some.length - failed.length;
    if (count > 0) say(`${count === 1 ? "1 task is" : `${count} tasks are`} ${done}.`);
    for (const reason of failed) say(reason, "bad");
  };
  const edit = (done: string, set: (task: TaskSummary) => object) =>
    each(done, open, (task) => call("board_edit", { task: task.number, set: set(task) }));

  return (
    <div className="bulk" role="toolbar" aria-label="Selected tasks">
      <span aria-live="polite">{tasks.length === 1 ? "1 selected" : `${tasks.length} selected`}</span>
      <select
        className="field"
        aria-label="Set the priority"
        value=""
        disabled={busy || open.length === 0}
        onChange={(event) => {
          const priority = event.target.value as Priority;
          void edit(`${priority} now`, () => ({ priority }));
        }}
      >
        <option value="">Priority…</option>
        <option value="urgent">Urgent</option>
        <option value="high">High</option>
        <option value="normal">Normal</option>
        <option value="low">Low</option>
      </select>
      <form
        className="bulk-label"
        onSubmit={(event) => {
          event.preventDefault();
          const added = label.trim();
          if (!added) return;
          setLabel("");
          void edit(`labelled ${added}`, (task) => ({ labels: [...new Set([...(task.labels ?? []), added])] }));
        }}
      >
        <input
          className="field"
          aria-label="Add a label"
          placeholder="Add a label"
          value={label}
          disabled={busy || open.length === 0}
          onChange={(event) => setLabel(event.target.value)}
        />
      </form>
      <button
        type="button"
        className="button"
        disabled={busy || retried.length === 0}
        onClick={() => void each("open again", retried, (task) => call("board_retry", { task: task.number }))}
      >
        Retry
      </button>
      <button
        type="button"
        className="button danger"
        disabled={busy || open.length === 0}
        onClick={() => {
          const works = open.filter((task) => task.status === "running").length;
          const ends = works === 0 ? "" : works === 1 ? " One agent is ended." : ` ${works} agents are ended.`;
          if (!window.confirm(`Cancel ${open.length === 1 ? "1 task" : `${open.length} tasks`}?${ends}`)) return;
          void each("cancelled", open, (task) =>
            call("board_cancel", { task: task.number, reason: "cancelled on the board" }),
          );
        }}
      >
        Cancel tasks
      </button>
      <button type="button" className="button plain" onClick={clear} disabled={tasks.length === 0}>
        Clear
      </button>
    </div>
  );
}
