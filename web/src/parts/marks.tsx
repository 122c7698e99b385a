// States as a dot and a word. A tone says what it means to the person: work goes
// on, something waits, it went well, it went badly, nothing happens.

import type { BoardTaskStatus, CheckVerdict, Evidence, ExecutionLifecycle, ExecutionSummary, PtyState, SlotSummary } from "../generated/operations";

export type Tone = "work" | "wait" | "good" | "bad" | "rest";

interface Said {
  tone: Tone;
  word: string;
  busy?: boolean;
}

export function Mark({ tone, word, busy, title }: Said & { title?: string | undefined }) {
  return (
    <span className={busy ? "mark busy" : "mark"} data-tone={tone} title={title}>
      {word}
    </span>
  );
}

const SLOT: Record<PtyState, Said> = {
  starting: { tone: "rest", word: "starting", busy: true },
  idle: { tone: "rest", word: "idle" },
  thinking: { tone: "work", word: "thinking", busy: true },
  responding: { tone: "work", word: "responding", busy: true },
  tool_running: { tone: "work", word: "running a tool", busy: true },
  confirming: { tone: "wait", word: "asks" },
  slash_menu: { tone: "rest", word: "menu open" },
  error: { tone: "bad", word: "error" },
  unknown: { tone: "rest", word: "unknown" },
  exited: { tone: "rest", word: "exited" },
};

/** The engine of a program that is no agent's. */
export const GENERIC = "generic";

/** What cannot be told of a program that is no agent need not be: it is a terminal. */
export function SlotMark({ slot, title }: { slot: SlotSummary; title?: string }) {
  const { state } = slot.reading;
  const bare = slot.engine === GENERIC && (state === "unknown" || state === "starting");
  return <Mark {...(bare ? TERMINAL : SLOT[state])} title={title} />;
}

export const TERMINAL: Said = { tone: "rest", word: "terminal" };

export const slotTone = (state: PtyState): Tone => SLOT[state].tone;

const TASK: Record<BoardTaskStatus, Said> = {
  open: { tone: "rest", word: "open" },
  running: { tone: "work", word: "running", busy: true },
  review: { tone: "wait", word: "ready for review" },
  done: { tone: "good", word: "done" },
  failed: { tone: "bad", word: "failed" },
  blocked: { tone: "wait", word: "blocked" },
};

export function TaskMark({ status }: { status: BoardTaskStatus }) {
  return <Mark {...TASK[status]} />;
}

export const taskTone = (status: BoardTaskStatus): Tone => TASK[status].tone;

const LIFECYCLE: Record<ExecutionLifecycle, Said> = {
  starting: { tone: "rest", word: "starting", busy: true },
  running: { tone: "work", word: "running", busy: true },
  paused: { tone: "wait", word: "paused" },
  completed: { tone: "good", word: "done" },
  failed: { tone: "bad", word: "failed" },
  cancelled: { tone: "rest", word: "cancelled" },
  terminated: { tone: "bad", word: "terminated" },
};

/** A run in one word: whom it waits for says more than that it runs. */
export function runState(run: Pick<ExecutionSummary, "lifecycle" | "attention" | "activity" | "open_questions">): Said {
  if (run.lifecycle !== "running") return LIFECYCLE[run.lifecycle];
  if (run.open_questions > 0 || run.attention === "awaiting_operator") return { tone: "wait", word: "asks" };
  if (run.attention === "blocked") return { tone: "wait", word: "blocked" };
  if (run.activity === "idle") return { tone: "rest", word: "idle" };
  return { tone: "work", word: "working", busy: true };
}

/** Whether something was checked: that a task has no checks is on record as passed, too. */
export const isOfCheck = ({ passed, exit }: Evidence): boolean => !passed || exit != null;

/** How one check ended. */
export function checkMark(check: Evidence): Said {
  if (!isOfCheck(check)) return { tone: "rest", word: "not checked" };
  if (check.passed) return { tone: "good", word: "passed" };
  if (check.timed_out) return { tone: "bad", word: "took too long" };
  return { tone: "bad", word: check.exit == null ? `signal ${check.signal}` : `exit ${check.exit}` };
}

interface Checked {
  passed: number;
  failed: number;
}

/** What a round of checks came to. */
export function checkWords({ passed, failed }: Checked): string {
  const all = passed + failed;
  if (all === 0) return "no checks";
  if (failed === 0) return all === 1 ? "check passed" : `${all} checks passed`;
  return all === 1 ? "check failed" : `${failed} of ${all} checks failed`;
}

export function ChecksMark({ checks, title }: { checks: Checked; title?: string }) {
  const green = checks.passed > 0 ? "good" : "rest";
  return <Mark tone={checks.failed > 0 ? "bad" : green} word={checkWords(checks)} title={title} />;
}

/** What the checks of some work came to, if any ran. */
export function Checks({ verdict }: { verdict: CheckVerdict | null | undefined }) {
  if (!verdict) return <span>no checks ran</span>;
  return <ChecksMark checks={verdict} title={verdict.failed_checks.join("\n")} />;
}
