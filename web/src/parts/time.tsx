// Moments as people say them, kept fresh by one clock for the whole page.

import { useSyncExternalStore } from "react";

let now = Date.now();
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  if (!timer) now = Date.now();
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of watchers) each();
  }, 5000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

export function Ago({ at }: { at: string }) {
  const moment = new Date(at);
  // The words are the snapshot: whoever shows "3 min ago" is left alone until
  // it is four.
  const words = useSyncExternalStore(watch, () => ago(now - moment.getTime()));
  return (
    <time dateTime={at} title={moment.toLocaleString()} className="quiet">
      {words}
    </time>
  );
}

/** How long something took, or has taken until now. */
export function Lasting({ from, to }: { from: string; to?: string | null | undefined }) {
  const words = useSyncExternalStore(watch, () =>
    duration((to ? new Date(to).getTime() : now) - new Date(from).getTime()),
  );
  return <span>{words}</span>;
}

export function clock(at: string): string {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

function ago(ms: number): string {
  if (ms < -5000) return `in ${duration(-ms)}`;
  return ms < 10_000 ? "now" : `${duration(ms)} ago`;
}

export function duration(ms: number): string {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 1) return `${Math.round(Math.max(0, ms))} ms`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}
