// One more agent for a task that is on the board.

import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";

import { useAction } from "../daemon/queries";
import type { BoardTask } from "../generated/operations";
import { Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { say } from "../parts/toasts";
import { type ControlChoice, ControlField, ControlSays } from "../start/ControlField";
import { EngineField, ModelField } from "../start/EngineFields";
import { REHEARSAL } from "../start/engines";

export function TryWith({ task, close }: { task: BoardTask; close: () => void }) {
  const [engine, setEngine] = useState("");
  const [model, setModel] = useState("");
  const [control, setControl] = useState<ControlChoice>("");
  const [, navigate] = useLocation();
  const add = useAction("board_alternative", (added) => {
    say(`${added.task.number} tries the same as ${task.number}.`);
    close();
    navigate(`/board/${added.task.number}`);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate({
      task: task.number,
      engine,
      ...(model.trim() ? { model: model.trim() } : {}),
      ...(control ? { control } : {}),
    });
  };
  return (
    <Sheet title={`Try ${task.number} with another agent`} close={close}>
      <form onSubmit={submit}>
        <div className="pair">
          <EngineField
            label="Agent"
            value={engine}
            scripted={task.engine === REHEARSAL}
            change={(engine) => {
              setEngine(engine);
              setModel("");
              setControl("");
            }}
          />
          <ModelField value={model} change={setModel} />
          <ControlField engine={engine} value={control} change={setControl} />
        </div>
        <ControlSays engine={engine} value={control} />
        <p className="field-says">It gets a card and a worktree of its own. Nothing is merged until you keep one of them.</p>
        {add.error ? <Trouble error={add.error} /> : null}
        <div className="actions">
          <button type="button" className="button plain" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={add.isPending}>
            Create
          </button>
        </div>
      </form>
    </Sheet>
  );
}
