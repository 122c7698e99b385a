// Figures as they are found, printed at once for whoever watches, and at the end
// as one JSON document with the conditions they were found under.

import { execFileSync } from "node:child_process";
import { cpus, loadavg, totalmem } from "node:os";

import type { Browser } from "@playwright/test";

interface Figure {
  name: string;
  value: number;
  unit: string;
  /** Below this is what is aimed at; none where there is nothing to aim at. */
  aim?: number;
}

const figures: Figure[] = [];
const problems: string[] = [];
const loadBefore = load();

function load(): number {
  return Number((loadavg()[0] ?? 0).toFixed(1));
}

/** Says that something could not be measured, and why. */
export function failed(what: string, error: unknown): void {
  const why = error instanceof Error ? error.message : String(error);
  problems.push(`${what}: ${why.split("\n")[0]}`);
  console.log(`${what} was not measured: ${why}`);
}

export const notMeasured = (): string[] => problems;

/** Keeps a figure and prints it. Nothing is a verdict: it depends on the machine. */
export function figure(name: string, value: number, unit: string, aim?: number): void {
  const rounded = Number(value.toPrecision(4));
  figures.push({ name, value: rounded, unit, ...(aim === undefined ? {} : { aim }) });
  const missed = aim !== undefined && value > aim ? "  missed" : "";
  const wanted = aim === undefined ? "" : `   aim ${aim}${missed}`;
  console.log(`${name.padEnd(64)}${`${rounded} ${unit}`.padStart(14)}${wanted}`);
}

export function report(browser: Browser): string {
  const [first] = cpus();
  const conditions = {
    at: new Date().toISOString(),
    processor: first?.model.trim() ?? "unknown",
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 1e9),
    load: { before: loadBefore, after: load() },
    browser: `Chromium ${browser.version()}, without a screen`,
    program: execFileSync(process.env.MISSION ?? "mission", ["--version"], { encoding: "utf8" }).trim(),
    build: /\/(debug|release)\//.exec(process.env.MISSION ?? "")?.[1] ?? "unknown",
  };
  return JSON.stringify({ conditions, figures, not_measured: problems }, null, 2);
}
