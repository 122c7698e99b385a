// Searches all sections of the documentation while one types. The first found is
// chosen; the arrows choose another, Enter opens it.

import { type RefObject, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";

import { useShortcuts } from "../app/shortcuts";
import { useOperation } from "../daemon/queries";
import type { DocHit } from "../generated/operations";
import { docsLink, isLookedUp, kindName } from "./kinds";

export function SearchDocs({ field }: { field: RefObject<HTMLInputElement | null> }) {
  const [, navigate] = useLocation();
  const list = useRef<HTMLUListElement>(null);
  const [typed, setTyped] = useState("");
  const [open, setOpen] = useState(false);
  const [chosen, choose] = useState(0);
  // Enter was pressed before the answer to what is typed was there.
  const [entered, setEntered] = useState(false);
  const query = useSettled(typed.trim());
  const found = useOperation("docs_search", { query: query || "-", limit: 12 }, { enabled: query !== "", placeholder: "keep" });
  const hits = query === "" ? [] : (found.data?.hits ?? []);
  const isAnswered = typed.trim() === query && !found.isFetching;
  const isShown = open && typed.trim() !== "" && (hits.length > 0 || (query !== "" && !found.isPending));
  useShortcuts({ f: () => field.current?.focus() });
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const hide = () => {
    setOpen(false);
    setEntered(false);
  };
  const leave = (hit: DocHit | undefined) => {
    if (!hit) return;
    hide();
    setTyped("");
    field.current?.blur();
    navigate(docsLink(hit.path, hit.anchor));
  };
  useEffect(() => {
    if (entered && isAnswered) leave(hits[chosen]);
    // The answer and what is chosen in it are those of the moment when both are so.
  }, [entered, isAnswered]);
  const step = (by: number) => {
    setOpen(true);
    choose(Math.max(0, Math.min(chosen + by, hits.length - 1)));
  };
  return (
    <div className="docs-find spread" role="search">
      <input
        ref={field}
        className="field"
        type="search"
        role="combobox"
        aria-expanded={isShown}
        aria-controls="docs-found"
        aria-autocomplete="list"
        aria-activedescendant={isShown && hits[chosen] ? `docs-found-${chosen}` : undefined}
        aria-label="Search the documentation"
        placeholder="Search the documentation"
        autoComplete="off"
        maxLength={500}
        value={typed}
        onFocus={() => setOpen(true)}
        onBlur={hide}
        onChange={(event) => {
          setTyped(event.target.value);
          choose(0);
          setEntered(false);
          setOpen(true);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") step(1);
          else if (event.key === "ArrowUp") step(-1);
          else if (event.key === "Enter") setEntered(open && typed.trim() !== "");
          else if (event.key === "Escape" && isShown) hide();
          else return;
          event.preventDefault();
        }}
      />
      <div className="docs-found" hidden={!isShown}>
        <ul ref={list} id="docs-found" role="listbox" aria-label="Found in the documentation">
          {hits.map((hit, index) => (
            <li
              key={`${hit.path}#${hit.anchor}`}
              id={`docs-found-${index}`}
              role="option"
              aria-selected={index === chosen}
              // The field keeps the focus, or the list would be gone before the press.
              onMouseDown={(event) => event.preventDefault()}
              onMouseMove={() => choose(index)}
              onClick={() => leave(hit)}
            >
              <Found hit={hit} query={query} />
            </li>
          ))}
        </ul>
        <p role="status">{isShown && hits.length === 0 ? (found.error?.message ?? "Nothing was found.") : ""}</p>
      </div>
    </div>
  );
}

function Found({ hit, query }: { hit: DocHit; query: string }) {
  return (
    <>
      <span className="docs-found-head">
        <span>
          <span className={isLookedUp(hit.kind) ? "mono" : ""}>{hit.title}</span>
          {hit.anchor && hit.heading !== hit.title ? <span className="docs-found-section"> › {hit.heading}</span> : null}
        </span>
        <span className="where">{kindName(hit.kind)}</span>
      </span>
      <span className="docs-found-words">
        <Words text={hit.excerpt} query={query} />
      </span>
    </>
  );
}

/** A text in which the words of a question are marked, wherever they begin a word. */
function Words({ text, query }: { text: string; query: string }) {
  const words = query.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1);
  if (words.length === 0) return <>{text}</>;
  const parts = text.split(new RegExp(`(?<![\\p{L}\\p{N}])((?:${words.join("|")})\\p{L}*)`, "giu"));
  // Every second part is one of the words.
  return <>{parts.map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part))}</>;
}

/** What is typed, once nobody types on. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 120);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
