// What people and agents said to each other: listed, narrowed, and searched by
// its words. Everything that narrows is in the address.

import { type FormEvent, useEffect, useMemo, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";

import { Bar } from "../app/Menu";
import { useShortcuts } from "../app/shortcuts";
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
  { days: 1, name: "The last day" },
  { days: 7, name: "The last week" },
  { days: 30, name: "The last month" },
];

export function Conversations() {
  const [search, setSearch] = useSearchParams();
  const query = search.get("q") ?? "";
  const narrowed = ["engine", "project", "task", "days"].some((name) => search.has(name));
  const set = (changes: Record<string, string | null>) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        next.delete("from");
        for (const [name, value] of Object.entries(changes)) {
          if (value) next.set(name, value);
          else next.delete(name);
        }
        return next;
      },
      { replace: true },
    );
  const within = useWithin(search);
  return (
    <>
      <Bar title="Conversations" />
      <div className="view" tabIndex={0}>
        <div className="stack talks-view">
          <Ask query={query} ask={(text) => set({ q: text || null })}>
            <Filters search={search} set={set} />
            {narrowed ? (
              <button
                type="button"
                className="button plain"
                onClick={() => set({ engine: null, project: null, task: null, days: null })}
              >
                All
              </button>
            ) : null}
          </Ask>
          {query ? (
            <Found
              query={query}
              within={within}
              from={Number(search.get("from") ?? 0) || 0}
              go={(from) => set({ from: from > 0 ? String(from) : null })}
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

interface AskProps {
  query: string;
  ask: (text: string) => void;
  children: React.ReactNode;
}

function Ask({ query, ask, children }: AskProps) {
  const [text, setText] = useState(query);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setText(query), [query]);
  useShortcuts({ f: () => field.current?.focus() });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask(text.trim());
  };
  return (
    <form className="ask" role="search" onSubmit={submit}>
      <input
        ref={field}
        className="field"
        type="search"
        aria-label="What was said"
        placeholder={'Words that were said, or a "phrase"'}
        maxLength={500}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          // Emptied by its own cross: back to the list.
          if (!event.target.value && query) ask("");
        }}
      />
      <button type="submit" className="button">
        Find
      </button>
      {children}
    </form>
  );
}

function Filters({ search, set }: { search: URLSearchParams; set: (changes: Record<string, string | null>) => void }) {
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
        onChange={(event) => set({ engine: event.target.value })}
      >
        <option value="">Every agent</option>
        {choices("engine").map((engine) => (
          <option key={engine}>{engine}</option>
        ))}
      </select>
      <select
        className="field talks-project"
        aria-label="Project"
        value={value("project")}
        onChange={(event) => set({ project: event.target.value })}
      >
        <option value="">Every project</option>
        {choices("project").map((project) => (
          <option key={project} value={project}>
            {folderName(project)}
          </option>
        ))}
      </select>
      <select
        className="field"
        aria-label="Since when"
        value={value("days")}
        onChange={(event) => set({ days: event.target.value })}
      >
        <option value="">At any time</option>
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
