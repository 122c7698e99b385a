// An overview of many agents, for what cannot be had from as many real ones: how
// the page looks and holds up.

import type { Page } from "@playwright/test";

import type { OverviewLine, OverviewReport } from "../src/generated/operations";

const WORDS = ["Edits src/main.rs", "Thinks", "Runs cargo test --workspace", "Reads docs/ARCHITECTURE.md", "Writes its summary"];
const LAST = ["test result: ok. 212 passed; 0 failed", "error[E0308]: mismatched types", "✻ Pondering…", "+ 14 − 3 lib/greet.sh"];
const TITLES = ["Square roots of negative numbers", "Document every function", "Retry uploads that fail on a slow line", "Größe der Fenster merken"];
const ENGINES = ["claude", "codex", "gemini", "opencode", "rehearsal"];
const MINUTE = 60_000;

function line(number: number, round: number, more: Partial<OverviewLine> = {}): OverviewLine {
  const at = (minutes: number) => new Date(Date.now() - minutes * MINUTE).toISOString();
  return {
    kind: "works",
    title: `${TITLES[number % TITLES.length]} (${number})`,
    task: `T-${number}`,
    repository: { name: number % 3 ? "calc" : "greet", path: "/home/ann/calc" },
    execution: `execution_${number}`,
    slot: `T-${number}`,
    engine: ENGINES[number % ENGINES.length] ?? "claude",
    activity: WORDS[(number + round) % WORDS.length] ?? "Thinks",
    last_line: `${LAST[(number + round) % LAST.length]} · ${round}`,
    started_at: at(number % 90),
    since: at(number % 7),
    holds_place: true,
    tokens: { input: 900 * number, output: 70 * number + round, cache_read: 2000 * number, cache_write: 0, counted: 970 * number },
    cost: { microdollars: 12_345 * number },
    ...(number % 2 ? { checks: { round: 1, passed: 3, failed: number % 4 === 1 ? 1 : 0 } } : {}),
    ...more,
  };
}

/** A run or a terminal that belongs to no task. */
function alone(number: number, more: Partial<OverviewLine>): OverviewLine {
  return line(number, 0, { task: null, checks: null, last_line: null, ended_at: new Date(Date.now() - 12 * MINUTE).toISOString(), ...more });
}

/** A report with so many agents that work; `round` changes what each says. */
export function manyAgents(count: number, round = 0): OverviewReport {
  const allow = { options: ["Yes", "Yes, and do not ask again for pip", "No, tell it what to do instead"] };
  return {
    at: new Date().toISOString(),
    autopilot: "running",
    agents: count,
    max_agents: count,
    ready: 2,
    waiting: 5,
    needs_you: [
      line(901, 0, {
        kind: "asks",
        activity: "Asks: May it run pip install numpy?",
        last_line: null,
        question: { number: 31, headline: "May it run pip install numpy?", question: "Bash command: pip install numpy", ...allow, allows: "Yes", denies: "No, tell it what to do instead" },
      }),
      line(902, 0, {
        kind: "question",
        activity: "Asks: How loud shall it shout?",
        last_line: null,
        question: { number: 32, headline: "How loud shall it shout?", question: "How loud shall it shout?", options: ["one exclamation mark", "three exclamation marks"] },
      }),
      line(903, 0, {
        kind: "question",
        activity: "Asks: What shall the command be called?",
        last_line: null,
        question: { number: 33, headline: "What shall the command be called?", question: "What shall the command be called?" },
      }),
      line(906, 0, { kind: "error", activity: "The limit of the account is reached", last_line: null }),
      line(904, 0, { kind: "review", activity: "3 of 3 checks passed", last_line: null }),
      line(905, 0, { kind: "blocked", activity: "The check `grep -q div README.md` failed 3 times", last_line: null, holds_place: false }),
    ],
    working: [
      ...Array.from({ length: count - 1 }, (_, index) => line(count - index, round)),
      line(907, 0, { kind: "waits", activity: "Tried again in about 4 min after the check `make` failed", last_line: null, slot: null, holds_place: false }),
    ],
    idle: [],
    finished: [
      line(951, 0, { kind: "done", activity: "Merged into main", last_line: null, ended_at: new Date(Date.now() - 2 * MINUTE).toISOString() }),
      line(952, 0, { kind: "failed", activity: "Given up after 3 tries", last_line: null, ended_at: new Date(Date.now() - 9 * MINUTE).toISOString() }),
      line(953, 0, { kind: "not_kept", activity: "T-951 was kept", last_line: null, checks: { round: 1, passed: 0, failed: 0 }, ended_at: new Date(Date.now() - 9 * MINUTE).toISOString() }),
      alone(954, { kind: "crashed", activity: "Ended with exit 1" }),
      alone(956, { kind: "cancelled", activity: "Cancelled by you" }),
    ],
    terminals: [alone(957, { kind: "terminal", title: "shell", activity: "Opened by hand", engine: "generic", ended_at: null })],
    incidents: [],
    left_out: 0,
    seen_at: new Date(Date.now() - 40 * MINUTE).toISOString(),
    tokens_today: { input: 812_000, output: 41_000, cache_read: 3_200_000, cache_write: 9000, counted: 862_000 },
    cost_today: { microdollars: 4_210_000 },
  };
}

/** Answers the page's question what goes on in the daemon's stead, each time another round. */
export async function playAgents(page: Page, count: number): Promise<void> {
  let round = 0;
  await page.route("**/api/v1/ops/overview", (route) => route.fulfill({ json: manyAgents(count, round++) }));
}
