// A new task: what is to be done, where, and what proves it.

import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";

import { recall, remember } from "../app/remember";
import { useAction } from "../daemon/queries";
import type { Priority, TaskDraft } from "../generated/operations";
import { Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { say } from "../parts/toasts";

export function NewTask({ close }: { close: () => void }) {
  const [, navigate] = useLocation();
  const [repository, setRepository] = useState(() => recall("repository", ""));
  const add = useAction("board_add", ({ task, warnings }) => {
    remember("repository", repository);
    say(warnings?.[0] ? `${task.number} is on the board. ${warnings[0]}` : `${task.number} is on the board.`);
    close();
    navigate(`/board/${task.number}`);
  });

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const checks = text("checks").split("\n").map(words).filter((run) => run.length > 0);
    const draft: TaskDraft = {
      title: text("title"),
      ...(text("description") ? { description: text("description") } : {}),
      priority: text("priority") as Priority,
      ...(repository.trim() ? { repository: repository.trim() } : { isolation: "none" as const }),
      ...(checks.length > 0 ? { checks: checks.map((run) => ({ run })) } : {}),
    };
    const after = text("after").split(/[\s,]+/).filter(Boolean);
    add.mutate({ task: draft, ...(after.length > 0 ? { depends_on: after } : {}) });
  };

  return (
    <Sheet title="New task" close={close}>
      <form onSubmit={submit}>
        <label>
          What is to be done, in one line
          <input className="field" name="title" required maxLength={500} autoFocus />
        </label>
        <label>
          All an agent needs to know
          <textarea className="field" name="description" rows={5} />
        </label>
        <label>
          Repository to work in, its whole path; none when left empty
          <input
            className="field mono"
            value={repository}
            placeholder="/home/you/project"
            onChange={(event) => setRepository(event.target.value)}
          />
        </label>
        <label>
          Checks that prove it done, one command a line
          <textarea className="field mono" name="checks" rows={2} placeholder="cargo test" />
        </label>
        <div className="pair">
          <label>
            Priority
            <select className="field" name="priority" defaultValue="normal">
              <option>urgent</option>
              <option>high</option>
              <option>normal</option>
              <option>low</option>
            </select>
          </label>
          <label>
            After these tasks
            <input className="field mono" name="after" placeholder="T-1 T-2" />
          </label>
        </div>
        {add.error ? <Trouble error={add.error} /> : null}
        <div className="actions">
          <button type="button" className="button plain" onClick={close}>
            Leave it
          </button>
          <button type="submit" className="button primary" disabled={add.isPending}>
            Put it on the board
          </button>
        </div>
      </form>
    </Sheet>
  );
}

/** A line as a program and its arguments; quotes hold words together. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((found) => found[1] ?? found[2] ?? found[3] ?? "");
}
