// A plan in plain words becomes tasks: read by the daemon, edited here, and put
// on the board all together or not at all.

import { type FormEvent, useState } from "react";

import { recall, remember } from "../app/remember";
import { useAction } from "../daemon/queries";
import type { RepositorySummary, Step } from "../generated/operations";
import { Trouble } from "../parts/Loaded";
import { Prose } from "../parts/Prose";
import { Sheet } from "../parts/Sheet";
import { say } from "../parts/toasts";
import { type AgentChoice, AgentFields } from "../start/AgentFields";
import { line, words } from "../start/engines";
import { RepositoryField } from "../start/RepositoryField";
import "../start/start.css";

interface Row {
  key: string;
  step: Step;
  title: string;
  after: string;
  checks: string;
}

const rowOf = (step: Step): Row => ({
  key: step.key,
  step,
  title: step.task.title ?? "",
  after: (step.depends_on ?? []).join(" "),
  checks: (step.task.checks ?? []).map((check) => line(check.run)).join("; "),
});

function stepOf(row: Row, agent: AgentChoice): Step {
  const checks = row.checks.split(";").map(words).filter((run) => run.length > 0);
  const known = row.step.task.checks ?? [];
  const args = words(agent.args);
  return {
    key: row.key,
    task: {
      ...row.step.task,
      title: row.title.trim(),
      checks: checks.map((run) => known.find((check) => line(check.run) === line(run)) ?? { run }),
      ...(row.step.task.repository ? {} : { isolation: "none" as const }),
      ...(agent.engine ? { engine: agent.engine } : {}),
      ...(agent.model.trim() ? { model: agent.model.trim() } : {}),
      ...(agent.control ? { control: agent.control } : {}),
      ...(agent.permission ? { permission: agent.permission as NonNullable<Step["task"]["permission"]> } : {}),
      ...(args.length > 0 ? { args } : {}),
    },
    depends_on: row.after.split(/[\s,]+/).filter(Boolean),
  };
}

export function Plan({ close, repository }: { close: () => void; repository?: string }) {
  const [text, setText] = useState("");
  const [path, setPath] = useState(() => repository ?? recall("repository", ""));
  const [found, setFound] = useState<RepositorySummary>();
  const [rows, setRows] = useState<Row[]>();
  const [agent, setAgent] = useState<AgentChoice>({ engine: recall("engine", ""), model: "", permission: "", control: "", args: "" });
  const propose = useAction("board_propose", (proposal) => setRows(proposal.steps.map(rowOf)));
  const add = useAction("board_add_steps", ({ tasks }) => {
    remember("repository", found?.path ?? path);
    say(tasks.length === 1 ? "1 task is created." : `${tasks.length} tasks are created.`);
    close();
  });

  const read = (event: FormEvent) => {
    event.preventDefault();
    const where = found?.path ?? path.trim();
    propose.mutate({ text, ...(where ? { repository: where } : {}) });
  };
  if (!rows) {
    return (
      <Sheet title="Plan tasks" close={close}>
        <form onSubmit={read}>
          <label>
            Plan
            <textarea
              className="field"
              rows={7}
              required
              autoFocus
              value={text}
              placeholder={"Add divide, then document it and release 1.2\n\nor a list, one step a line"}
              onChange={(event) => setText(event.target.value)}
            />
          </label>
          <RepositoryField label="Repository" none="No repository" value={path} change={setPath} found={setFound} />
          {propose.error ? <Trouble error={propose.error} /> : null}
          <div className="actions">
            <button type="button" className="button plain" onClick={close}>
              Cancel
            </button>
            <button type="submit" className="button primary" disabled={propose.isPending}>
              Propose tasks
            </button>
          </div>
        </form>
      </Sheet>
    );
  }

  const change = (key: string, part: Partial<Row>) =>
    setRows(rows.map((row) => (row.key === key ? { ...row, ...part } : row)));
  const remove = (key: string) =>
    setRows(
      rows
        .filter((row) => row.key !== key)
        .map((row) => ({ ...row, after: row.after.split(" ").filter((one) => one !== key).join(" ") })),
    );
  const more = () => {
    const key = String(Math.max(0, ...rows.map((row) => Number(row.key) || 0)) + 1);
    const model = rows[0]?.step.task ?? {};
    const task = { ...(model.repository ? { repository: model.repository } : {}) };
    setRows([...rows, { key, step: { key, task, depends_on: [] }, title: "", after: "", checks: rows[0]?.checks ?? "" }]);
  };
  const create = (event: FormEvent) => {
    event.preventDefault();
    add.mutate({ steps: rows.map((row) => stepOf(row, agent)) });
  };
  return (
    <Sheet title="Plan tasks" close={close}>
      <form onSubmit={create}>
        {(propose.data?.notes ?? []).map((note) => (
          <p key={note} className="field-says">
            <Prose text={note} />
          </p>
        ))}
        <ol className="plan" aria-label="Proposed tasks">
          {rows.map((row) => (
            <li key={row.key}>
              <span className="plan-key number">{row.key}</span>
              <input
                className="field"
                required
                maxLength={500}
                aria-label={`Title of ${row.key}`}
                value={row.title}
                onChange={(event) => change(row.key, { title: event.target.value })}
              />
              <input
                className="field mono"
                aria-label={`${row.key} comes after`}
                placeholder="After"
                value={row.after}
                onChange={(event) => change(row.key, { after: event.target.value })}
              />
              <input
                className="field mono"
                aria-label={`Checks of ${row.key}`}
                placeholder="Checks"
                value={row.checks}
                spellCheck={false}
                onChange={(event) => change(row.key, { checks: event.target.value })}
              />
              <button
                type="button"
                className="button plain small"
                aria-label={`Remove ${row.key}`}
                onClick={() => remove(row.key)}
              >
                Remove
              </button>
            </li>
          ))}
        </ol>
        <p>
          <button type="button" className="button small" onClick={more}>
            Add a task
          </button>
        </p>
        <AgentFields value={agent} change={setAgent} any="Any agent" usual="As configured" />
        {add.error ? <Trouble error={add.error} /> : null}
        <div className="actions">
          <button type="button" className="button plain" onClick={() => setRows(undefined)}>
            Back
          </button>
          <button type="submit" className="button primary" disabled={add.isPending || rows.length === 0}>
            {rows.length === 1 ? "Create 1 task" : `Create ${rows.length} tasks`}
          </button>
        </div>
      </form>
    </Sheet>
  );
}
