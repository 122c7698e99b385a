// Results of operations, kept while they are true. Each query is an operation
// with its parameters; an event on the timeline says which of them may have
// changed, and those on screen are read again, at most a few times a second.

import {
  keepPreviousData,
  QueryClient,
  useMutation,
  useQuery,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";

import type { TimelineEvent } from "../generated/operations";
import { call, type OperationName, type Params, type Result, Unreachable } from "./call";
import { live } from "./live";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => error instanceof Unreachable && count < 8,
      retryDelay: (count) => Math.min(250 * 2 ** count, 4000),
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

export function useOperation<O extends OperationName>(
  operation: O,
  params: Params<O>,
  options: { enabled?: boolean; refetchInterval?: number; placeholder?: "keep"; fresh?: boolean } = {},
): UseQueryResult<Result<O>> {
  return useQuery<Result<O>, Error, Result<O>>({
    queryKey: [operation, params],
    queryFn: ({ signal }) => call(operation, params, signal),
    ...(options.enabled === undefined ? {} : { enabled: options.enabled }),
    ...(options.refetchInterval ? { refetchInterval: options.refetchInterval } : {}),
    // No event tells of it: what was read before may not be so any more.
    ...(options.fresh ? { staleTime: 0, gcTime: 0 } : {}),
    // What was there before stays until the new is, so that nothing jumps.
    ...(options.placeholder ? { placeholderData: keepPreviousData } : {}),
  });
}

/** What people are asked and have not answered: counted, listed and marked in several views. */
export const useOpenQuestions = () => useOperation("question_list", { all: false });

export function useAction<O extends OperationName>(
  operation: O,
  then?: (result: Result<O>, params: Params<O>) => void,
): UseMutationResult<Result<O>, Error, Params<O>> {
  return useMutation<Result<O>, Error, Params<O>>({
    mutationFn: (params: Params<O>) => call(operation, params),
    onSuccess: (result, params) => {
      readAgainAfter(operation);
      then?.(result, params);
    },
  });
}

/** Who has just pressed a button sees at once what came of it. */
export function readAgainAfter(operation: OperationName): void {
  const changed = CHANGED_BY[operation] ?? [];
  for (const each of changed) readAt.delete(each);
  touch(changed);
}

const BOARD: OperationName[] = ["board_list", "board_show", "board_ready", "board_graph", "autopilot_show", "overview"];
const QUESTIONS: OperationName[] = ["question_list", "daemon_status", "overview"];
const SLOTS: OperationName[] = ["slot_list", "slot_explain", "overview"];
const EXECUTIONS: OperationName[] = ["execution_list", "execution_show", "execution_journal", "overview"];
const TOOLS: OperationName[] = ["mcp_server_list", "mcp_tool_list"];
// Not `kb_get`, which counts as use: an entry left open would seem useful for
// everything that is remembered meanwhile. Its page looks whether it must be.
const KNOWLEDGE: OperationName[] = ["kb_search", "kb_list", "kb_stats", "kb_conflicts", "kb_inbox", "kb_gc", "kb_map"];
const CODE: OperationName[] = ["code_list", "code_status", "code_search", "code_show", "code_map", "beacon_list"];
const CONVERSATIONS: OperationName[] = ["conversation_list", "conversation_show", "conversation_search"];
const INCIDENTS: OperationName[] = ["incident_list", "daemon_status", "overview"];

const SETTINGS: OperationName[] = ["config_show", "config_history"];

/**
 * The titles of all tasks. No event tells that a task is called otherwise, only that
 * something of it changed, which is far too often to read the whole board.
 */
export const TITLES = "titles";

type Kept = OperationName | typeof TITLES;

/** What our own actions change, read again without waiting for the event. */
const CHANGED_BY: Partial<Record<OperationName, Kept[]>> = {
  question_answer: QUESTIONS,
  question_dismiss: QUESTIONS,
  board_add: [...BOARD, "repository_list"],
  board_add_steps: [...BOARD, "repository_list"],
  demo_start: [...BOARD, "repository_list"],
  board_edit: [...BOARD, TITLES],
  board_note: ["board_show"],
  board_retry: BOARD,
  board_cancel: BOARD,
  board_alternative: BOARD,
  board_decompose: BOARD,
  autopilot_set: ["autopilot_show", "board_ready", "overview"],
  overview_seen: ["overview"],
  execution_message: EXECUTIONS,
  execution_answer: [...EXECUTIONS, ...QUESTIONS],
  execution_interrupt: EXECUTIONS,
  execution_cancel: [...EXECUTIONS, ...SLOTS],
  execution_start: [...EXECUTIONS, ...SLOTS],
  slot_kill: SLOTS,
  slot_spawn: SLOTS,
  incident_resolve: INCIDENTS,
  mcp_server_control: ["mcp_server_list"],
  mcp_server_add: [...TOOLS, "config_history"],
  mcp_server_remove: [...TOOLS, "config_history"],
  config_set: [...SETTINGS, "usage_report", "permission_list"],
  token_create: ["token_list"],
  token_revoke: ["token_list"],
  mcp_pin: TOOLS,
  mcp_tool_call: ["mcp_server_list"],
  review_send: EXECUTIONS,
  worktree_finish: ["worktree_list", "worktree_diff", ...BOARD],
  worktree_discard: ["worktree_list", "worktree_diff", "worktree_discard"],
  worktree_clean: ["worktree_list"],
  permission_add: ["permission_list"],
  permission_remove: ["permission_list"],
  kb_remember: [...KNOWLEDGE, "kb_get"],
  kb_forget: [...KNOWLEDGE, "kb_get"],
  kb_decide: KNOWLEDGE,
  kb_gc: [...KNOWLEDGE, "kb_get"],
  code_index: [...CODE, "repository_list"],
  beacon_set: ["beacon_list", "code_search", "code_show"],
  beacon_remove: ["beacon_list", "code_search", "code_show"],
  daemon_control: ["config_show", "daemon_status"],
};

/** What an event may have changed. */
function changedBy(event: TimelineEvent["event"]): Kept[] {
  switch (event.type) {
    case "board_task_created":
      return [...BOARD, TITLES];
    case "board_task_updated":
    case "board_phase_changed":
    case "board_alternative_kept":
    case "lease_expired":
      return BOARD;
    case "board_task_claimed":
    case "checks_finished":
      return [...BOARD, "worktree_list"];
    case "question_created":
    case "question_answered":
    case "question_dismissed":
    case "confirm_required":
    case "confirm_resolved":
    case "dialog_answered":
      return [...QUESTIONS, "execution_show", "execution_list", "slot_list"];
    case "pty_state_changed":
    case "slot_state_changed":
    case "slot_became_idle":
    case "slot_created":
    case "slot_recording_stalled":
    case "slot_recording_resumed":
    case "slot_anomaly_found":
    case "slot_anomaly_over":
      return SLOTS;
    case "controller_changed":
      return [...SLOTS, "execution_show"];
    case "slot_closed":
    case "session_completed":
      return [...SLOTS, ...EXECUTIONS, "worktree_list"];
    case "execution_started":
    case "execution_state_changed":
    case "execution_ended":
      return [...EXECUTIONS, "autopilot_show"];
    case "execution_signal":
    case "input_requested":
    case "message_delivery":
    case "cli_request_completed":
      return EXECUTIONS;
    case "autopilot_changed":
    case "usage_limit_reached":
      return ["autopilot_show", "board_ready", "overview"];
    case "incident_opened":
    case "incident_resolved":
      return INCIDENTS;
    case "kb_batch_mutated":
      // That something was forgotten is seldom enough to look.
      return event.archived > 0 ? [...KNOWLEDGE, "kb_get"] : KNOWLEDGE;
    case "kb_conflict_detected":
      return KNOWLEDGE;
    case "code_indexed":
      return [...CODE, "repository_list"];
    case "beacon_moved":
    case "beacon_lost":
      return CODE;
    case "turn_extracted":
      return CONVERSATIONS;
    case "config_reloaded":
      // Prices may have changed.
      return ["config_show", "usage_report", ...CONVERSATIONS];
    case "config_changed":
      return [...SETTINGS, "mcp_server_list"];
    case "config_rejected":
      return ["config_show"];
    case "permission_rule_added":
    case "permission_rule_removed":
      return ["permission_list"];
    case "access_granted":
    case "access_revoked":
      return ["token_list"];
    case "mcp_tools_listed":
      return TOOLS;
    // Not the tools: to list them would start a server that was just stopped.
    case "mcp_server_state_changed":
    case "mcp_tool_called":
      return ["mcp_server_list"];
    default:
      return [];
  }
}

/** Reads of one operation are at least this far apart, however much happens. */
const PAUSE_MS = 250;
/** What says everything at once takes the daemon longer, and is read less often. */
const PAUSES: Partial<Record<Kept, number>> = { overview: 1000, [TITLES]: 1000 };
const readAt = new Map<Kept, number>();
const waiting = new Set<Kept>();
let pause: ReturnType<typeof setTimeout> | undefined;

function touch(operations: Kept[]): void {
  if (operations.length === 0) return;
  for (const operation of operations) waiting.add(operation);
  if (pause) return;
  flush();
  pause = setTimeout(() => {
    pause = undefined;
    if (waiting.size > 0) touch([...waiting]);
  }, PAUSE_MS);
}

function flush(): void {
  for (const operation of [...waiting]) {
    // A read that is under way may have begun before the change. It is let to
    // end, because cancelling it each time would never show anything in a busy
    // hour, and the next one comes after it.
    if (queries.isFetching({ queryKey: [operation] }) > 0) continue;
    if (Date.now() - (readAt.get(operation) ?? 0) < (PAUSES[operation] ?? 0)) continue;
    readAt.set(operation, Date.now());
    waiting.delete(operation);
    void queries.invalidateQueries({ queryKey: [operation] });
  }
}

/** Keeps the cache true to what the live connection tells. */
export function followTimeline(): () => void {
  let was = live.state.kind;
  const unlisten = live.listen({
    events: (events) => touch([...new Set(events.flatMap((event) => changedBy(event.event)))]),
    reset: () => void queries.invalidateQueries(),
  });
  const unwatch = live.watch(() => {
    // What failed while the daemon was away, or is told by no event, is read anew.
    if (was === "lost" && live.state.kind === "live") void queries.invalidateQueries();
    was = live.state.kind;
  });
  return () => {
    unlisten();
    unwatch();
  };
}
