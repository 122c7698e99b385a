// What goes on now, shared by the first view and the rail, and lines that stay the
// same object for as long as they say the same.

import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";

import { call } from "../daemon/call";
import { useOperation } from "../daemon/queries";
import type { Incident, IncidentPage, OverviewKind, OverviewLine, OverviewReport, Question, QuestionPage } from "../generated/operations";
import { GENERIC } from "../parts/marks";

/** As many lines of a group as anybody looks through. */
const PARAMS = { limit: 200 };

/** The last line of an agent's work changes without an event that tells of it. */
const AGAIN_MS = 3000;

export const useOverview = () => useOperation("overview", PARAMS, { refetchInterval: AGAIN_MS });

const OPEN_INCIDENTS = { state: "open" } as const;

export const useOpenIncidents = () => useOperation("incident_list", OPEN_INCIDENTS);

/** How many lines need a person; drawn anew only when that number changes. */
export function useNeedsYou(): number {
  const lines = useQuery({
    queryKey: ["overview", PARAMS],
    queryFn: ({ signal }) => call("overview", PARAMS, signal),
    select: (report: OverviewReport) => report.needs_you.length,
  });
  const incidents = useQuery({
    queryKey: ["incident_list", OPEN_INCIDENTS],
    queryFn: ({ signal }) => call("incident_list", OPEN_INCIDENTS, signal),
    select: (page: IncidentPage) => page.incidents.length,
  });
  return (lines.data ?? 0) + (incidents.data ?? 0);
}

/** A question with where it comes from; a line of the overview has only its words. */
export function useQuestion(number: number): Question | undefined {
  const { data } = useQuery({
    queryKey: ["question_list", { all: false }],
    queryFn: ({ signal }) => call("question_list", { all: false }, signal),
    select: (page: QuestionPage) => page.questions.find((each) => each.number === number),
  });
  return data;
}

export type Group = "needs" | "working" | "terminals" | "finished";

export type Entry =
  | { kind: "line"; key: string; group: Group; line: OverviewLine }
  | { kind: "incident"; key: string; group: Group; incident: Incident };

/** What tells lines of a group apart. */
export function keyOf(line: OverviewLine): string {
  if (line.question) return `Q-${line.question.number}`;
  return line.task ?? line.execution ?? line.slot ?? line.title;
}

/** Headings within *Needs you*, in the order in which they come. */
export const NEEDS: { kinds: (OverviewKind | "incident")[]; title: string }[] = [
  { kinds: ["asks"], title: "Agents waiting" },
  { kinds: ["question"], title: "Questions" },
  { kinds: ["review"], title: "Ready for review" },
  { kinds: ["blocked"], title: "Blocked" },
  { kinds: ["incident"], title: "Incidents" },
];

const orderOf = (entry: Entry): number => {
  const kind = entry.kind === "incident" ? "incident" : entry.line.kind;
  const place = NEEDS.findIndex(({ kinds }) => kinds.includes(kind));
  return place < 0 ? NEEDS.length : place;
};

export interface Entries {
  needs: Entry[];
  /** Agents; a terminal that a person opened is none. */
  working: Entry[];
  terminals: Entry[];
  finished: Entry[];
  /** All of them, in the order of the page. */
  all: Entry[];
}

/**
 * The entries of a report. One that says what it said before is the same object,
 * so that its row is not drawn anew when another joins or leaves.
 */
export function useEntries(report: OverviewReport | undefined, incidents: Incident[] | undefined): Entries {
  const known = useRef<Known>(new Map());
  return useMemo(() => {
    const { entries, known: now } = entriesOf(report, incidents ?? [], known.current);
    known.current = now;
    return entries;
  }, [report, incidents]);
}

type Known = Map<string, { said: string; entry: Entry }>;

function entriesOf(report: OverviewReport | undefined, incidents: Incident[], before: Known) {
  const known: Known = new Map();
  const keep = (entry: Entry): Entry => {
    const id = `${entry.group} ${entry.key}`;
    const said = JSON.stringify(entry);
    const last = before.get(id);
    const kept = last?.said === said ? last : { said, entry };
    known.set(id, kept);
    return kept.entry;
  };
  const lines = (group: Group, list: OverviewLine[] = []) =>
    list.map((line) => keep({ kind: "line", key: keyOf(line), group, line }));
  const needs = [
    ...lines("needs", report?.needs_you),
    ...incidents.map((incident) => keep({ kind: "incident", key: incident.id, group: "needs", incident })),
  ].sort((a, b) => orderOf(a) - orderOf(b));
  const working = lines("working", report?.working.filter((line) => !isTerminal(line)));
  const terminals = lines("terminals", report?.working.filter(isTerminal));
  const finished = lines("finished", report?.finished);
  const all = [...needs, ...working, ...terminals, ...finished];
  return { entries: { needs, working, terminals, finished, all }, known };
}

/** Whether it is a bare terminal: no run, and no program whose work could be told. */
export const isTerminal = ({ kind, engine, execution, task }: OverviewLine): boolean =>
  engine === GENERIC && !execution && !task && kind !== "asks" && kind !== "question";

/** Where a line leads. */
export function addressOf(line: OverviewLine): string | undefined {
  if (line.kind === "review" && line.task) return `/review/${line.task}`;
  if (line.task) return `/board/${line.task}`;
  if (line.execution) return `/executions/${line.execution}`;
  return line.slot ? `/slots/${encodeURIComponent(line.slot)}` : undefined;
}
