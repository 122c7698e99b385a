// What an agent is started with.

import type { Permission } from "../generated/operations";

/** An engine that follows a script instead of a model. */
export const REHEARSAL = "rehearsal";

export const PERMISSIONS: { value: Permission; name: string; says: string }[] = [
  { value: "ask", name: "Ask first", says: "It asks before it edits or runs anything." },
  { value: "accept-edits", name: "Accept edits", says: "It edits files by itself and asks before it runs commands." },
  { value: "plan", name: "Plan only", says: "It reads and plans, and changes nothing." },
  { value: "bypass", name: "Allow everything", says: "It never asks. Use it only where nothing can be broken." },
];

/** A line as a program and its arguments; quotes hold words together. */
export function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((found) => found[1] ?? found[2] ?? found[3] ?? "");
}

/** Words as the line they are read from. */
export const line = (run: string[]): string =>
  run.map((word) => (word === "" || /[\s'"]/.test(word) ? `"${word.replaceAll('"', "'")}"` : word)).join(" ");
