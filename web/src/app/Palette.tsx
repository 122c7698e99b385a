// One field to go anywhere, do anything the page can, and find anything that is
// known: what stands in the page is found at once, the rest is asked of the daemon.

import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";

import { NOT_OVER } from "../board/useBoard";
import { useOperation } from "../daemon/queries";
import type { SearchHit, SearchKind } from "../generated/operations";
import { type Action, usePaletteActions } from "./paletteActions";
import { VIEWS } from "./views";

interface Entry {
  id: string;
  words: string;
  label: ReactNode;
  where: string;
  run: () => void;
}

export function Palette({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const entries = useEntries();
  const remote = useFound(typed);
  const found = useMemo(() => {
    const here = search(entries, typed);
    const known = new Set(here.map((entry) => entry.id));
    return [...here, ...remote.entries.filter((entry) => !known.has(entry.id))];
  }, [entries, typed, remote.entries]);
  const selected = Math.min(at, Math.max(found.length - 1, 0));

  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected]);

  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    dialog.current?.close();
    entry.run();
  };

  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Go to"
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-label="Go to anything, do anything, find anything"
        aria-activedescendant={found[selected] ? `palette-${found[selected].id}` : undefined}
        placeholder="Go to, do or find…"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(selected + 1, found.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(selected - 1, 0));
          else if (event.key === "Enter") run(found[selected]);
          else return;
          event.preventDefault();
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {found.map((entry, index) => (
          <li
            key={entry.id}
            id={`palette-${entry.id}`}
            role="option"
            aria-selected={index === selected}
            onMouseMove={() => setAt(index)}
            onClick={() => run(entry)}
          >
            <span className="one-line">{entry.label}</span>
            <span className="where">{entry.where}</span>
          </li>
        ))}
      </ul>
      <p className="palette-says" role="status">
        {remote.says || (found.length === 0 && typed.trim() ? "Nothing was found." : "")}
      </p>
    </dialog>
  );
}

function useEntries(): Entry[] {
  const [, navigate] = useLocation();
  const actions = usePaletteActions();
  const slots = useOperation("slot_list", { all: false });
  // Those that stand first on the board; the search of the daemon finds the others.
  const tasks = useOperation("board_list", { status: NOT_OVER, limit: 50 });
  return useMemo(
    () => [
      ...actions.map((action: Action) => ({
        id: `do-${action.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`,
        words: `${action.name} ${action.also ?? ""}`,
        label: action.name,
        where: action.key ?? "do",
        run: action.run,
      })),
      ...VIEWS.map((view) => ({
        id: `view${view.path.replaceAll("/", "-")}`,
        words: `${view.name} go to`,
        label: `Go to ${view.name}`,
        where: `g ${view.key}`,
        run: () => navigate(view.path),
      })),
      ...(slots.data?.slots ?? []).map((slot) => ({
        id: slot.slot,
        words: `${slot.name} ${slot.engine}`,
        label: slot.name,
        where: "terminal",
        run: () => navigate(`/slots/${slot.slot}`),
      })),
      ...(tasks.data?.tasks ?? []).map((task) => ({
        id: `task-${task.number}`,
        words: `${task.number} ${task.title}`,
        label: (
          <>
            <span className="number">{task.number}</span> {task.title}
          </>
        ),
        where: `task, ${task.status}`,
        run: () => navigate(`/board/${task.number}`),
      })),
    ],
    [actions, slots.data, tasks.data, navigate],
  );
}

const KINDS: Record<SearchKind, string> = {
  task: "task",
  run: "run",
  question: "question",
  knowledge: "knowledge",
  code: "code",
  conversation: "conversation",
  commit: "commit",
};

/** What the daemon finds, once nobody types on. */
function useFound(typed: string): { entries: Entry[]; says: string } {
  const [, navigate] = useLocation();
  const [query, setQuery] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setQuery(typed.trim()), 200);
    return () => clearTimeout(timer);
  }, [typed]);
  const asked = query.length >= 2;
  const result = useOperation("search", { query: query || "-", limit: 20 }, { enabled: asked, fresh: true });
  return useMemo(() => {
    if (!asked || typed.trim() !== query) return { entries: [], says: typed.trim().length >= 2 ? "Searching…" : "" };
    if (result.error) return { entries: [], says: result.error.message };
    if (!result.data) return { entries: [], says: "Searching…" };
    const entries = result.data.hits.map((hit) => entryOf(hit, navigate));
    const failed = (result.data.failed ?? []).map((one) => `${KINDS[one.kind]} (${one.reason})`);
    return { entries, says: failed.length > 0 ? `Not searched: ${failed.join(", ")}.` : "" };
  }, [asked, typed, query, result.data, result.error, navigate]);
}

function entryOf(hit: SearchHit, navigate: (to: string) => void): Entry {
  const title = hit.kind === "knowledge" || hit.kind === "conversation" || hit.kind === "run" ? "" : hit.id;
  return {
    id: hit.kind === "task" ? `task-${hit.id}` : `${hit.kind}-${hit.id}`.replaceAll(/[^\w-]+/g, "-"),
    words: hit.title,
    label: (
      <>
        {title ? <span className="number">{title}</span> : null} {hit.title}
        {hit.detail ? <span className="quiet"> {hit.detail}</span> : null}
      </>
    ),
    where: KINDS[hit.kind],
    run: () => navigate(hit.link),
  };
}

/** Every typed word must begin a word of the entry or be part of it. */
function search(entries: Entry[], typed: string): Entry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return entries
    .map((entry) => ({ entry, score: score(entry.words.toLowerCase(), words) }))
    .filter(({ score }) => score >= 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, 50)
    .map(({ entry }) => entry);
}

function score(text: string, words: string[]): number {
  let sum = 0;
  for (const word of words) {
    const found = text.indexOf(word);
    if (found < 0) return -1;
    sum += found === 0 ? 3 : text[found - 1] === " " ? 2 : 1;
  }
  return sum;
}
