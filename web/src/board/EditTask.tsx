import type { FormEvent } from "react";

import { useAction } from "../daemon/queries";
import type { BoardTask, Priority, TaskDraft } from "../generated/operations";
import { Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { say } from "../parts/toasts";

export function EditTask({ task, close }: { task: BoardTask; close: () => void }) {
  const edit = useAction("board_edit", () => {
    say(`${task.number} is changed.`);
    close();
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const labels = text("labels").split(",").map((label) => label.trim()).filter(Boolean);
    const set: TaskDraft = {};
    if (text("title") !== task.title) set.title = text("title");
    if (text("description") !== task.description) set.description = text("description");
    if (text("priority") !== task.priority) set.priority = text("priority") as Priority;
    if (labels.join() !== task.labels.join()) set.labels = labels;
    const attempts = Number(text("attempts"));
    if (attempts !== task.max_attempts) set.max_attempts = attempts;
    const depend = text("after").split(/[\s,]+/).filter(Boolean);
    edit.mutate({ task: task.number, set, ...(depend.length > 0 ? { depend } : {}) });
  };
  return (
    <Sheet title={`Change ${task.number}`} close={close}>
      <form onSubmit={submit}>
        <label>
          What is to be done, in one line
          <input className="field" name="title" required maxLength={500} defaultValue={task.title} autoFocus />
        </label>
        <label>
          All an agent needs to know
          <textarea className="field" name="description" rows={7} defaultValue={task.description} />
        </label>
        <div className="pair">
          <label>
            Priority
            <select className="field" name="priority" defaultValue={task.priority}>
              <option>urgent</option>
              <option>high</option>
              <option>normal</option>
              <option>low</option>
            </select>
          </label>
          <label>
            Tries at most
            <input className="field" name="attempts" type="number" min={1} max={100} defaultValue={task.max_attempts} />
          </label>
        </div>
        <div className="pair">
          <label>
            Labels, with commas between
            <input className="field" name="labels" defaultValue={task.labels.join(", ")} />
          </label>
          <label>
            Also after these tasks
            <input className="field mono" name="after" placeholder="T-1 T-2" />
          </label>
        </div>
        {edit.error ? <Trouble error={edit.error} /> : null}
        <div className="actions">
          <button type="button" className="button plain" onClick={close}>
            Leave it
          </button>
          <button type="submit" className="button primary" disabled={edit.isPending}>
            Change it
          </button>
        </div>
      </form>
    </Sheet>
  );
}
