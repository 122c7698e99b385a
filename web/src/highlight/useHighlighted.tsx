// Source with its words told apart. The text is there at once, its colours when
// the thread that finds them is done; without them it reads as well.

import { type ReactNode, useEffect, useState } from "react";

import { type Done, KINDS, type Lines } from "./protocol";
import "./highlight.css";

/** Longer texts stay plain: nobody reads a bundle word by word. */
const MOST_CHARS = 400_000;
/** A text on which the highlighter gets lost is given up, with its thread. */
const PATIENCE_MS = 10_000;

interface Waiting {
  done: (lines: Lines[] | undefined) => void;
  timer: ReturnType<typeof setTimeout>;
}

const waiting = new Map<number, Waiting>();
let worker: Worker | undefined;
let next = 1;

function start(): Worker {
  const started = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  started.onmessage = ({ data }: MessageEvent<Done>) => settle(data.id, data.lines);
  started.onerror = () => stop();
  return started;
}

function settle(id: number, lines: Lines[] | undefined): void {
  const entry = waiting.get(id);
  if (!entry) return;
  waiting.delete(id);
  clearTimeout(entry.timer);
  entry.done(lines);
}

function stop(): void {
  worker?.terminate();
  worker = undefined;
  for (const id of [...waiting.keys()]) settle(id, undefined);
}

function highlight(language: string, texts: string[]): Promise<Lines[] | undefined> {
  worker ??= start();
  const id = next++;
  return new Promise((done) => {
    waiting.set(id, { done, timer: setTimeout(stop, PATIENCE_MS) });
    worker?.postMessage({ id, language, texts });
  });
}

/** The runs of each text's lines, nothing as long as there are none; `source` is what the texts are made of. */
export function useHighlighted(
  language: string | undefined,
  source: object | undefined,
  texts: () => string[],
): Lines[] | undefined {
  const [found, setFound] = useState<{ source: object; lines: Lines[] | undefined }>();
  useEffect(() => {
    if (!language || !source) return;
    const all = texts();
    if (all.reduce((sum, text) => sum + text.length, 0) > MOST_CHARS) return;
    let wanted = true;
    void highlight(language, all).then((lines) => {
      if (wanted) setFound({ source, lines });
    });
    return () => {
      wanted = false;
    };
  }, [language, source]);
  return found && found.source === source ? found.lines : undefined;
}

/** A text by its runs, or plain. */
export function Highlighted({ text, runs }: { text: string; runs: number[] | undefined }) {
  if (!runs) return <>{text}</>;
  const parts: ReactNode[] = [];
  let at = 0;
  for (let run = 0; run < runs.length; run += 2) {
    const [length = 0, kind = 0] = [runs[run], runs[run + 1]];
    const part = text.slice(at, at + length);
    parts.push(
      kind === 0 ? (
        part
      ) : (
        <span key={at} className={`hl-${KINDS[kind - 1]}`}>
          {part}
        </span>
      ),
    );
    at += length;
  }
  // A line that was cut for the answer is longer than what was highlighted.
  if (at < text.length) parts.push(text.slice(at));
  return <>{parts}</>;
}
