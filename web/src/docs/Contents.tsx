// The pages by what they are for. Operations and keys are many: they are folded, and
// have a field that narrows them.

import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";

import type { DocKind, DocSummary } from "../generated/operations";
import { docsLink, isLookedUp, KINDS } from "./kinds";

interface Props {
  pages: DocSummary[];
  /** The page that is open; empty for the list of all. */
  path: string;
}

export function Contents({ pages, path }: Props) {
  const nav = useRef<HTMLElement>(null);
  const isListed = pages.length > 0;
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [path, isListed]);
  return (
    <nav ref={nav} className="docs-contents" aria-label="Pages">
      <Link href="/docs" aria-current={path === "" ? "page" : undefined}>
        All pages
      </Link>
      {KINDS.map(([kind, name]) => {
        const its = pages.filter((page) => page.kind === kind);
        return its.length > 0 ? <Group key={kind} kind={kind} name={name} pages={its} path={path} /> : null;
      })}
    </nav>
  );
}

function Group({ kind, name, pages, path }: Props & { kind: DocKind; name: string }) {
  const isHere = pages.some((page) => page.path === path);
  const [open, setOpen] = useState(isHere || !isLookedUp(kind));
  const [words, setWords] = useState("");
  useEffect(() => {
    if (isHere) setOpen(true);
  }, [isHere]);
  const sought = words.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = pages.filter(({ title, summary }) => {
    const text = `${title} ${summary}`.toLowerCase();
    return sought.every((word) => text.includes(word));
  });
  return (
    <details className="folds" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span>{name}</span>
        {isLookedUp(kind) ? <span className="quiet">{pages.length}</span> : null}
      </summary>
      {isLookedUp(kind) && open ? (
        <input
          className="field"
          type="search"
          aria-label={`Filter: ${name}`}
          placeholder="Filter"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      ) : null}
      {shown.length === 0 ? <p className="quiet">None has these words.</p> : null}
      <ul>
        {shown.map((page) => (
          <li key={page.path}>
            <Link
              href={docsLink(page.path)}
              className={isLookedUp(kind) ? "mono" : ""}
              title={isLookedUp(kind) ? page.summary : undefined}
              aria-current={page.path === path ? "page" : undefined}
            >
              {page.title}
            </Link>
          </li>
        ))}
      </ul>
    </details>
  );
}
