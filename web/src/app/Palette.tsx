// One field to go anywhere, do anything the page can, and find anything that is
// known: what stands in the page is found at once, the rest is asked of the daemon.
// A command that needs words takes what is typed behind its name.

import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";

import { Agree } from "../attention/Agree";
import { NOT_OVER } from "../board/useBoard";
import { useOperation } from "../daemon/queries";
import { docsLink, isLookedUp } from "../docs/kinds";
import type { Question, SearchHit, SearchKind } from "../generated/operations";
import { type Command, start } from "../parts/command";
import { usePageCommands } from "./pageCommands";
import { viewInProject } from "./Project";
import { type ThingCommand, useThingCommands } from "./thingCommands";
import { VIEWS } from "./views";

interface Entry {
  id: string;
  name: string;
  /** Other words it is found by. */
  also?: string | undefined;
  /** What it is done with, which alone does not find it: whoever types a title wants the task. */
  about?: string | undefined;
  label: ReactNode;
  where: string;
  /** It is about what the page shows, and preferred to the same of another thing. */
  isHere?: boolean;
  run: () => void;
  /** It answers a question: that is shown to its end first. */
  answer?: Answer;
  /** A command that is not complete: what stands in the field when it is chosen. */
  completes?: string;
}

interface Answer {
  question: Question;
  command: Command;
  words: string;
}

export function Palette({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  // By its id, because the list is alive; nothing is selected when that is gone.
  const [chosen, choose] = useState<string | null>();
  const [answering, setAnswering] = useState<Answer>();
  const things = useThingCommands(typed);
  const worded = useMemo(() => withWords(things, typed), [things, typed]);
  const entries = useEntries(things, typed);
  const remote = useFound(worded.length > 0 ? "" : typed);
  const found = useMemo(() => {
    const taken = new Set(worded.map((entry) => entry.id));
    const here = search(entries, typed).filter((entry) => !taken.has(entry.id));
    const known = new Set(here.map((entry) => entry.id));
    // Of an answer that is offered, its first letters are enough.
    const begun = worded.length > 0 ? here.filter(({ name }) => plain(name).startsWith(plain(typed))) : [];
    const rest = here.filter((entry) => !begun.includes(entry));
    return [...begun, ...worded, ...rest, ...remote.entries.filter((entry) => !known.has(entry.id))];
  }, [entries, typed, worded, remote.entries]);
  // What was found first stays selected when something else comes before it. An answer
  // is never selected by itself, unless its words were typed.
  const first = found[0];
  if (chosen === undefined && first) choose(isAnswer(first) ? null : first.id);
  const selected = found.findIndex((entry) => entry.id === chosen);

  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const type = (text: string) => {
    setTyped(text);
    choose(undefined);
  };
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    if (entry.completes) return type(entry.completes);
    if (entry.answer) return setAnswering(entry.answer);
    dialog.current?.close();
    entry.run();
  };
  const go = (answer: Answer) => {
    dialog.current?.close();
    void start(answer.command, answer.words);
  };
  const step = (to: number) => choose(found[Math.max(0, Math.min(to, found.length - 1))]?.id ?? null);

  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label={answering?.command.name ?? "Go to"}
      onClose={close}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
      // A key that is held does not go on into the next step.
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.repeat) event.preventDefault();
      }}
    >
      {answering ? (
        <Agree {...answering} agree={() => go(answering)} back={() => setAnswering(undefined)} />
      ) : (
        <>
          <input
            autoFocus
            role="combobox"
            aria-expanded="true"
            aria-controls="palette-list"
            aria-label="Go to anything, do anything, find anything"
            aria-activedescendant={found[selected] ? `palette-${found[selected].id}` : undefined}
            placeholder="Go to, do or find…"
            value={typed}
            onChange={(event) => type(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "ArrowDown") step(selected + 1);
              else if (event.key === "ArrowUp") step(selected < 0 ? found.length - 1 : selected - 1);
              else if (event.key === "Enter" && !event.repeat) run(found[selected]);
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
                onMouseMove={() => choose(entry.id)}
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
        </>
      )}
    </dialog>
  );
}

/** Which would be given as it is; one that lacks its words only takes them. */
const isAnswer = ({ answer, completes }: Entry): boolean => Boolean(answer && !answer.words && !completes);

const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s:]+/g, " ");

function entryOf(command: Omit<Command, "label">, isHere = false): Entry {
  const { id, name, about, also, key, takesWords, answers } = command;
  const whole = { ...command, label: name };
  return {
    // Several things may be called the same.
    id: `do-${id ?? `${name}-${about ?? ""}`}`.replaceAll(/\s+/g, "-"),
    name,
    also,
    about,
    label: (
      <>
        {name}
        {takesWords ? "…" : ""}
        {about ? <span className="quiet"> {about}</span> : null}
      </>
    ),
    where: key ?? "do",
    isHere,
    run: () => void start(whole),
    ...(answers ? { answer: { question: answers, command: whole, words: "" } } : {}),
    ...(takesWords ? { completes: `${name} ` } : {}),
  };
}

/** `Message T-4 use spaces` is a command with its words, and nothing to be found. */
function withWords(things: ThingCommand[], typed: string): Entry[] {
  const text = typed.trimStart();
  return things
    .filter(({ name, takesWords }) => takesWords && text.toLowerCase().startsWith(`${name.toLowerCase()} `))
    .map((command) => {
      const words = text.slice(command.name.length).trim();
      const entry = entryOf(command);
      if (!words) return entry;
      const { completes: _, ...complete } = entry;
      const label = (
        <>
          {command.name}: <strong>{words}</strong>
        </>
      );
      const answer = complete.answer ? { answer: { ...complete.answer, words } } : {};
      return { ...complete, ...answer, label, where: "Enter", run: () => void start(command, words) };
    });
}

function useEntries(things: ThingCommand[], typed: string): Entry[] {
  const [, navigate] = useLocation();
  const onlyHere = typed === "";
  const documentation = useDocumentation(typed);
  const ofPage = usePageCommands();
  const slots = useOperation("slot_list", { all: false });
  const tasks = useOperation("board_list", { status: NOT_OVER, limit: 50 });
  return useMemo(() => {
    const entries: Entry[] = [
      ...things.filter(({ isHere }) => isHere).map((command) => entryOf(command, true)),
      ...ofPage.map((command) => entryOf(command)),
      ...VIEWS.map((view) => ({
        id: `view${view.path.replaceAll("/", "-")}`,
        name: `${view.name} go to`,
        label: `Go to ${view.name}`,
        where: `g ${view.key}`,
        run: () => navigate(viewInProject(view.path)),
      })),
      ...(tasks.data?.tasks ?? []).map((task) => ({
        id: `task-${task.number}`,
        name: `${task.number} ${task.title}`,
        label: (
          <>
            <span className="number">{task.number}</span> {task.title}
          </>
        ),
        where: `task, ${task.status}`,
        run: () => navigate(`/board/${task.number}`),
      })),
      ...(slots.data?.slots ?? []).map((slot) => ({
        id: slot.slot,
        name: slot.name,
        also: slot.engine,
        label: slot.name,
        where: "terminal",
        run: () => navigate(`/slots/${slot.slot}`),
      })),
      ...documentation,
      ...(onlyHere ? [] : things.filter(({ isHere }) => !isHere).map((command) => entryOf(command))),
    ];
    const known = new Set<string>();
    return entries.filter(({ id }) => !known.has(id) && known.add(id));
  }, [things, onlyHere, documentation, ofPage, slots.data, tasks.data, navigate]);
}

/**
 * The pages of the documentation. One for every operation and every key would be in the
 * way of all else: those are found by who asks for the documentation or types such a name.
 */
function useDocumentation(typed: string): Entry[] {
  const [, navigate] = useLocation();
  const list = useOperation("docs_list", {});
  const withLookups = /^\s*docs\b|\w[._]\w/i.test(typed);
  return useMemo(
    () =>
      (list.data?.pages ?? [])
        .filter(({ kind }) => withLookups || !isLookedUp(kind))
        .map(({ path, title, kind }) => ({
          id: `docs-${path}`.replaceAll(/[^\w.-]+/g, "-"),
          name: `Docs: ${title}`,
          also: "documentation help",
          label: (
            <>
              Docs: <span className={isLookedUp(kind) ? "mono" : ""}>{title}</span>
            </>
          ),
          where: "docs",
          run: () => navigate(docsLink(path)),
        })),
    [list.data, withLookups, navigate],
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
    const entries = result.data.hits.map((hit) => entryOfHit(hit, navigate));
    const failed = (result.data.failed ?? []).map((one) => `${KINDS[one.kind]} (${one.reason})`);
    return { entries, says: failed.length > 0 ? `Not searched: ${failed.join(", ")}.` : "" };
  }, [asked, typed, query, result.data, result.error, navigate]);
}

function entryOfHit(hit: SearchHit, navigate: (to: string) => void): Entry {
  const title = hit.kind === "knowledge" || hit.kind === "conversation" || hit.kind === "run" ? "" : hit.id;
  return {
    id: hit.kind === "task" ? `task-${hit.id}` : `${hit.kind}-${hit.id}`.replaceAll(/[^\w-]+/g, "-"),
    name: hit.title,
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
    .map((entry) => ({ entry, score: score(entry, words) }))
    .filter(({ score }) => score >= 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, 50)
    .map(({ entry }) => entry);
}

/** Its own name counts more than other words, and a whole word more than a part: `t-1` is not `T-12`. */
function score({ name, also = "", about = "", isHere }: Entry, words: string[]): number {
  let sum = isHere ? 0.5 : 0;
  let named = words.length === 0;
  for (const word of words) {
    const place = placeOf(word, name);
    if (place === 0 && !`${also} ${about}`.toLowerCase().includes(word)) return -1;
    named ||= place > 0 || also.toLowerCase().includes(word);
    sum += place;
  }
  return named ? sum : -1;
}

function placeOf(word: string, name: string): number {
  const text = name.toLowerCase();
  const found = text.indexOf(word);
  if (found < 0) return 0;
  const begins = found === 0 || text[found - 1] === " ";
  const ends = !/[\w-]/.test(text[found + word.length] ?? " ");
  return (found === 0 ? 3 : begins ? 2 : 1) + (begins && ends ? 1 : 0);
}
