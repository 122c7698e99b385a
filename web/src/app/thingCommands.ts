// What can be done with each thing there is: tasks, agents that run, questions,
// terminals, incidents, MCP servers, rules, proposals, tokens. What the open page is about comes first.

import { useMemo } from "react";
import { useLocation, useSearch } from "wouter";

import { questionCommands } from "../attention/questionCommands";
import { mergeCommands, moreTaskCommands, taskCommands, type TaskFacts } from "../board/taskCommands";
import { NOT_OVER } from "../board/useBoard";
import { useOpenQuestions, useOperation } from "../daemon/queries";
import { runCommands } from "../executions/runCommands";
import type { OverviewLine, OverviewReport, Question } from "../generated/operations";
import { proposalCommands } from "../knowledge/proposalCommands";
import { canBeTold, keyOf, useOverview } from "../now/overview";
import type { Command } from "../parts/command";
import { canBeMerged } from "../review/canBeMerged";
import { discardCommand } from "../review/discardCommand";
import { slotCommands } from "../slots/slotCommands";
import { revokeAccess } from "../system/accessCommands";
import { resolveIncident } from "../system/incidentCommands";
import { removeRule } from "../system/rules";
import { controlCommands, removeServer } from "../tools/serverCommands";
import { decoded } from "./address";
import { isOfProject } from "./Project";

export interface ThingCommand extends Command {
  /** It is about what the open page shows. */
  isHere: boolean;
}

/** The names a thing goes by: its number or id, and those of what it belongs to. */
interface Thing {
  names: (string | null | undefined)[];
  commands: Command[];
}

export function useThingCommands(typed: string): ThingCommand[] {
  const overview = useOverview();
  const questions = useOpenQuestions();
  const slots = useOperation("slot_list", { all: false });
  const rules = useOperation("permission_list", { decisions: 50 });
  const servers = useOperation("mcp_server_list", {});
  const access = useOperation("token_list", {});
  // No event tells of a proposal.
  const inbox = useOperation("kb_inbox", {}, { fresh: true });
  // Those that stand first on the board; one that is further back is called by its number.
  const board = useOperation("board_list", { status: NOT_OVER, limit: 50 });
  const page = usePage(overview.data);
  const here = useMemo(() => belongingTo(page.names, overview.data), [page.names, overview.data]);
  const named = useTask(/\bt-?(\d+)\b/i.exec(typed)?.[1]);
  const shown = useTask([...here].map((name) => /^T-(\d+)$/.exec(name)?.[1]).find(Boolean));
  return useMemo(() => {
    const lines = linesOf(overview.data);
    const tasks = new Map<string, TaskFacts>();
    for (const task of board.data?.tasks ?? []) tasks.set(task.number, task);
    for (const { task, status, title } of lines) {
      if (task && status && !tasks.has(task)) tasks.set(task, { number: task, title, status });
    }
    for (const task of [named, shown]) if (task) tasks.set(task.number, task);
    const runs = lines.flatMap(asRun);
    const inRuns = new Set(runs.flatMap((run) => run.names));
    const things: Thing[] = [
      ...(questions.data?.questions ?? []).map((question) => ({
        names: [`Q-${question.number}`, question.task, ...agentOf(question)],
        commands: questionCommands(question),
      })),
      ...(page.work ? [{ names: page.names, commands: page.work }] : []),
      ...runs,
      ...[...tasks.values()].map((task) => ({
        names: [task.number],
        commands: [...moreTaskCommands(task), ...taskCommands(task)],
      })),
      ...(slots.data?.slots ?? [])
        .filter((slot) => !inRuns.has(slot.slot) && !inRuns.has(slot.name))
        .map((slot) => ({ names: [slot.slot, slot.name], commands: slotCommands(slot) })),
      ...(overview.data?.incidents ?? []).map((incident) => ({ names: [incident.id], commands: [resolveIncident(incident)] })),
      ...(servers.data?.servers ?? []).map((server) => ({
        names: [],
        commands: [...controlCommands(server), removeServer(server)],
      })),
      ...(rules.data?.rules ?? [])
        .filter((rule) => rule.source === "added")
        .map((rule) => ({ names: [], commands: [removeRule(rule)] })),
      ...(inbox.data?.proposals ?? []).map((proposal) => ({ names: [], commands: proposalCommands(proposal) })),
      ...(access.data?.access ?? []).map((each) => ({ names: [], commands: [revokeAccess(each)] })),
    ];
    return things.flatMap(({ names, commands }) => {
      const isHere = names.some((name) => name && here.has(name));
      return commands.map((command) => ({ ...command, isHere }));
    });
  }, [overview.data, questions.data, slots.data, rules.data, servers.data, access.data, inbox.data, board.data, named, shown, here, page]);
}

const linesOf = (overview: OverviewReport | undefined): OverviewLine[] => [
  ...(overview?.needs_you ?? []),
  ...(overview?.working ?? []),
  ...(overview?.idle ?? []),
];

/** An agent that runs and can be told something. */
function asRun(line: OverviewLine): Thing[] {
  const { execution, slot, task, title } = line;
  if (!execution || !slot || !canBeTold(line)) return [];
  const run = task ? { execution, slot, name: task, about: title } : { execution, slot, name: title };
  return [{ names: [execution, slot, task], commands: runCommands(run) }];
}

const agentOf = ({ origin }: Question): (string | null | undefined)[] => [
  "execution" in origin ? origin.execution : undefined,
  "slot" in origin ? origin.slot : undefined,
];

function useTask(number: string | undefined): TaskFacts | undefined {
  const details = useOperation("board_show", { task: `T-${number}` }, { enabled: number !== undefined });
  const { task, attempts } = details.data ?? {};
  return useMemo(
    () => (number && task ? { ...task, hasWork: attempts?.some((attempt) => attempt.branch) ?? false } : undefined),
    [number, task, attempts],
  );
}

interface Page {
  /** What the open page is about. */
  names: string[];
  /** What can be done with its work, if it is a review of some. */
  work?: Command[];
}

function usePage(overview: OverviewReport | undefined): Page {
  const [location] = useLocation();
  const search = useSearch();
  const [, view = "", id = ""] = location.split("/").map(decoded);
  const at = new URLSearchParams(search).get("at");
  const run = useOperation("execution_show", { execution: id }, { enabled: view === "executions" && id !== "" });
  const work = useOperation("worktree_diff", { worktree: id }, { enabled: view === "review" && id !== "" });
  const task = useOperation("board_show", { task: work.data?.task ?? "" }, { enabled: view === "review" && Boolean(work.data?.task) });
  // Now selects its first line as long as no other is.
  const project = new URLSearchParams(search).get("repo") ?? "";
  const first = linesOf(overview).find((line) => isOfProject(project, line.repository?.path));
  const onNow = view === "" ? (at ?? (first ? keyOf(first) : undefined)) : undefined;
  const status = task.data?.task.status;
  return useMemo(() => {
    if (view === "") return { names: onNow ? [onNow] : [] };
    if (view === "executions") return { names: [id, run.data?.task ?? ""] };
    if (view !== "review" || !work.data) return { names: [id] };
    const name = work.data.task ?? work.data.branch ?? id;
    const names = [id, name];
    const commands = [
      ...(canBeMerged(work.data, status) ? mergeCommands(id, name) : []),
      ...(work.data.path && !work.data.in_use ? [discardCommand(id, name)] : []),
    ];
    const about = work.data.title ? { about: work.data.title } : {};
    return { names, work: commands.map((command) => ({ ...command, ...about })) };
  }, [view, id, onNow, run.data?.task, work.data, status]);
}

/** These names, and those of the agents and tasks that go by one of them. */
function belongingTo(names: string[], overview: OverviewReport | undefined): Set<string> {
  const all = new Set(names.filter(Boolean));
  for (const line of linesOf(overview)) {
    const its = [line.question ? `Q-${line.question.number}` : undefined, line.task, line.execution, line.slot];
    if (its.some((name) => name && names.includes(name))) for (const name of its) if (name) all.add(name);
  }
  return all;
}
