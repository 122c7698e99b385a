// The records of a journal, a window at a time: the newest first, older ones when
// they are asked for, and new ones as they come.

import { useCallback, useEffect, useReducer, useRef } from "react";

import { call } from "../daemon/call";
import type { JournalEntry, JournalPage, RecordKind } from "../generated/operations";

const WINDOW = 200;

export interface Records {
  records: JournalEntry[];
  /** Where older ones end; none when everything is there. */
  before: number | undefined;
  after: number;
  loading: boolean;
  error: Error | undefined;
}

type Event =
  | { kind: "begins" }
  | { kind: "last"; page: JournalPage }
  | { kind: "older"; page: JournalPage }
  | { kind: "newer"; page: JournalPage }
  | { kind: "failed"; error: Error };

const EMPTY: Records = { records: [], before: undefined, after: 0, loading: true, error: undefined };

function next(known: Records, event: Event): Records {
  switch (event.kind) {
    case "begins":
      return EMPTY;
    case "last":
      return {
        records: event.page.records,
        before: event.page.more ? event.page.next : undefined,
        after: event.page.head,
        loading: false,
        error: undefined,
      };
    case "older":
      return {
        ...known,
        records: [...event.page.records, ...known.records],
        before: event.page.more ? event.page.next : undefined,
        error: undefined,
      };
    case "newer":
      return { ...known, records: [...known.records, ...event.page.records], after: event.page.next, error: undefined };
    case "failed":
      return { ...known, loading: false, error: event.error };
  }
}

/** `head` is how far the journal is known to go: when it grows, the rest is read. */
export function useRecords(execution: string, kinds: RecordKind[], head: number) {
  const [state, tell] = useReducer(next, EMPTY);
  const wanted = kinds.join(" ");
  // What comes for another journal, or other kinds of it, is not ours any more.
  const asked = useRef(0);
  const reading = useRef(false);

  const read = useCallback(
    (kind: "last" | "older" | "newer", place: { before?: number; after?: number }) => {
      const question = asked.current;
      reading.current = true;
      const hear = (event: Event) => {
        if (question !== asked.current) return;
        reading.current = false;
        tell(event);
      };
      const only = wanted ? (wanted.split(" ") as RecordKind[]) : [];
      call("execution_journal", { execution, kinds: only, limit: WINDOW, ...place })
        .then((page) => hear({ kind, page }))
        .catch((error: Error) => hear({ kind: "failed", error }));
    },
    [execution, wanted],
  );

  useEffect(() => {
    asked.current += 1;
    tell({ kind: "begins" });
    read("last", {});
  }, [read]);

  const { records, loading, after, before, error } = state;
  useEffect(() => {
    if (!loading && !error && head > after && !reading.current) read("newer", { after });
    // Older ones that came meanwhile may have kept it from being read.
  }, [read, head, after, loading, error, records]);

  const older = () => {
    if (before !== undefined && !reading.current) read("older", { before });
  };
  const again = () => (after === 0 ? read("last", {}) : read("newer", { after }));
  return { ...state, older, again };
}
