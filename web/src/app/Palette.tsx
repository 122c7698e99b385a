// One field to go anywhere and do the few things that belong to no view.

import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";

import { useAction, useOperation } from "../daemon/queries";
import { signOut } from "../daemon/session";
import { complain, say } from "../parts/toasts";
import { askForNotifications, canAskForNotifications } from "./notifications";
import { chooseTheme, theme } from "./theme";
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
  const [, navigate] = useLocation();
  const found = useMemo(
    () => [...search(entries, typed), ...elsewhere(typed, navigate)],
    [entries, typed, navigate],
  );
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
        aria-label="Go to a view, a task, a slot, or do something"
        aria-activedescendant={found[selected] ? `palette-${found[selected].id}` : undefined}
        placeholder="Go to a view, a task, a slot…"
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
    </dialog>
  );
}

function useEntries(): Entry[] {
  const [, navigate] = useLocation();
  const tasks = useOperation("board_list", { offset: 0, limit: 500 });
  const slots = useOperation("slot_list", { all: false });
  const autopilot = useAction("autopilot_set", (report) => say(`The autopilot is ${report.mode}.`));
  return useMemo(() => {
    const switchTo = (mode: "running" | "paused" | "draining") =>
      autopilot.mutate({ mode, reason: "from the board" }, { onError: complain });
    const nextTheme = theme() === "dark" ? "light" : theme() === "light" ? "system" : "dark";
    const actions: [string, () => void][] = [
      ["Run the autopilot", () => switchTo("running")],
      ["Pause the autopilot", () => switchTo("paused")],
      ["Drain the autopilot", () => switchTo("draining")],
      [`Use ${nextTheme === "system" ? "the system's colours" : `${nextTheme} colours`}`, () => chooseTheme(nextTheme)],
      ["Sign this browser out", () => void signOut().then(() => location.reload())],
    ];
    if (canAskForNotifications()) {
      actions.push(["Notify me when something waits", () => void askForNotifications()]);
    }
    return [
      ...VIEWS.map((view) => ({
        id: view.path.slice(1),
        words: view.name,
        label: view.name,
        where: `g ${view.key}`,
        run: () => navigate(view.path),
      })),
      ...actions.map(([name, run], index) => ({ id: `do-${index}`, words: name, label: name, where: "do", run })),
      ...(slots.data?.slots ?? []).map((slot) => ({
        id: slot.slot,
        words: `${slot.name} ${slot.engine}`,
        label: slot.name,
        where: "slot",
        run: () => navigate(`/slots/${slot.slot}`),
      })),
      ...(tasks.data?.tasks ?? []).map((task) => ({
        id: task.number,
        words: `${task.number} ${task.title}`,
        label: (
          <>
            <span className="number">{task.number}</span> {task.title}
          </>
        ),
        where: task.status,
        run: () => navigate(`/board/${task.number}`),
      })),
    ];
  }, [tasks.data, slots.data, navigate, autopilot.mutate]);
}

/** What is not listed here can be looked for where it is. */
function elsewhere(typed: string, navigate: (to: string) => void): Entry[] {
  const words = typed.trim();
  if (!words) return [];
  const places = [
    ["knowledge", "/knowledge/find"],
    ["code", "/code/search"],
    ["conversations", "/conversations"],
  ] as const;
  const whole = { knowledge: "what is known", code: "the code", conversations: "what was said" };
  return places.map(([name, path]) => ({
    id: `find-${name}`,
    words,
    label: `Find “${words}” in ${whole[name]}`,
    where: name,
    run: () => navigate(`${path}?${new URLSearchParams({ q: words })}`),
  }));
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
