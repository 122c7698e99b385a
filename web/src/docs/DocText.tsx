// The text of a page, which the daemon makes of its own pages. Links between pages
// are followed without loading the page anew.

import { memo, type MouseEvent, useEffect, useMemo, useRef } from "react";
import { navigate } from "wouter/use-browser-location";

import { say } from "../parts/toasts";
import { prepare } from "./prepare";

export const DocText = memo(function DocText({ html }: { html: string }) {
  const text = useRef<HTMLDivElement>(null);
  const prepared = useMemo(() => ({ __html: prepare(html) }), [html]);
  useEffect(() => (text.current ? keepReachable(text.current) : undefined), [prepared]);
  return <div ref={text} className="docs-text" onClick={press} dangerouslySetInnerHTML={prepared} />;
});

/** What scrolls must be reached by keys; what does not is no stop on the way. */
function keepReachable(text: HTMLElement): () => void {
  const look = () => {
    for (const each of text.querySelectorAll<HTMLElement>(".docs-table, .docs-code > pre")) {
      if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
      else each.removeAttribute("tabindex");
    }
  };
  const observer = new ResizeObserver(look);
  observer.observe(text);
  return () => observer.disconnect();
}

function press(event: MouseEvent): void {
  const pressed = event.target as Element;
  const code = pressed.closest(".docs-copy")?.parentElement?.querySelector("pre")?.textContent;
  if (code) return copy(code);
  const link = pressed.closest("a");
  if (!link || link.target || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  // Within the page the browser goes there itself.
  if (link.origin !== window.location.origin || link.pathname === window.location.pathname) return;
  event.preventDefault();
  navigate(link.pathname + link.search + link.hash);
}

function copy(code: string): void {
  // There is no clipboard in a page that came without encryption from another machine.
  const copied = navigator.clipboard?.writeText(code.trimEnd()) ?? Promise.reject(new Error("no clipboard"));
  copied.then(
    () => say("Copied."),
    () => say("The browser does not let this page use the clipboard.", "wait"),
  );
}
