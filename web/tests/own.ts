// A conversation of the person's own, as Claude Code keeps it.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Stage } from "./stage";

const TRANSCRIPT = resolve("../crates/adapters/tests/transcripts/claude.jsonl");

/** Writes it into a home of Claude Code, with noise in it, and says where that is. */
export function writeOwn(stage: Stage): string {
  const home = join(stage.folder, "claude");
  const folder = join(home, "projects/-greet");
  mkdirSync(folder, { recursive: true });
  const session = "0c4aeb47-79c0-417a-a3bd-52a92665f810";
  const noise = {
    type: "user",
    uuid: "77aa0000-0000-4000-8000-000000000001",
    sessionId: session,
    cwd: stage.repository,
    timestamp: "2026-11-15T20:04:07.000Z",
    message: { role: "user", content: "<command-name>/context</command-name>" },
  };
  const text = readFileSync(TRANSCRIPT, "utf8").replaceAll("/src/app", stage.repository);
  writeFileSync(join(folder, `${session}.jsonl`), `${text.trimEnd()}\n${JSON.stringify(noise)}\n`);
  return home;
}

/** What the configuration says so that it is taken in, and what it costs. */
export function ownConfig(stage: Stage): string {
  return [
    "[conversations]",
    `projects = ["${stage.repository}"]`,
    "[[usage.prices]]",
    'model = "rehearsal*"',
    "input = 3",
    "output = 15",
    "cache_read = 0.3",
    "",
  ].join("\n");
}
