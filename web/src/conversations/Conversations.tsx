// What people and agents said to each other: listed, narrowed, and searched by
// its words. Everything that narrows is in the address.

import { useMemo } from "react";
import { Link } from "wouter";

import { type Narrowing, useNarrowed } from "../app/address";
import { Bar } from "../app/Menu";
import { SearchBox } from "../app/SearchBox";
import { useOperation } from "../daemon/queries";
import { Found } from "./Found";
import { Listed } from "./Listed";
import "./conversations.css";

/** What is looked at, as the operations take it. */
export interface Within {
  engine?: string;
  project?: string;
  task?: string;
  since?: string;
}

const AGES = [
  { days: 1, name: "Last day" },
  { days: 7, name: "Last week" },
  { days: 30, name: "Last month" },
];

export function Conversations() {
  const [search, narrow] = useNarrowed();
  const query = search.get("q") ?? "";
  const narrowed = ["engine", "project", "task", "days"].some((name) => search.has(name));
  const within = useWithin(search);
  return (
    <>
      <Bar title="Conversations" />
      <div className="view" tabIndex={0}>
        <div className="stack talks-view">
          <SearchBox
            query={query}
            ask={(text) => narrow({ q: text })}
            label="Search conversations"
            placeholder={'Words or a "phrase"'}
          >
            <Filters search={search} narrow={narrow} />
            {narrowed ? (
              <button
                type="button"
                className="button plain"
                onClick={() => narrow({ engine: null, project: null, task: null, days: null })}
              >
                Clear filters
              </button>
            ) : null}
          </SearchBox>
          {query ? (
            <Found
              query={query}
              within={within}
              from={Number(search.get("from") ?? 0) || 0}
              go={(from) => narrow({ from: from > 0 ? String(from) : "" })}
            />
          ) : (
            <Listed within={within} narrowed={narrowed} />
          )}
        </div>
      </div>
    </>
  );
}

function useWithin(search: URLSearchParams): Within {
  const [engine, project, task, days] = ["engine", "project", "task", "days"].map((name) => search.get(name) ?? "");
  // The moment is taken once: a list must not be another one with every look.
  const since = useMemo(() => {
    const back = Number(days);
    return back > 0 ? new Date(Date.now() - back * 86_400_000).toISOString() : undefined;
  }, [days]);
  return {
    ...(engine ? { engine } : {}),
    ...(project ? { project } : {}),
    ...(task ? { task } : {}),
    ...(since ? { since } : {}),
  };
}

function Filters({ search, narrow }: { search: URLSearchParams; narrow: (changes: Narrowing) => void }) {
  // What there is to choose from is what the latest conversations were.
  const latest = useOperation("conversation_list", { limit: 200 });
  const talks = latest.data?.conversations ?? [];
  const value = (name: string) => search.get(name) ?? "";
  const choices = (name: "engine" | "project") =>
    [...new Set([...talks.map((talk) => talk[name]), value(name)])].filter(Boolean).sort();
  const task = value("task");
  return (
    <>
      <select
        className="field"
        aria-label="Agent"
        value={value("engine")}
        onChange={(event) => narrow({ engine: event.target.value })}
      >
        <option value="">All agents</option>
        {choices("engine").map((engine) => (
          <option key={engine}>{engine}</option>
        ))}
      </select>
      <select
        className="field talks-project"
        aria-label="Project"
        value={value("project")}
        onChange={(event) => narrow({ project: event.target.value })}
      >
        <option value="">All projects</option>
        {choices("project").map((project) => (
          <option key={project} value={project}>
            {folderName(project)}
          </option>
        ))}
      </select>
      <select
        className="field"
        aria-label="Time"
        value={value("days")}
        onChange={(event) => narrow({ days: event.target.value })}
      >
        <option value="">Any time</option>
        {AGES.map(({ days, name }) => (
          <option key={days} value={days}>
            {name}
          </option>
        ))}
      </select>
      {task ? (
        <span className="tag">
          of <Link href={`/board/${task}`}>{task.startsWith("T-") ? task : "one task"}</Link>
        </span>
      ) : null}
    </>
  );
}

/** A folder by its own name and that of the one it is in. */
export function folderName(folder: string): string {
  return folder.split("/").filter(Boolean).slice(-2).join("/");
}
