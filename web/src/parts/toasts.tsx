// Short sentences on what an action came to, said to screen readers too.

import { useSyncExternalStore } from "react";

import { Prose } from "./Prose";
import type { Tone } from "./marks";

/** What can be done about it: a word, and what pressing it does. */
interface Action {
  word: string;
  act: () => void;
}

interface Toast {
  id: number;
  text: string;
  tone: Tone;
  action?: Action | undefined;
}

let toasts: Toast[] = [];
let next = 1;
const watchers = new Set<() => void>();

function become(list: Toast[]): void {
  toasts = list;
  for (const watcher of watchers) watcher();
}

export function say(text: string, tone: Tone = "good", action?: Action): void {
  const id = next++;
  become([...toasts.slice(-2), { id, text, tone, action }]);
  // What one may press stays longer.
  setTimeout(() => forget(id), tone === "bad" || action ? 9000 : 4000);
}

const forget = (id: number): void => become(toasts.filter((toast) => toast.id !== id));

/** For what an action may fail with. */
export const complain = (error: Error): void => say(error.message, "bad");

export function Toasts() {
  const shown = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <p key={toast.id} className="toast" data-tone={toast.tone}>
          <Prose text={toast.text} />
          {toast.action ? (
            <button
              type="button"
              className="button small"
              onClick={() => {
                forget(toast.id);
                toast.action?.act();
              }}
            >
              {toast.action.word}
            </button>
          ) : null}
        </p>
      ))}
    </div>
  );
}
