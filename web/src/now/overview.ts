// What goes on now, shared by the first view and the rail, and lines that stay the
// same object for as long as they say the same.

import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";

import { call } from "../daemon/call";
import { useOperation } from "../daemon/queries";
import type { Incident, OverviewKind, OverviewLine, OverviewReport, Question, QuestionPage } from "../generated/operations";

/** As many lines of a group as anybody looks through. */
const PARAMS = { limit: 200 };

/** The last line of an agent's work changes without an event that tells of it. */
const AGAIN_MS = 3000;

/** Of all repositories, or of one. */
export const useOverview = (repository = "") =>
  useOperation("overview", repository ? { ...PARAMS, repository } : PARAMS, { refetchInterval: AGAIN_MS });

/** How many lines need a person; drawn anew only when that number changes. */
export function useNeedsYou(): number {
  const { data } = useQuery({
    queryKey: ["overview", PARAMS],
    queryFn: ({ signal }) => call("overview", PARAMS, signal),
    select: (report: OverviewReport) => report.needs_you.length + report.incidents.length,
  });
  return data ?? 0;
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

export type Group = "needs" | "working" | "idle" | "finished" | "terminals";

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
  { kinds: ["asks", "error"], title: "Agents waiting" },
  { kinds: ["question"], title: "Questions" },
  { kinds: ["review"], title: "Ready for review" },
  { kinds: ["blocked"], title: "Blocked" },
  { kinds: ["incident"], title: "Incidents" },
];

const ORDER = NEEDS.flatMap(({ kinds }) => kinds);

const orderOf = (entry: Entry): number => ORDER.indexOf(entry.kind === "incident" ? "incident" : entry.line.kind);

export interface Entries {
  needs: Entry[];
  working: Entry[];
  /** Agents that have ended their turn and wait to be told something. */
  idle: Entry[];
  finished: Entry[];
  /** Opened by hand, with no agent in them. */
  terminals: Entry[];
  /** All of them, in the order of the page. */
  all: Entry[];
}

/**
 * The entries of a report. One that says what it said before is the same object,
 * so that its row is not drawn anew when another joins or leaves.
 */
export function useEntries(report: OverviewReport | undefined): Entries {
  const known = useRef<Known>(new Map());
  return useMemo(() => {
    const { entries, known: now } = entriesOf(report, known.current);
    known.current = now;
    return entries;
  }, [report]);
}

type Known = Map<string, { said: string; entry: Entry }>;

function entriesOf(report: OverviewReport | undefined, before: Known) {
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
    ...(report?.incidents ?? []).map((incident) => keep({ kind: "incident", key: incident.id, group: "needs", incident })),
  ].sort((a, b) => orderOf(a) - orderOf(b));
  const working = lines("working", report?.working);
  const idle = lines("idle", report?.idle);
  const finished = lines("finished", report?.finished);
  const terminals = lines("terminals", report?.terminals);
  const all = [...needs, ...working, ...idle, ...finished, ...terminals];
  return { entries: { needs, working, idle, finished, terminals, all }, known };
}

/** Whether an agent runs that takes messages. */
export const canBeTold = ({ execution, slot, ended_at }: OverviewLine): boolean => Boolean(execution && slot && !ended_at);

/** Where a line leads. */
export function addressOf(line: OverviewLine): string | undefined {
  if (line.kind === "review" && line.task) return `/review/${line.task}`;
  if (line.task) return `/board/${line.task}`;
  if (line.execution) return `/executions/${line.execution}`;
  return line.slot ? `/slots/${encodeURIComponent(line.slot)}` : undefined;
}
