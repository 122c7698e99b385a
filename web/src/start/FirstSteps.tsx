// The first minutes: what there is, what is missing, and one button for each next
// step. Nothing is remembered of it; every step ticks itself by what is so.

import { type ReactNode, useState } from "react";

import { useAction, useOperation } from "../daemon/queries";
import type { RepositorySummary } from "../generated/operations";
import { turnOn } from "../now/autopilotCommands";
import { type Command, CommandButton, perform } from "../parts/command";
import { Trouble } from "../parts/Loaded";
import { say } from "../parts/toasts";
import { Agents, useAgentsFound } from "./Agents";
import { line } from "./engines";
import { RepositoryField } from "./RepositoryField";
import "./start.css";

/** The label of the tasks of the demo. */
export const DEMO = "demo";

interface Props {
  newTask: () => void;
}

export function FirstSteps({ newTask }: Props) {
  const tasks = useOperation("board_list", { limit: 1 });
  const demo = useOperation("board_list", { label: DEMO, limit: 100 });
  const repositories = useOperation("repository_list", {});
  const autopilot = useOperation("autopilot_show", {});
  const played = demo.data?.tasks ?? [];
  const own = tasks.data && demo.data ? tasks.data.total - demo.data.total : 0;
  const samples = new Set(played.map((task) => task.repository));
  const known = (repositories.data?.repositories ?? []).filter((repository) => !samples.has(repository.path));
  const checked = known.find((repository) => repository.checks.length > 0);
  const runs = autopilot.data?.mode === "running";
  const agents = useAgentsFound();
  return (
    <section className="first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">First steps</h2>
      <ol>
        <StepItem done={agents} title="Find your agents">
          <Agents />
        </StepItem>
        <StepItem done={played.some((task) => task.status === "done")} title="Play the demo">
          <Demo begun={played.length > 0} left={played.filter((task) => task.status !== "done").length} />
        </StepItem>
        <StepItem done={known.length > 0} title="Add a repository">
          {known.length > 0 ? (
            <p className="quiet">{known.map((repository) => repository.name).join(", ")}</p>
          ) : (
            <AddRepository />
          )}
        </StepItem>
        <StepItem done={checked !== undefined} title="Check the work">
          <p className="quiet">
            {checked
              ? `${checked.name} is checked with ${checked.checks.map((check) => `“${line(check.run)}”`).join(", ")}.`
              : known.length > 0
                ? "No test command was found in your repository; say one in each task."
                : "What proves a task done is a command, such as your tests. It is proposed once there is a repository."}
          </p>
        </StepItem>
        <StepItem done={own > 0} title="Create a task">
          {own > 0 ? null : (
            <button type="button" className="button" onClick={newTask}>
              New task <kbd>n</kbd>
            </button>
          )}
        </StepItem>
        <StepItem done={runs} title="Turn the autopilot on">
          {runs ? (
            <p className="quiet">Tasks are given to agents as soon as they are ready.</p>
          ) : (
            <>
              <p className="quiet">While it is paused, nothing starts by itself.</p>
              <CommandButton command={turnOn} />
            </>
          )}
        </StepItem>
      </ol>
    </section>
  );
}

function StepItem({ done, title, children }: { done: boolean; title: string; children: ReactNode }) {
  return (
    <li data-done={done}>
      <span className="step-mark" aria-hidden="true">
        {done ? "✓" : ""}
      </span>
      <div className="step-body">
        <h3>
          {title}
          {done ? <span className="visually-hidden"> (done)</span> : null}
        </h3>
        {children}
      </div>
    </li>
  );
}

export const playDemo: Command = {
  label: "Play the demo",
  name: "Play the demo",
  also: "sample rehearsal try",
  run: () =>
    perform("demo_start", {}, ({ tasks, autopilot }) => {
      say(`${tasks.length} tasks of the demo are on the board.`);
      if (autopilot !== "running") void perform("autopilot_set", { mode: "running", reason: "the demo begins" });
    }),
};

function Demo({ begun, left }: { begun: boolean; left: number }) {
  if (begun) {
    return (
      <p className="quiet">
        {left === 0 ? "All five tasks are done." : "Its agents work on the board and ask you two things."}
      </p>
    );
  }
  return (
    <>
      <p className="quiet">
        Five tasks in a small sample repository, done by rehearsal agents in twenty seconds. It needs no key and no
        network, and turns the autopilot on.
      </p>
      <CommandButton command={playDemo} />
    </>
  );
}

function AddRepository() {
  const [path, setPath] = useState("");
  const [found, setFound] = useState<RepositorySummary>();
  // Mapping its code is what makes a repository known.
  const index = useAction("code_index", () => say(`${found?.name ?? "The repository"} is added.`));
  return (
    <form
      className="add-repository"
      onSubmit={(event) => {
        event.preventDefault();
        if (found) index.mutate({ path: found.path, wait: false });
      }}
    >
      <RepositoryField label="Folder" value={path} change={setPath} found={setFound} />
      <button type="submit" className="button" disabled={!found || index.isPending}>
        Add
      </button>
      {index.error ? <Trouble error={index.error} /> : null}
    </form>
  );
}
