// Keys that work wherever nobody types. Two-key chords begin with `g`.

import { useEffect, useRef } from "react";

export type Shortcuts = Record<string, (event: KeyboardEvent) => void>;

export function useShortcuts(shortcuts: Shortcuts, active = true): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  useEffect(() => {
    if (!active) return;
    let chord = "";
    const pressed = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isTyping(event) || document.querySelector("dialog[open]")) return;
      const name = keyName(event);
      // Enter on what has the focus presses that.
      if (name === "Enter" && (event.target as HTMLElement | null)?.closest("a, button, summary")) return;
      // The second key of a chord means nothing by itself: `g n` is no `n`.
      const action = current.current[chord ? `${chord} ${name}` : name];
      chord = name === "g" && !chord ? "g" : "";
      if (!action) return;
      event.preventDefault();
      action(event);
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, [active]);
}

function keyName(event: KeyboardEvent): string {
  const held = [
    event.ctrlKey || event.metaKey ? "mod" : "",
    event.altKey ? "alt" : "",
    event.shiftKey && event.key.length > 1 ? "shift" : "",
  ].filter(Boolean);
  return [...held, event.key.length === 1 ? event.key.toLowerCase() : event.key].join("+");
}

/** Keys with Ctrl belong to the page, except in a terminal, where all are typed. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  const fields = event.ctrlKey || event.metaKey ? ".xterm" : "input, textarea, select, [contenteditable], .xterm";
  return target?.closest(fields) != null;
}
