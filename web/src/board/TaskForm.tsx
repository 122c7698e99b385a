// The fields of a task, the same for a new one and for one that is changed.

import { useEffect, useState } from "react";

import type { Finish, Isolation, Priority, RepositorySummary, ReviewGate } from "../generated/operations";
import { AgentFields } from "../start/AgentFields";
import { line, REHEARSAL } from "../start/engines";
import { RepositoryField } from "../start/RepositoryField";
import { AlsoTry } from "./AlsoTry";
import type { TaskFields } from "./taskDraft";
import "../start/start.css";

const ISOLATIONS: [Isolation, string][] = [
  ["worktree", "A worktree of its own"],
  ["shared", "The checkout itself"],
  ["none", "No repository"],
];

const REVIEWS: [ReviewGate, string][] = [
  ["merge_at_once", "Not needed"],
  ["after_approval", "Wait for my approval"],
];

const FINISHES: [Finish, string][] = [
  ["merge", "Merge"],
  ["squash", "Merge as one commit"],
  ["rebase", "Rebase"],
  ["branch", "Leave the branch"],
  ["patch", "Write a patch"],
  ["pull_request", "Open a pull request"],
];

interface Props {
  fields: TaskFields;
  change: (fields: TaskFields) => void;
  /** A new one may leave things to the template and the repository. */
  isNew: boolean;
}

export function TaskForm({ fields, change, isNew }: Props) {
  const set = (part: Partial<TaskFields>) => change({ ...fields, ...part });
  const [repository, setRepository] = useState<RepositorySummary>();
  const [ownChecks, setOwnChecks] = useState(!isNew);
  const templates = repository?.templates ?? [];
  // The surest check of the repository stands there until somebody writes another or
  // takes a template, which may have its own.
  useEffect(() => {
    const first = fields.template ? undefined : repository?.checks[0];
    if (!ownChecks) set({ checks: first ? line(first.run) : "" });
  }, [repository?.path, fields.template]);
  return (
    <>
      <label>
        Title
        <input
          className="field"
          required
          maxLength={500}
          autoFocus
          value={fields.title}
          placeholder="What is to be done, in one line"
          onChange={(event) => set({ title: event.target.value })}
        />
      </label>
      <label>
        Description
        <textarea
          className="field"
          rows={4}
          value={fields.description}
          placeholder="All an agent needs to know"
          onChange={(event) => set({ description: event.target.value })}
        />
      </label>
      <RepositoryField
        label="Repository"
        none="No repository"
        value={fields.repository}
        change={(path) => set({ repository: path })}
        found={setRepository}
      />
      <AgentFields
        value={fields.agent}
        change={(agent) => set({ agent })}
        any="Any agent"
        usual="As configured"
      />
      {isNew ? (
        <AlsoTry value={fields.also} change={(also) => set({ also })} scripted={fields.agent.engine === REHEARSAL} />
      ) : null}
      <Checks
        fields={fields}
        set={(part) => {
          setOwnChecks(true);
          set(part);
        }}
        repository={repository}
      />
      <details className="more" open={isNew ? undefined : true}>
        <summary>More options</summary>
        <div className="more-fields">
          <div className="triple">
            <label>
              Priority
              <select
                className="field"
                value={fields.priority}
                onChange={(event) => set({ priority: event.target.value as Priority })}
              >
                <option value="urgent">Urgent</option>
                <option value="high">High</option>
                <option value="normal">Normal</option>
                <option value="low">Low</option>
              </select>
            </label>
            <label>
              Isolation
              <select
                className="field"
                value={fields.isolation}
                onChange={(event) => set({ isolation: event.target.value as TaskFields["isolation"] })}
              >
                {isNew ? <option value="">As configured</option> : null}
                {ISOLATIONS.map(([value, name]) => (
                  <option key={value} value={value}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <label>
              When verified
              <select
                className="field"
                value={fields.finish}
                onChange={(event) => set({ finish: event.target.value as TaskFields["finish"] })}
              >
                {isNew ? <option value="">As configured</option> : null}
                {FINISHES.map(([value, name]) => (
                  <option key={value} value={value}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <div className="pair">
            <label>
              Labels
              <input
                className="field"
                value={fields.labels}
                placeholder="docs, small"
                onChange={(event) => set({ labels: event.target.value })}
              />
            </label>
            <label>
              After these tasks
              <input
                className="field mono"
                value={fields.after}
                placeholder="T-1 T-2"
                onChange={(event) => set({ after: event.target.value })}
              />
            </label>
          </div>
          <div className="pair">
            <label>
              Review
              <select
                className="field"
                value={fields.review}
                onChange={(event) => set({ review: event.target.value as TaskFields["review"] })}
              >
                {isNew ? <option value="">As configured</option> : null}
                {REVIEWS.map(([value, name]) => (
                  <option key={value} value={value}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <label>
              Start from
              <input
                className="field mono"
                value={fields.base}
                placeholder={repository?.branch ?? "The current branch"}
                spellCheck={false}
                onChange={(event) => set({ base: event.target.value })}
              />
            </label>
          </div>
          <div className="pair">
            <label>
              Budget, thousand tokens
              <input
                className="field"
                type="number"
                min={1}
                step="any"
                value={fields.budget}
                placeholder="No limit"
                onChange={(event) => set({ budget: event.target.value })}
              />
            </label>
            <label>
              Attempts at most
              <input
                className="field"
                type="number"
                min={1}
                max={100}
                value={fields.tries}
                placeholder="3"
                onChange={(event) => set({ tries: event.target.value })}
              />
            </label>
          </div>
          {isNew && (templates.length > 0 || fields.template) ? (
            <label>
              Template
              <select
                className="field"
                value={fields.template}
                onChange={(event) => set({ template: event.target.value })}
              >
                <option value="">None</option>
                {templates.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          ) : null}
        </div>
      </details>
    </>
  );
}

interface ChecksProps {
  fields: TaskFields;
  set: (part: Partial<TaskFields>) => void;
  repository: RepositorySummary | undefined;
}

/** The commands, and those that what is in the repository proposes. */
function Checks({ fields, set, repository }: ChecksProps) {
  const present = fields.checks.split("\n").map((one) => one.trim());
  const proposed = (repository?.checks ?? []).filter((check) => !present.includes(line(check.run)));
  return (
    <div className="stack-tight">
      <label>
        Checks, one command a line
        <textarea
          className="field mono"
          rows={2}
          value={fields.checks}
          placeholder={fields.template ? "Those of the template" : "Commands that prove it done"}
          spellCheck={false}
          onChange={(event) => set({ checks: event.target.value })}
        />
      </label>
      {proposed.length > 0 ? (
        <p className="proposed">
          {proposed.map((check) => (
            <button
              key={check.run.join(" ")}
              type="button"
              className="button small"
              title={`Because of ${check.because}`}
              onClick={() =>
                set({ checks: [...present.filter(Boolean), line(check.run)].join("\n") })
              }
            >
              + {line(check.run)}
            </button>
          ))}
        </p>
      ) : null}
    </div>
  );
}
