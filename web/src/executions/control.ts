// What drives an agent, in words.

import type { Controller } from "../generated/operations";

export const DRIVERS: Record<Controller, string> = { structured: "its protocol", terminal: "its terminal" };

/** What drives it, and why where that is known: "its protocol, by `codex app-server`: …". */
export function driven(by: Controller, why: string | null | undefined): string {
  if (!why) return DRIVERS[by];
  return `${DRIVERS[by]}${why.startsWith("by ") ? ", " : ": "}${why}`;
}
