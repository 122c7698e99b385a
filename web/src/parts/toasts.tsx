// Short sentences on what an action came to, said to screen readers too.

import { useSyncExternalStore } from "react";

import type { Tone } from "./marks";

interface Toast {
  id: number;
  text: string;
  tone: Tone;
}

let toasts: Toast[] = [];
let next = 1;
const watchers = new Set<() => void>();

function become(list: Toast[]): void {
  toasts = list;
  for (const watcher of watchers) watcher();
}

export function say(text: string, tone: Tone = "good"): void {
  const id = next++;
  become([...toasts.slice(-2), { id, text, tone }]);
  setTimeout(() => become(toasts.filter((toast) => toast.id !== id)), tone === "bad" ? 9000 : 4000);
}

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
          {toast.text}
        </p>
      ))}
    </div>
  );
}
