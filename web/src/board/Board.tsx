// The board: every task in the column its facts put it in, or as a graph.

import { lazy, Suspense, useMemo, useState } from "react";

import { useNarrowed } from "../app/address";
import { Bar } from "../app/Menu";
import { useShortcuts } from "../app/shortcuts";
import { useOpenQuestions } from "../daemon/queries";
import { Lines, Loaded, Nothing } from "../parts/Loaded";
import { Autopilot } from "./Autopilot";
import { Columns } from "./Columns";
import { cardsOf, type Filter, fits } from "./cards";
import { NewTask } from "./NewTask";
import { useBoardTasks, useReady } from "./useBoard";
import "./board.css";

const Graph = lazy(() => import("./Graph").then((module) => ({ default: module.Graph })));

export function Board() {
  const [search, narrow] = useNarrowed();
  const [adding, setAdding] = useState(false);
  const board = useBoardTasks();
  const ready = useReady();
  const questions = useOpenQuestions();
  const asGraph = search.get("as") === "graph";
  const filter: Filter = {
    words: search.get("words") ?? "",
    label: search.get("label") ?? "",
    engine: search.get("engine") ?? "",
    priority: search.get("priority") ?? "",
  };
  const set = (name: string, value: string) => narrow({ [name]: value });
  useShortcuts({
    n: () => setAdding(true),
    f: () => document.querySelector<HTMLInputElement>(".board-search")?.focus(),
  });
  const tasks = board.data?.tasks;
  const labels = useMemo(() => distinct(tasks?.flatMap((task) => task.labels ?? [])), [tasks]);
  const engines = useMemo(() => distinct(tasks?.flatMap((task) => task.engine ?? [])), [tasks]);

  return (
    <>
      <Bar
        title="Board"
        action={
          <button type="button" className="button primary" onClick={() => setAdding(true)}>
            New task <kbd>n</kbd>
          </button>
        }
      >
        <Autopilot />
        <input
          className="field board-search"
          type="search"
          aria-label="Filter the tasks"
          placeholder="Filter"
          value={filter.words}
          onChange={(event) => set("words", event.target.value)}
        />
        <Choice name="Label" value={filter.label} choices={labels} choose={(value) => set("label", value)} />
        <Choice name="Engine" value={filter.engine} choices={engines} choose={(value) => set("engine", value)} />
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
      </Bar>
      <div className="view flush board-view">
        <Loaded of={board} lines={12}>
          {(whole) =>
            whole.tasks.length === 0 ? (
              <EmptyBoard add={() => setAdding(true)} />
            ) : asGraph ? (
              <Suspense fallback={<Lines count={8} />}>
                <Graph filter={filter} tasks={whole.tasks} />
              </Suspense>
            ) : (
              <Loaded of={ready} lines={12}>
                {(report) => (
                  <Columns
                    cards={cardsOf(
                      whole.tasks.filter((task) => fits(task, filter)),
                      report,
                      questions.data?.questions ?? [],
                    )}
                    left={whole.left}
                  />
                )}
              </Loaded>
            )
          }
        </Loaded>
      </div>
      {adding ? <NewTask close={() => setAdding(false)} /> : null}
    </>
  );
}

function EmptyBoard({ add }: { add: () => void }) {
  return (
    <div className="view" tabIndex={0}>
      <Nothing title="There are no tasks yet">
        <p>
          A task says what is to be done, where, and which checks prove it. Agents are given tasks in the order of the
          board, as soon as what they depend on is done.
        </p>
        <button type="button" className="button primary" onClick={add}>
          New task <kbd>n</kbd>
        </button>
        <p className="quiet">
          From a terminal: <code>mission task add "Write the parser"</code>
        </p>
      </Nothing>
    </div>
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
