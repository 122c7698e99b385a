// A new task: what is to be done, where, by whom, and what proves it; or a plan in
// plain words that becomes several.

import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";

import { recall, remember } from "../app/remember";
import { call } from "../daemon/call";
import { useAction, useOperation } from "../daemon/queries";
import { Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { complain, say } from "../parts/toasts";
import { rankOnTop } from "./reorder";
import { TaskForm } from "./TaskForm";
import { alternativesOf, draftOf, EMPTY, numbersOf, type TaskFields } from "./taskDraft";

interface Props {
  close: () => void;
  /** The repository that is proposed; the last one when left out. */
  repository?: string;
}

export function NewTask({ close, repository }: Props) {
  const [, navigate] = useLocation();
  const [fields, setFields] = useState<TaskFields>(() => ({
    ...EMPTY,
    repository: repository ?? recall("repository", ""),
    agent: { ...EMPTY.agent, engine: recall("engine", "") },
  }));
  const [now, setNow] = useState(false);
  const autopilot = useOperation("autopilot_show", {});
  const run = useAction("autopilot_set", () => say("The autopilot runs."));
  const add = useAction("board_add", ({ task, warnings, alternatives = [] }) => {
    remember("repository", task.repository ?? "");
    remember("engine", fields.agent.engine);
    const created = [task.number, ...alternatives].join(", ");
    const is = `${created} ${alternatives.length > 0 ? "are" : "is"} created.`;
    say(warnings?.[0] ? `${is} ${warnings[0]}` : is);
    if (now && autopilot.data?.mode !== "running") {
      run.mutate({ mode: "running", reason: `${task.number} was to start now` }, { onError: complain });
    }
    close();
    navigate(`/board/${task.number}`);
  });

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const draft = draftOf(fields);
    const after = numbersOf(fields.after);
    const top = now ? await onTop(fields.priority) : {};
    add.mutate({
      task: { ...draft, ...top },
      ...(after.length > 0 ? { depends_on: after } : {}),
      ...(fields.also.length > 0 ? { alternatives: alternativesOf(fields) } : {}),
      ...(fields.template ? { template: fields.template } : {}),
    });
  };

  return (
    <Sheet title="New task" close={close}>
      <form onSubmit={(event) => void submit(event)}>
        <TaskForm fields={fields} change={setFields} isNew />
        {add.error ? <Trouble error={add.error} /> : null}
        <div className="actions">
          <label className="tick start-now">
            <input type="checkbox" checked={now} onChange={(event) => setNow(event.target.checked)} />
            Start now
          </label>
          <button type="button" className="button plain" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={add.isPending}>
            Create
          </button>
        </div>
        {now ? <StartNow mode={autopilot.data?.mode} /> : null}
      </form>
    </Sheet>
  );
}

/** What "start now" will do beside creating it. */
function StartNow({ mode }: { mode: string | undefined }) {
  const ready = useOperation("board_ready", { limit: 200 });
  const others = ready.data?.ready_total ?? 0;
  if (mode === undefined || mode === "running") {
    return <p className="field-says">It goes to the top of the board and starts when an agent is free.</p>;
  }
  const also = others === 0 ? "" : others === 1 ? "; 1 ready task starts too" : `; ${others} ready tasks start too`;
  return (
    <p className="field-says bad">
      The autopilot is {mode}. This turns it on{also}.
    </p>
  );
}

/** The place before every other task that has not begun. */
async function onTop(own: TaskFields["priority"]) {
  const { tasks } = await call("board_list", { status: ["open"], offset: 0, limit: 1 });
  return rankOnTop(own, tasks[0]);
}
