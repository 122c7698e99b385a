// The daemon's log: its end, kept up while it is looked at, and as much before it
// as is asked for.

import { useEffect, useReducer, useRef, useState } from "react";

import { useRemembered } from "../app/remember";
import { call } from "../daemon/call";
import type { LogLevel, LogLine, LogPage } from "../generated/operations";
import { Lines, Nothing, Trouble } from "../parts/Loaded";
import { Mark, type Tone } from "../parts/marks";
import { clock } from "../parts/time";

const LEVELS: LogLevel[] = ["error", "warn", "info", "debug", "trace"];
const TONES: Record<LogLevel, Tone> = { error: "bad", warn: "wait", info: "rest", debug: "rest", trace: "rest" };
/** New lines are looked for this often. */
const LOOK_MS = 2000;
/** Older lines are let go when so many are shown. */
const MOST = 5000;

interface State {
  lines: LogLine[];
  older: string | null | undefined;
  newer: string | undefined;
  error: Error | undefined;
}

type Event =
  | { kind: "begins" }
  | { kind: "end" | "older" | "newer"; page: LogPage }
  | { kind: "failed"; error: Error };

const EMPTY: State = { lines: [], older: undefined, newer: undefined, error: undefined };

function next(state: State, event: Event): State {
  switch (event.kind) {
    case "begins":
      return EMPTY;
    case "end":
      return { lines: event.page.lines, older: event.page.older, newer: event.page.newer, error: undefined };
    case "older":
      return { ...state, lines: [...event.page.lines, ...state.lines], older: event.page.older, error: undefined };
    case "newer":
      return {
        ...state,
        lines: [...state.lines, ...event.page.lines].slice(-MOST),
        newer: event.page.newer,
        error: undefined,
      };
    case "failed":
      return { ...state, error: event.error };
  }
}

export function Logs() {
  const [level, setLevel] = useRemembered<LogLevel>("logs.level", "info");
  const [typed, setTyped] = useState("");
  const [text, setText] = useState("");
  const [state, tell] = useReducer(next, EMPTY);
  const busy = useRef(false);
  const wanted = { level, ...(text ? { text } : {}) };

  useEffect(() => {
    const settled = setTimeout(() => setText(typed.trim()), 250);
    return () => clearTimeout(settled);
  }, [typed]);

  useEffect(() => {
    const gone = new AbortController();
    const filter = { level, ...(text ? { text } : {}) };
    tell({ kind: "begins" });
    let newer: string | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const page = await call("daemon_logs", newer ? { ...filter, after: newer } : filter, gone.signal);
        if (gone.signal.aborted) return;
        if (!newer || page.lines.length > 0 || page.newer !== newer) tell({ kind: newer ? "newer" : "end", page });
        newer = page.newer;
      } catch (error) {
        if (!gone.signal.aborted) tell({ kind: "failed", error: error as Error });
      }
      timer = setTimeout(look, LOOK_MS);
    };
    void look();
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [level, text]);

  const older = () => {
    if (!state.older || busy.current) return;
    busy.current = true;
    call("daemon_logs", { ...wanted, before: state.older })
      .then((page) => tell({ kind: "older", page }))
      .catch((error: Error) => tell({ kind: "failed", error }))
      .finally(() => {
        busy.current = false;
      });
  };

  return (
    <div className="stack">
      <div className="rule-form">
        <select
          className="field"
          aria-label="Only as bad as this or worse"
          value={level}
          onChange={(event) => setLevel(event.target.value as LogLevel)}
        >
          {LEVELS.map((each) => (
            <option key={each} value={each}>
              {each === "trace" ? "everything" : each === "error" ? "errors" : `${each} and worse`}
            </option>
          ))}
        </select>
        <input
          className="field"
          type="search"
          aria-label="Words in the log"
          placeholder="Words in the log…"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </div>
      {state.error ? <Trouble error={state.error} /> : null}
      {state.newer === undefined && !state.error ? <Lines count={12} /> : null}
      {state.newer !== undefined && state.lines.length === 0 && !state.older ? (
        <Nothing title="Nothing of that is in the log">
          <p>What the daemon writes comes up here by itself. Choose another level, or fewer words.</p>
        </Nothing>
      ) : null}
      <div className="log-newest-first">
        <ol className="log" aria-label="Lines of the log, newest first">
          {state.lines.toReversed().map((line) => (
            <Line key={line.place} line={line} />
          ))}
        </ol>
        {state.older ? (
          <button type="button" className="button small" onClick={older}>
            Older lines
          </button>
        ) : null}
      </div>
    </div>
  );
}

function Line({ line }: { line: LogLine }) {
  const fields = Object.entries(line.fields ?? {});
  return (
    <li>
      <time className="mono quiet" dateTime={line.at ?? undefined} title={line.at ? new Date(line.at).toLocaleString() : ""}>
        {line.at ? clock(line.at) : ""}
      </time>
      {line.level ? <Mark tone={TONES[line.level]} word={line.level} /> : <span />}
      <span className="log-words">
        {line.message}
        {fields.map(([name, value]) => (
          <span key={name} className="log-field">
            {" "}
            <span className="quiet">{name}</span>{" "}
            <span className="mono">{typeof value === "string" ? value : JSON.stringify(value)}</span>
          </span>
        ))}
      </span>
      <span className="quiet log-target one-line" title={line.target}>
        {line.target}
      </span>
    </li>
  );
}
