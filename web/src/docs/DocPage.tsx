// One page: its text, the sections it has where there is room for them, and the
// pages before and after it.

import { type RefObject, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useLocationProperty } from "wouter/use-browser-location";

import { decoded } from "../app/address";
import { nameTab } from "../app/tab";
import { Refused } from "../daemon/call";
import { useOperation } from "../daemon/queries";
import type { DocHeading, DocLink, DocsPage } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { DocText } from "./DocText";
import { docsLink } from "./kinds";

export function DocPage({ path }: { path: string }) {
  const view = useRef<HTMLDivElement>(null);
  const page = useOperation("docs_read", { page: path, format: "html" }, { placeholder: "keep" });
  const title = page.isPlaceholderData ? undefined : page.data?.title;
  useEffect(() => {
    if (title) nameTab(`${title} · Docs`);
  }, [title]);
  usePlace(view, title === undefined ? undefined : path);
  if (page.error instanceof Refused && page.error.code === "not_found") {
    return (
      <div className="view docs-view" tabIndex={0}>
        <div className="docs-page">
          <div className="nothing">
            <h1>There is no such page</h1>
            <p>
              The documentation has no page <code>{path}</code>. Search for its words above, or look at{" "}
              <Link href="/docs">all pages</Link>.
            </p>
          </div>
        </div>
      </div>
    );
  }
  return (
    <div ref={view} className="view docs-view" tabIndex={0}>
      <Loaded of={page} lines={14}>
        {(read) => <Read page={read} view={view} />}
      </Loaded>
    </div>
  );
}

function Read({ page, view }: { page: DocsPage; view: RefObject<HTMLDivElement | null> }) {
  const sections = page.headings.filter(({ level }) => level === 2 || level === 3);
  return (
    <div className="docs-page">
      <article data-kind={page.kind}>
        <DocText html={page.text} />
        {page.previous || page.next ? (
          <nav className="docs-turn" aria-label="Previous and next page">
            {page.previous ? <Turn to={page.previous} word="Previous" /> : <span />}
            {page.next ? <Turn to={page.next} word="Next" /> : null}
          </nav>
        ) : null}
      </article>
      {sections.length > 1 ? <Sections sections={sections} view={view} /> : null}
    </div>
  );
}

function Turn({ to, word }: { to: DocLink; word: "Previous" | "Next" }) {
  return (
    <Link href={docsLink(to.path)} data-turn={word}>
      <span className="quiet">{word}</span>
      {to.title}
    </Link>
  );
}

function Sections({ sections, view }: { sections: DocHeading[]; view: RefObject<HTMLDivElement | null> }) {
  const [at, setAt] = useState("");
  useEffect(() => {
    const scroller = view.current;
    if (!scroller) return;
    const look = () => {
      const line = scroller.getBoundingClientRect().top + 96;
      const passed = sections.filter(({ anchor }) => (document.getElementById(anchor)?.getBoundingClientRect().top ?? Infinity) < line);
      setAt(passed.at(-1)?.anchor ?? "");
    };
    look();
    scroller.addEventListener("scroll", look, { passive: true });
    return () => scroller.removeEventListener("scroll", look);
  }, [sections, view]);
  return (
    <nav className="docs-sections" aria-labelledby="docs-sections">
      <h2 id="docs-sections">On this page</h2>
      <ul>
        {sections.map(({ level, text, anchor }) => (
          <li key={anchor} data-level={level}>
            <a href={`#${encodeURIComponent(anchor)}`} aria-current={anchor === at ? "location" : undefined}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const PAUSE_MS = 150;

/**
 * Where the page that is shown is read: at the section in the address, or where it was
 * left when one comes back to it, which the history keeps.
 */
function usePlace(view: RefObject<HTMLDivElement | null>, shown: string | undefined): void {
  const hash = useLocationProperty(() => window.location.hash);
  useEffect(() => {
    const scroller = view.current;
    if (shown === undefined || !scroller) return;
    const left: unknown = window.history.state?.top;
    const section = hash && scroller.querySelector(`#${CSS.escape(decoded(hash.slice(1)))}`);
    if (typeof left === "number") scroller.scrollTo(0, left);
    else if (section) section.scrollIntoView();
    else scroller.scrollTo(0, 0);
    // The link that was followed is gone with the page before.
    if (document.activeElement === document.body) scroller.querySelector("h1")?.focus({ preventScroll: true });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const keep = () => {
      clearTimeout(timer);
      timer = setTimeout(() => window.history.replaceState({ top: scroller.scrollTop }, ""), PAUSE_MS);
    };
    scroller.addEventListener("scroll", keep, { passive: true });
    return () => {
      clearTimeout(timer);
      scroller.removeEventListener("scroll", keep);
    };
  }, [view, shown, hash]);
}
