// Lighthouse, driving a browser that is signed in already. It needs no network:
// what it loads is the page of the daemon.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

export interface Verdict {
  /** By category, 0 to 100. */
  scores: Record<string, number>;
  /** What cost points, with what was found. */
  failed: string[];
}

interface Audit {
  title: string;
  score: number | null;
  scoreDisplayMode: string;
  displayValue?: string;
}

interface Result {
  lhr: {
    categories: Record<string, { score: number | null; auditRefs: { id: string; weight: number }[] }>;
    audits: Record<string, Audit>;
    runtimeError?: { message: string };
  };
}

type Lighthouse = (url: string, flags: object, config: object) => Promise<Result | undefined>;

const folder = resolve("lighthouse/node_modules/lighthouse");

export const isInstalled = (): boolean => existsSync(folder);

/** Looks at one address, in the browser whose protocol is at this port. */
export async function lighthouse(url: string, port: number): Promise<Verdict> {
  const load = async <T>(path: string) => (await import(pathToFileURL(resolve(folder, path)).href)) as { default: T };
  const { default: run } = await load<Lighthouse>("core/index.js");
  const { default: desktop } = await load<object>("core/config/desktop-config.js");
  const flags = {
    port,
    logLevel: "error",
    onlyCategories: ["performance", "accessibility", "best-practices"],
    // The session is a cookie: without it there is only the page that says so.
    disableStorageReset: true,
  };
  const result = await run(url, flags, desktop);
  if (!result || result.lhr.runtimeError) {
    throw new Error(`lighthouse: ${result?.lhr.runtimeError?.message ?? "no result"}`);
  }
  const { categories, audits } = result.lhr;
  const costly = Object.values(categories).flatMap((category) =>
    category.auditRefs.filter((ref) => ref.weight > 0).map((ref) => audits[ref.id]),
  );
  return {
    scores: Object.fromEntries(
      Object.entries(categories).map(([name, category]) => [name, Math.round((category.score ?? 0) * 100)]),
    ),
    failed: costly
      .filter((audit): audit is Audit => typeof audit?.score === "number" && audit.score < 0.9)
      .map((audit) => `${audit.title}${audit.displayValue ? ` (${audit.displayValue})` : ""}`),
  };
}
