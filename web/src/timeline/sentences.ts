// Events as sentences, and what each is about, so that one can go there.

import type { Event, TimelineEvent } from "../generated/operations";
import type { Tone } from "../parts/marks";

export interface Told {
  sentence: string;
  tone: Tone;
  /** Where one sees more of it. */
  href?: string;
}

export function tell({ event }: TimelineEvent): Told {
  const told = sentenceOf(event);
  const href = whereOf(event);
  return href ? { ...told, href } : told;
}

/**
 * What people tell each other of a day: who took what on, asked, answered, checked,
 * merged, failed. Everything else is detail.
 */
const STORY = new Set<Event["type"]>([
  "board_task_created",
  "board_task_updated",
  "board_task_claimed",
  "board_alternative_kept",
  "checks_finished",
  "question_created",
  "question_answered",
  "question_dismissed",
  "slot_anomaly_found",
  "execution_ended",
  "execution_access_refused",
  "usage_limit_reached",
  "prompt_stalled",
  "autopilot_changed",
  "note_added",
  "incident_opened",
  "incident_resolved",
  "daemon_started",
  "daemon_stopped",
  "daemon_crash_found",
  "config_reloaded",
  "config_rejected",
  "permission_rule_added",
  "permission_rule_removed",
  "policy_changed",
  "policy_rejected",
  "access_granted",
  "access_revoked",
  "manifest_rejected",
  "beacon_lost",
]);

/** Whether an event is part of the story, by its kind and by what it says. */
export function isStory({ event }: TimelineEvent): boolean {
  if (!STORY.has(event.type)) return false;
  // That it runs is said by who took it on, that it is open by its creation.
  if (event.type === "board_task_updated") return event.status !== "running" && event.status !== "open";
  if (event.type === "execution_ended") return event.lifecycle !== "completed";
  return true;
}

/** The kinds of the story, for the daemon to look for. */
export const STORY_KINDS: string[] = [...STORY];

/** What happened, in a word or two. */
export function kindOf(event: Event): string {
  switch (event.type) {
    case "board_task_created":
      return "created";
    case "board_task_claimed":
      return "claimed";
    case "board_alternative_kept":
      return "kept";
    case "board_task_updated":
      return event.status;
    case "checks_finished":
      return "checked";
    case "question_created":
    case "input_requested":
      return "asked";
    case "question_answered":
      return "answered";
    case "question_dismissed":
      return "dismissed";
    case "execution_ended":
      return `run ${spaced(event.lifecycle)}`;
    case "autopilot_changed":
      return "autopilot";
    case "note_added":
      return "note";
    default:
      return spaced(event.type);
  }
}

function whereOf(event: Event): string | undefined {
  const fields = event as Record<string, unknown>;
  if (typeof fields.execution === "string") return `/executions/${fields.execution}`;
  if (typeof fields.slot === "string") return `/slots/${fields.slot}`;
  if (typeof fields.task === "string" && event.type.startsWith("board_")) return `/board/${fields.task}`;
  if (event.type === "checks_finished") return `/board/${event.task}`;
  if (event.type.startsWith("question_")) return "/";
  if (event.type.startsWith("incident_") || event.type === "daemon_crash_found") return "/system/incidents";
  if (event.type.startsWith("mcp_")) return "/tools";
  if (event.type === "turn_extracted") return `/conversations/${event.conversation}`;
  if (event.type === "kb_batch_mutated") return "/knowledge";
  if (event.type === "kb_conflict_detected") return `/knowledge/entry/${event.entry}`;
  if (event.type === "code_indexed") return `/code/repository?${new URLSearchParams({ repo: event.root })}`;
  if (event.type === "beacon_moved" || event.type === "beacon_lost") {
    return `/code/beacons?${new URLSearchParams({ repo: event.root })}`;
  }
  return undefined;
}

const RELATIONS: Record<string, string> = {
  prerequisite: "needs",
  supersedes: "holds instead of",
  contradicts: "contradicts",
  refines: "says more than",
  duplicate: "repeats",
};

const spaced = (word: string) => word.replaceAll("_", " ");

function sentenceOf(event: Event): { sentence: string; tone: Tone } {
  switch (event.type) {
    case "pty_state_changed":
      return { sentence: `${spaced(event.from)} → ${spaced(event.to)}: ${event.reason}`, tone: "rest" };
    case "confirm_required":
      return { sentence: `asks: ${event.title}`, tone: "wait" };
    case "confirm_resolved":
      return { sentence: `${event.chosen}, by ${event.by}`, tone: "good" };
    case "dialog_answered":
      return { sentence: `${event.question} ${event.option}`, tone: "good" };
    case "message_delivery":
      return { sentence: `message ${event.outcome}${event.reason ? `: ${event.reason}` : ""}`, tone: "rest" };
    case "board_task_created":
      return { sentence: event.title, tone: "rest" };
    case "board_task_updated":
      return {
        sentence: `is ${event.status}`,
        tone: event.status === "done" ? "good" : event.status === "failed" ? "bad" : event.status === "blocked" ? "wait" : "work",
      };
    case "board_alternative_kept":
      return { sentence: `instead of ${event.instead_of.join(", ")}`, tone: "good" };
    case "board_task_claimed":
      return { sentence: "an agent works on it", tone: "work" };
    case "board_phase_changed":
      return { sentence: `${event.from} → ${event.to}`, tone: "work" };
    case "checks_finished":
      return {
        sentence: `${event.passed} passed, ${event.failed} failed`,
        tone: event.failed > 0 ? "bad" : "good",
      };
    case "question_created":
      return { sentence: "waits for an answer", tone: "wait" };
    case "question_answered":
      return { sentence: `answered by ${event.by}`, tone: "good" };
    case "question_dismissed":
      return { sentence: `dismissed by ${event.by}`, tone: "rest" };
    case "slot_created":
      return { sentence: `${event.name}, ${event.engine}`, tone: "rest" };
    case "controller_changed":
      return { sentence: `driven by its ${event.controller === "terminal" ? "terminal" : "protocol"}`, tone: "rest" };
    case "slot_closed":
      return { sentence: event.reason, tone: "rest" };
    case "slot_anomaly_found":
      return { sentence: `${spaced(event.anomaly)}: ${event.detail}`, tone: "wait" };
    case "execution_started":
      return { sentence: `${event.engine} in ${event.cwd.split("/").pop() || event.cwd}`, tone: "work" };
    case "execution_state_changed":
      return {
        sentence: [event.lifecycle, event.attention, event.activity].map(spaced).join(", "),
        tone: event.attention === "awaiting_operator" || event.attention === "blocked" ? "wait" : "rest",
      };
    case "execution_signal":
      return { sentence: `${spaced(event.signal)}, ${event.outcome}`, tone: "rest" };
    case "input_requested":
      return { sentence: event.question, tone: "wait" };
    case "execution_ended":
      return { sentence: event.lifecycle, tone: event.lifecycle === "completed" ? "good" : "bad" };
    case "cli_request_completed":
      return { sentence: `${event.input_tokens} tokens in, ${event.output_tokens} out`, tone: "rest" };
    case "turn_extracted":
      return { sentence: "a turn of a conversation is over", tone: "rest" };
    case "usage_limit_reached":
      return { sentence: `the limit of ${event.engine} is reached`, tone: "wait" };
    case "execution_access_refused":
      return { sentence: event.reason, tone: "bad" };
    case "daemon_started":
      return { sentence: `version ${event.version}, process ${event.pid} on ${event.host}`, tone: "good" };
    case "daemon_stopped":
      return { sentence: event.reason, tone: "rest" };
    case "daemon_crash_found":
      return { sentence: `process ${event.pid} on ${event.host} ended without closing`, tone: "bad" };
    case "config_reloaded":
      return { sentence: event.changed.join(", ") || "nothing changed", tone: "good" };
    case "config_changed":
      return {
        sentence: `${event.key}: ${event.old ?? "not set"} → ${event.new ?? "not set"}${event.undoes ? `, undoes change ${event.undoes}` : ""}`,
        tone: "work",
      };
    case "permission_rule_added":
      return { sentence: `${event.rule} by ${event.by}: ${event.sentence}`, tone: "work" };
    case "permission_rule_removed":
      return { sentence: `${event.rule} by ${event.by}: ${event.sentence}`, tone: "rest" };
    case "access_granted":
      return { sentence: event.kind === "token" ? `token ${event.name}` : `${event.name} logged in`, tone: "work" };
    case "access_revoked":
      return { sentence: event.kind === "token" ? `token ${event.name}` : `${event.name} logged out`, tone: "rest" };
    case "policy_changed":
      return { sentence: [`${event.file}: ${event.rules} rules`, ...event.warnings].join("; "), tone: "work" };
    case "egress_decided":
      return {
        sentence: `${event.caller}: ${event.host}:${event.port} ${event.outcome}, ${event.reason}`,
        tone: event.outcome === "allowed" ? "good" : "bad",
      };
    case "policy_rejected":
    case "config_rejected":
    case "manifest_rejected":
      return { sentence: event.error, tone: "bad" };
    case "autopilot_changed":
      return { sentence: `${event.mode} by ${event.by}: ${event.reason}`, tone: "work" };
    case "note_added":
      return { sentence: `${event.author}: ${event.text}`, tone: "rest" };
    case "incident_opened":
      return { sentence: event.summary, tone: "bad" };
    case "incident_resolved":
      return { sentence: `by ${event.by}`, tone: "good" };
    case "consumer_failed":
      return { sentence: `${event.consumer}: ${event.error}`, tone: "bad" };
    case "mcp_tool_called":
      return {
        sentence: `${event.server}__${event.tool}: ${spaced(event.outcome)} in ${Math.round(event.micros / 1000)} ms`,
        tone: event.outcome === "done" ? "good" : "bad",
      };
    case "mcp_server_state_changed":
      return { sentence: `${event.server}: ${event.from} → ${event.to}`, tone: "rest" };
    case "mcp_tools_listed":
      return { sentence: `${event.server}: ${event.tools} tools, ${event.held.length} held`, tone: "rest" };
    case "kb_batch_mutated": {
      const parts = [
        event.added > 0 ? `${event.added} added` : "",
        event.revised > 0 ? `${event.revised} revised` : "",
        event.archived > 0 ? `${event.archived} archived` : "",
      ];
      return { sentence: parts.filter(Boolean).join(", ") || "nothing changed", tone: "good" };
    }
    case "kb_conflict_detected":
      return {
        sentence: `an entry ${RELATIONS[event.relation] ?? spaced(event.relation)} another`,
        tone: event.relation === "contradicts" ? "wait" : "rest",
      };
    case "code_indexed":
      return { sentence: `${event.root}: ${event.changed} changed, ${event.gone} gone`, tone: "rest" };
    case "beacon_moved":
      return { sentence: `${event.beacon}: ${spaced(event.trail)}, now ${event.to}`, tone: "work" };
    case "beacon_lost":
      return { sentence: `${event.beacon} is lost; it was ${event.from}`, tone: "bad" };
    case "prompt_stalled":
      return { sentence: "a prompt was typed and not taken", tone: "wait" };
    default:
      return { sentence: plainly(event), tone: "rest" };
  }
}

/** For kinds that have no sentence of their own: their fields. */
function plainly(event: Event): string {
  return Object.entries(event)
    .filter(([name, value]) => name !== "type" && value !== null)
    .map(([name, value]) => `${spaced(name)} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}
