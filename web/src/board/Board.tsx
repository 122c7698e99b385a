// The board: every task in the column its facts put it in, or as a graph; of all
// repositories, or of the one in the address.

import { lazy, Suspense, useMemo, useState } from "react";

import { useNarrowed } from "../app/address";
import { Bar } from "../app/Menu";
import { ProjectSwitcher, useProject } from "../app/Project";
import { useShortcuts } from "../app/shortcuts";
import { useOpenQuestions, useOperation } from "../daemon/queries";
import { AutopilotSwitch } from "../now/AutopilotSwitch";
import { Lines, Loaded } from "../parts/Loaded";
import { DEMO, FirstSteps } from "../start/FirstSteps";
import { StartAgent } from "../start/StartAgent";
import { Bulk } from "./Bulk";
import { Columns } from "./Columns";
import { cardsOf, type Filter, fits, idleReason } from "./cards";
import { NewTask } from "./NewTask";
import { Plan } from "./Plan";
import { useBoardTasks, useReady, useWork } from "./useBoard";
import "../now/now.css";
import "./board.css";

const Graph = lazy(() => import("./Graph").then((module) => ({ default: module.Graph })));

/** The dialogs of the board, by their name in the address. */
export type BoardDialog = "task" | "plan" | "agent";

export function Board() {
  const [search, narrow] = useNarrowed();
  const [selected, setSelected] = useState<Set<string>>();
  const board = useBoardTasks();
  const ready = useReady();
  const questions = useOpenQuestions();
  const work = useWork();
  const autopilot = useOperation("autopilot_show", {});
  const asGraph = search.get("as") === "graph";
  const filter: Filter = {
    words: search.get("words") ?? "",
    label: search.get("label") ?? "",
    engine: search.get("engine") ?? "",
    priority: search.get("priority") ?? "",
    repository: useProject(),
  };
  const set = (name: string, value: string) => narrow({ [name]: value });
  const open = (dialog: BoardDialog) => set("new", dialog);
  const close = () => set("new", "");
  useShortcuts({
    n: () => open("task"),
    f: () => document.querySelector<HTMLInputElement>(".board-search")?.focus(),
  });
  const tasks = board.data?.tasks;
  const labels = useMemo(() => distinct(tasks?.flatMap((task) => task.labels ?? [])), [tasks]);
  const engines = useMemo(() => distinct(tasks?.flatMap((task) => task.engine ?? [])), [tasks]);
  const idle = autopilot.data
    ? idleReason(autopilot.data.mode, autopilot.data.attempts.length, autopilot.data.max_agents)
    : undefined;
  const proposed = filter.repository ? { repository: filter.repository } : {};
  const dialog = search.get("new");

  return (
    <>
      <Bar
        title="Board"
        action={
          <button type="button" className="button primary" onClick={() => open("task")}>
            New task <kbd>n</kbd>
          </button>
        }
      >
        <ProjectSwitcher />
        {autopilot.data ? (
          <AutopilotSwitch
            mode={autopilot.data.mode}
            agents={autopilot.data.attempts.length}
            most={autopilot.data.max_agents}
          />
        ) : null}
        <input
          className="field board-search"
          type="search"
          aria-label="Filter the tasks"
          placeholder="Filter"
          value={filter.words}
          onChange={(event) => set("words", event.target.value)}
        />
        <Choice name="Label" value={filter.label} choices={labels} choose={(value) => set("label", value)} />
        <Choice name="Agent" value={filter.engine} choices={engines} choose={(value) => set("engine", value)} />
        <Choice
          name="Priority"
          value={filter.priority}
          choices={["urgent", "high", "normal", "low"]}
          choose={(value) => set("priority", value)}
        />
        <button
          type="button"
          className="button"
          aria-pressed={asGraph}
          onClick={() => set("as", asGraph ? "" : "graph")}
        >
          Graph
        </button>
        {asGraph || !tasks?.length ? null : (
          <button
            type="button"
            className="button"
            aria-pressed={selected !== undefined}
            onClick={() => setSelected(selected ? undefined : new Set())}
          >
            Select
          </button>
        )}
        <button type="button" className="button" onClick={() => open("plan")}>
          Plan tasks
        </button>
      </Bar>
      <div className="view flush board-view">
        <Loaded of={board} lines={12}>
          {(whole) =>
            whole.tasks.length === 0 ? (
              <div className="view" tabIndex={0}>
                <FirstSteps newTask={() => open("task")} />
              </div>
            ) : asGraph ? (
              <Suspense fallback={<Lines count={8} />}>
                <Graph filter={filter} tasks={whole.tasks} />
              </Suspense>
            ) : (
              <Loaded of={ready} lines={12}>
                {(report) => (
                  <>
                    {whole.tasks.every((task) => task.labels?.includes(DEMO)) ? (
                      <details className="first-steps-fold">
                        <summary>First steps</summary>
                        <FirstSteps newTask={() => open("task")} />
                      </details>
                    ) : null}
                  <Columns
                    cards={cardsOf(
                      whole.tasks.filter((task) => fits(task, filter)),
                      report,
                      questions.data?.questions ?? [],
                      work,
                      idle,
                    )}
                    left={whole.left}
                    selected={selected}
                    select={setSelected}
                  />
                  </>
                )}
              </Loaded>
            )
          }
        </Loaded>
        {selected ? (
          <Bulk
            tasks={(tasks ?? []).filter((task) => selected.has(task.id) && fits(task, filter))}
            clear={() => setSelected(new Set())}
          />
        ) : null}
      </div>
      {dialog === "task" ? <NewTask close={close} {...proposed} /> : null}
      {dialog === "plan" ? <Plan close={close} {...proposed} /> : null}
      {dialog === "agent" ? (
        <StartAgent close={close} {...(filter.repository ? { folder: filter.repository } : {})} />
      ) : null}
    </>
  );
}

interface ChoiceProps {
  name: string;
  value: string;
  choices: string[];
  choose: (value: string) => void;
}

function Choice({ name, value, choices, choose }: ChoiceProps) {
  if (choices.length === 0 && !value) return null;
  return (
    <select className="field" aria-label={name} value={value} onChange={(event) => choose(event.target.value)}>
      <option value="">{name}</option>
      {choices.map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
  );
}

const distinct = (values: string[] | undefined): string[] => [...new Set(values)].sort();
