import { type FormEvent, useState } from "react";

import { useAction } from "../daemon/queries";
import type { BoardTask } from "../generated/operations";
import { Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { say } from "../parts/toasts";
import { TaskForm } from "./TaskForm";
import { changesOf, fieldsOf } from "./taskDraft";

interface Props {
  task: BoardTask;
  /** The tasks it comes after now. */
  after: string[];
  close: () => void;
}

export function EditTask({ task, after, close }: Props) {
  // As it was when the form was opened: what others change meanwhile is left alone.
  const [opened] = useState({ task, after });
  const [fields, setFields] = useState(() => fieldsOf(task, after));
  const edit = useAction("board_edit", () => {
    say(`${task.number} is changed.`);
    close();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    edit.mutate(changesOf(opened.task, opened.after, fields));
  };
  return (
    <Sheet title={`Edit ${task.number}`} close={close}>
      <form onSubmit={submit}>
        <TaskForm fields={fields} change={setFields} isNew={false} />
        {edit.error ? <Trouble error={edit.error} /> : null}
        <div className="actions">
          <button type="button" className="button plain" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={edit.isPending}>
            Save
          </button>
        </div>
      </form>
    </Sheet>
  );
}
