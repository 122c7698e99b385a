// Measures the page in the browser: how soon the first view is there, what it
// loads, how it holds up with a thousand tasks and twenty busy terminals, what an
// hour of events leaves in memory. Figures are printed, none of them is a
// verdict: they depend on the machine.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import AxeBuilder from "@axe-core/playwright";
import type { Browser, Page } from "@playwright/test";

import { expect, type Stage, test } from "./stage";

const TASKS = 1000;
const TERMINALS = 20;
const BYTES_PER_SECOND = 100_000;
const WATCHED_MS = 15_000;
/** An hour at five events a second. */
const EVENTS = 18_000;

function print(name: string, value: string, aim = ""): void {
  console.log(`${name.padEnd(58)}${value.padStart(14)}${aim ? `   aim ${aim}` : ""}`);
}

async function signedIn(stage: Stage, browser: Browser) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await stage.signIn(page);
  return context;
}

test("first view, cold", async ({ stage, browser }) => {
  const state = await (await signedIn(stage, browser)).storageState();
  const address = await stage.address();
  const ready: number[] = [];
  let loaded = { scripts: 0, all: 0, paint: 0, largest: 0, shift: 0, blocked: 0 };
  for (let round = 0; round < 5; round++) {
    const context = await browser.newContext({ storageState: state, viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(observe);
    await page.goto(`${address}/attention`);
    await expect(page.getByRole("heading", { name: "Nothing waits for you" })).toBeVisible();
    ready.push(await page.evaluate(() => (window as unknown as Watched).ready));
    loaded = await page.evaluate(() => {
      const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
      const bytes = (list: PerformanceResourceTiming[]) => list.reduce((sum, entry) => sum + entry.encodedBodySize, 0);
      const watched = window as unknown as Watched;
      return {
        scripts: bytes(entries.filter((entry) => new URL(entry.name).pathname.endsWith(".js"))),
        all: bytes(entries),
        paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
        largest: watched.largest,
        shift: watched.shift,
        blocked: watched.blocked,
      };
    });
    await context.close();
  }
  const median = ready.toSorted((a, b) => a - b)[2] ?? 0;
  print("first view ready, cold load, median of 5", `${median.toFixed(0)} ms`, "under 1000 ms");
  print("JavaScript for the first view, compressed", `${(loaded.scripts / 1000).toFixed(0)} KB`, "under 250 KB");
  print("everything for the first view, compressed", `${(loaded.all / 1000).toFixed(0)} KB`);
  print("first contentful paint", `${loaded.paint.toFixed(0)} ms`);
  print("largest contentful paint", `${loaded.largest.toFixed(0)} ms`, "under 2500 ms");
  print("total blocking time", `${loaded.blocked.toFixed(0)} ms`, "under 200 ms");
  print("cumulative layout shift", loaded.shift.toFixed(3), "under 0.1");
});

interface Watched {
  ready: number;
  largest: number;
  shift: number;
  blocked: number;
  longest: number;
  frames: number;
}

/** Watches a page from its beginning. */
function observe(): void {
  const watched = window as unknown as Watched;
  Object.assign(watched, { ready: 0, largest: 0, shift: 0, blocked: 0, longest: 0, frames: 0 });
  const on = (type: string, take: (entry: PerformanceEntry) => void) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  on("largest-contentful-paint", (entry) => (watched.largest = entry.startTime));
  on("layout-shift", (entry) => (watched.shift += (entry as unknown as { value: number }).value));
  on("longtask", (entry) => (watched.blocked += Math.max(0, entry.duration - 50)));
  new MutationObserver(() => {
    if (!watched.ready && document.querySelector(".nothing, .waiting, .columns")) watched.ready = performance.now();
  }).observe(document, { subtree: true, childList: true });
}

/** The longest frame and how many there were, while something goes on. */
async function frames(page: Page, during: () => Promise<void>): Promise<{ longest: number; over100: number; rate: number }> {
  await page.evaluate(() => {
    const watched = window as unknown as { gaps: number[]; watching: boolean };
    watched.gaps = [];
    watched.watching = true;
    let last = performance.now();
    requestAnimationFrame(function frame(now) {
      watched.gaps.push(now - last);
      last = now;
      if (watched.watching) requestAnimationFrame(frame);
    });
  });
  await during();
  return page.evaluate(() => {
    const watched = window as unknown as { gaps: number[]; watching: boolean };
    watched.watching = false;
    const gaps = watched.gaps.slice(1);
    const time = gaps.reduce((sum, gap) => sum + gap, 0);
    return {
      longest: Math.max(...gaps),
      over100: gaps.filter((gap) => gap > 100).length,
      rate: (gaps.length / time) * 1000,
    };
  });
}

test("a thousand tasks and twenty busy terminals", async ({ stage, browser }) => {
  const lines = Array.from({ length: TASKS }, (_, index) =>
    JSON.stringify({
      key: `k${index}`,
      title: `Task ${index} of the thousand, with a title of ordinary length`,
      isolation: "none",
      labels: [`area-${index % 7}`],
      ...(index % 5 === 4 ? { depends_on: [`k${index - 1}`] } : {}),
      ...(index % 10 === 9 ? { status: "done" } : {}),
    }),
  );
  await stage.call("board_import", { format: "jsonl", text: lines.join("\n"), dry_run: false, defaults: {} });
  const text = join(stage.folder, "text");
  const line = (n: number) => `\u001b[3${(n % 6) + 1}m${String(n).padStart(6)}\u001b[0m the quick brown fox jumps over the lazy dog, again and again\r\n`;
  writeFileSync(text, Array.from({ length: 120 }, (_, n) => line(n)).join("").slice(0, BYTES_PER_SECOND / 10));
  const writer = `while :; do cat ${text}; sleep 0.1; done`;
  for (let number = 0; number < TERMINALS; number++) await stage.spawn(`busy-${number}`, ["sh", "-c", writer]);

  const context = await signedIn(stage, browser);
  const page = await context.newPage();
  const address = await stage.address();
  await page.goto(`${address}/slots`);
  await page.getByRole("button", { name: "small" }).click();
  await expect(page.locator(".tile .xterm-rows")).toHaveCount(TERMINALS);
  const watched = await frames(page, () => page.waitForTimeout(WATCHED_MS));
  print(`${TERMINALS} terminals at ${BYTES_PER_SECOND / 1000} KB/s: longest frame`, `${watched.longest.toFixed(0)} ms`, "under 100 ms");
  print("  frames over 100 ms, frames a second", `${watched.over100}, ${watched.rate.toFixed(0)}`);

  await page.goto(`${address}/board`);
  await expect(page.locator(".card").first()).toBeVisible();
  const busy = await frames(page, async () => {
    const until = Date.now() + WATCHED_MS;
    for (let number = 1; Date.now() < until; number++) {
      await stage.call("board_edit", {
        task: `T-${(number % 500) + 1}`,
        set: { labels: [`area-${number % 7}`, "changed"] },
      });
      await page.waitForTimeout(50);
    }
  });
  print(`${TASKS} tasks that change 20 times a second: longest frame`, `${busy.longest.toFixed(0)} ms`, "under 100 ms");
  print("  frames over 100 ms, frames a second", `${busy.over100}, ${busy.rate.toFixed(0)}`);
  await context.close();
});

test("an hour of events, as fast as they come", async ({ stage, browser }) => {
  const context = await signedIn(stage, browser);
  const page = await context.newPage();
  await page.goto(`${await stage.address()}/timeline`);
  await expect(page.locator(".event").first()).toBeVisible();
  const session = await context.newCDPSession(page);
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    return usedSize / 1e6;
  };
  const before = await heap();
  const began = Date.now();
  for (let done = 0; done < EVENTS; done += 60) {
    const notes = Array.from({ length: 60 }, (_, index) =>
      stage.call("timeline_note", { text: `event ${done + index} of the hour`, author: "bench" }),
    );
    await Promise.all(notes);
  }
  await expect(page.locator(".event", { hasText: `event ${EVENTS - 1} of the hour` })).toBeVisible();
  print(`${EVENTS} events, an hour at five a second, told in`, `${((Date.now() - began) / 1000).toFixed(0)} s`);
  print("heap before", `${before.toFixed(1)} MB`);
  print("heap after", `${(await heap()).toFixed(1)} MB`);
  await context.close();
});

test("accessibility and good practice, by view", async ({ stage, browser }) => {
  const context = await signedIn(stage, browser);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  const address = await stage.address();
  for (const view of ["attention", "board", "slots", "executions", "timeline", "tools", "system"]) {
    const response = await page.goto(`${address}/${view}`);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    const axe = await new AxeBuilder({ page }).analyze();
    const practice: [string, boolean][] = [
      ["a policy without inline scripts", /script-src 'self'(;|$)/.test(response?.headers()["content-security-policy"] ?? "")],
      ["no framing", /frame-ancestors 'none'/.test(response?.headers()["content-security-policy"] ?? "")],
      ["no sniffing", response?.headers()["x-content-type-options"] === "nosniff"],
      ["a language", (await page.getAttribute("html", "lang")) === "en"],
      ["a title", (await page.title()).length > 0],
      ["a description", (await page.locator('meta[name="description"]').count()) === 1],
      ["a viewport", (await page.locator('meta[name="viewport"]').count()) === 1],
      ["nothing from elsewhere", await page.evaluate(() => performance.getEntriesByType("resource").every((entry) => new URL(entry.name).host === location.host))],
    ];
    const failed = practice.filter(([, holds]) => !holds).map(([name]) => name);
    print(
      `${view}: axe rules passed, failed; good practice`,
      `${axe.passes.length}, ${axe.violations.length}; ${practice.length - failed.length}/${practice.length}`,
      failed.join(", ") || undefined,
    );
  }
  print("errors on the console", String(complaints.length), "0");
  await context.close();
});
