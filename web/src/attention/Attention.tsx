// What waits for the person, answered in place and by keyboard alone.

import { useEffect, useRef } from "react";
import { Link, useSearchParams } from "wouter";

import { Bar } from "../app/Menu";
import { useShortcuts } from "../app/shortcuts";
import { useOpenQuestions, useOperation } from "../daemon/queries";
import { Loaded, Nothing } from "../parts/Loaded";
import { IncidentItem } from "./IncidentItem";
import { QuestionItem } from "./QuestionItem";
import { TaskItem } from "./TaskItem";
import { type Waiting, waitingList } from "./waiting";
import "./attention.css";

export function Attention() {
  const questions = useOpenQuestions();
  const tasks = useOperation("board_list", { offset: 0, status: ["blocked", "failed"] });
  const incidents = useOperation("incident_list", { state: "open" });
  const items = waitingList(questions.data, tasks.data, incidents.data);
  return (
    <>
      <Bar title="Attention">
        {items.length > 0 ? (
          <span className="quiet attention-hint">
            <kbd>j</kbd> <kbd>k</kbd> to move, <kbd>?</kbd> for all keys
          </span>
        ) : null}
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={questions}>
          {() => (
            <Loaded of={tasks}>
              {() => (items.length === 0 ? <NothingWaits /> : <WaitingList items={items} />)}
            </Loaded>
          )}
        </Loaded>
      </div>
    </>
  );
}

function WaitingList({ items }: { items: Waiting[] }) {
  const [search, setSearch] = useSearchParams();
  const list = useRef<HTMLOListElement>(null);
  const wanted = search.get("at");
  const found = items.findIndex((item) => item.key === wanted);
  // When the selected one is gone, the one that took its place is selected.
  const last = useRef(0);
  const selected = found >= 0 ? found : Math.min(last.current, items.length - 1);
  last.current = selected;

  const select = (index: number) => {
    const item = items[Math.max(0, Math.min(index, items.length - 1))];
    if (item) setSearch({ at: item.key }, { replace: true });
  };
  useShortcuts({
    j: () => select(selected + 1),
    k: () => select(selected - 1),
    ArrowDown: () => select(selected + 1),
    ArrowUp: () => select(selected - 1),
  });
  useEffect(() => {
    list.current?.children[selected]?.scrollIntoView({ block: "nearest" });
  }, [selected]);

  return (
    <ol ref={list} className="waiting">
      {items.map((item, index) => {
        const shared = { selected: index === selected, select: () => select(index) };
        switch (item.kind) {
          case "question":
            return <QuestionItem key={item.key} question={item.question} {...shared} />;
          case "task":
            return <TaskItem key={item.key} task={item.task} {...shared} />;
          case "incident":
            return <IncidentItem key={item.key} incident={item.incident} {...shared} />;
        }
      })}
    </ol>
  );
}

function NothingWaits() {
  const autopilot = useOperation("autopilot_show", {});
  const under = autopilot.data?.attempts.length ?? 0;
  return (
    <Nothing title="Nothing waits for you">
      <p>
        Questions of agents, dialogs that no rule decides, blocked and failed tasks come here the moment they are
        there.
      </p>
      {autopilot.data ? (
        <p>
          The autopilot is {autopilot.data.mode}
          {under > 0 ? ` and has ${under} ${under === 1 ? "task" : "tasks"} under way` : ""}.{" "}
          <Link href="/board">Look at the board</Link>
        </p>
      ) : null}
    </Nothing>
  );
}
