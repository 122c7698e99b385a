// Measures the page in the browser: how soon the first view is there, what it
// loads, how it holds up with a thousand tasks and twenty busy terminals, what an
// hour of events leaves in memory, and what Lighthouse says. Figures are printed,
// none of them is a verdict: they depend on the machine.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import AxeBuilder from "@axe-core/playwright";
import { type Browser, chromium, type TestInfo } from "@playwright/test";

import { playAgents } from "./agents";
import { failed, figure, notMeasured, report } from "./figures";
import { isInstalled, lighthouse } from "./lighthouse";
import { expect, type Stage, test } from "./stage";
import { type Frames, frames, observe, type Watched } from "./watching";

const TASKS = 1000;
const TERMINALS = 20;
const BYTES_PER_SECOND = 100_000;
const WATCHED_MS = 15_000;
/** An hour at five events a second. */
const EVENTS = 18_000;
const VIEWS = ["", "board", "slots", "executions", "review", "knowledge", "code", "conversations", "timeline", "tools", "system", "docs"];
const WINDOW = { width: 1440, height: 900 };

/** On a busy machine things take long, and are still to be measured. */
const seen = expect.configure({ timeout: 120_000 });

test.afterAll(({ browser }) => {
  console.log(report(browser));
  expect(notMeasured()).toEqual([]);
});

/**
 * One thing that is measured. What fails is said with the figures and keeps the
 * others from nothing: a test that failed would begin with no figures again.
 */
function measure(name: string, body: (args: Measuring) => Promise<void>): void {
  test(name, async ({ stage, browser }, info) => {
    await body({ stage, browser, info }).catch((error: unknown) => failed(name, error));
  });
}

interface Measuring {
  stage: Stage;
  browser: Browser;
  info: TestInfo;
}

async function signedIn(stage: Stage, browser: Browser) {
  const context = await browser.newContext({ viewport: WINDOW });
  const page = await context.newPage();
  await stage.signIn(page);
  await page.close();
  return context;
}

measure("first view, cold", async ({ stage, browser }) => {
  const signed = await signedIn(stage, browser);
  const state = await signed.storageState();
  await signed.close();
  const address = await stage.address();
  const ready: number[] = [];
  let loaded = { scripts: 0, all: 0, paint: 0, largest: 0, shift: 0, blocked: 0 };
  for (let round = 0; round < 5; round++) {
    const context = await browser.newContext({ storageState: state, viewport: WINDOW });
    const page = await context.newPage();
    await page.addInitScript(observe);
    await page.goto(address);
    await seen(page.getByRole("heading", { name: "First steps" })).toBeVisible();
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
  figure("first view ready, cold load, median of 5", ready.toSorted((a, b) => a - b)[2] ?? 0, "ms", 1000);
  figure("JavaScript for the first view, compressed", loaded.scripts / 1000, "KB", 250);
  figure("everything for the first view, compressed", loaded.all / 1000, "KB");
  figure("first contentful paint", loaded.paint, "ms");
  figure("largest contentful paint", loaded.largest, "ms", 2500);
  figure("total blocking time", loaded.blocked, "ms", 200);
  figure("cumulative layout shift", loaded.shift, "", 0.1);
});

function told(what: string, { longest, usual, over100, rate, task }: Frames, aim?: number): void {
  figure(`${what}: longest frame`, longest, "ms", aim);
  figure(`${what}: 99 of 100 frames within`, usual, "ms");
  figure(`${what}: frames over 100 ms`, over100, "", aim === undefined ? undefined : 0);
  figure(`${what}: frames a second`, rate, "");
  figure(`${what}: longest task of the page`, task, "ms");
}

const AGENTS = 200;

measure("two hundred agents on the first view", async ({ stage, browser }) => {
  const context = await signedIn(stage, browser);
  const page = await context.newPage();
  await playAgents(page, AGENTS);
  await page.mouse.move(700, 400);
  await page.goto(await stage.address());
  await seen(page.locator('[data-group="working"] .now-row')).toHaveCount(AGENTS);
  const { task } = await stage.call("board_add", { task: { title: "A task that changes", isolation: "none" } });
  const watched = await frames(page, async () => {
    const began = Date.now();
    for (let number = 0; Date.now() - began < WATCHED_MS; number++) {
      await stage.call("board_edit", { task: task.number, set: { labels: [`change-${number}`] } });
      // Through all of them, as who looks for one does.
      await page.mouse.wheel(0, number % 40 < 20 ? 400 : -400);
      await new Promise((done) => setTimeout(done, 45));
    }
  });
  told(`${AGENTS} agents on the first view, all of them changing`, watched, 100);
  await context.close();
});

measure("a thousand tasks and twenty busy terminals", async ({ stage, browser }) => {
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
  const line = (n: number) =>
    `\u001b[3${(n % 6) + 1}m@${String(n).padStart(6)}\u001b[0m the quick brown fox jumps over the lazy dog, again and again\r\n`;
  const written = Array.from({ length: 200 }, (_, n) => line(n)).join("");
  writeFileSync(text, written.slice(0, BYTES_PER_SECOND / 10));
  // All begin at once, when all are there: what is started beside twenty that
  // write is slow to start.
  const go = join(stage.folder, "go");
  // One process each that starts no other: what is measured is the page beside
  // twenty that write, not the making of four hundred processes a second. Nobody
  // writes to the pipe, so a read of it is a pause.
  const pipe = join(stage.folder, "pause");
  const writer = [
    `exec 9<>${pipe}; text=$(<${text})`,
    `until [ -e ${go} ]; do read -t 0.2 -u 9; done`,
    // Every line is another one each time: a screen that stays is not sent again.
    `while n=$((n + 1)); do printf '%s\\r\\n' "\${text//@/$n}"; read -t 0.1 -u 9; done`,
  ].join("; ");
  execFileSync("mkfifo", [pipe]);
  for (let number = 0; number < TERMINALS; number++) await stage.spawn(`busy-${number}`, ["bash", "-c", writer]);

  const address = await stage.address();
  const context = await signedIn(stage, browser);
  const page = await context.newPage();
  // Room for all of them: what is out of sight is not drawn.
  await page.setViewportSize({ width: 1920, height: 1300 });
  const recordings = join(stage.home, "data/recordings");
  const before = { bytes: sizeOf(recordings), at: Date.now() };
  writeFileSync(go, "");

  // The same machine under the same load, without our page: what is its own.
  await page.goto("about:blank");
  told("an empty page beside the terminals", await frames(page, () => page.waitForTimeout(WATCHED_MS)));

  await page.goto(`${address}/slots`);
  await page.getByRole("button", { name: "small" }).click();
  await seen(page.locator(".tile .screen[data-state=live] canvas")).toHaveCount(TERMINALS);
  const watched = await frames(page, () => page.waitForTimeout(WATCHED_MS));
  told(`${TERMINALS} terminals at ${BYTES_PER_SECOND / 1000} KB/s`, watched, 100);
  const rate = (sizeOf(recordings) - before.bytes) / (Date.now() - before.at) / TERMINALS;
  figure("what each terminal wrote, recorded", rate, "KB/s");

  await page.goto(`${address}/board`);
  await seen(page.locator(".card").first()).toBeVisible();
  let changes = 0;
  const busy = await frames(page, async () => {
    const began = Date.now();
    for (let number = 1; Date.now() - began < WATCHED_MS; number++) {
      // Every tenth is done, and a task that is done stays as it is.
      if (number % 10 === 0) continue;
      await stage.call("board_edit", {
        task: `T-${number % 900}`,
        set: { labels: [`area-${number % 7}`, "changed"] },
      });
      changes += 1;
      await new Promise((done) => setTimeout(done, 45));
    }
  });
  figure("changes of tasks a second", (changes * 1000) / WATCHED_MS, "");
  told(`${TASKS} tasks that change 20 times a second, beside the terminals`, busy, 100);
  await context.close();
});

/** Bytes in a folder and those below it. */
function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
}

measure("an hour of events, as fast as they come", async ({ stage, browser }) => {
  const { task } = await stage.call("board_add", { task: { title: "A task that changes all hour", isolation: "none" } });
  const context = await signedIn(stage, browser);
  const page = await context.newPage();
  await page.goto(`${await stage.address()}/timeline`);
  await seen(page.locator(".event").first()).toBeVisible();
  const session = await context.newCDPSession(page);
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    return usedSize / 1e6;
  };
  figure("heap before the hour", await heap(), "MB");
  const began = Date.now();
  for (let done = 0; done < EVENTS; done += 60) {
    const notes = Array.from({ length: 59 }, (_, index) =>
      stage.call("timeline_note", { text: `event ${done + index} of the hour`, author: "bench" }),
    );
    const changed = stage.call("board_edit", { task: task.number, set: { labels: [`minute-${done / 300}`] } });
    await Promise.all([...notes, changed]);
    if (done + 60 === EVENTS / 3 || done + 60 === (EVENTS / 3) * 2) {
      figure(`heap after ${((done + 60) / EVENTS) * 60} minutes of it`, await heap(), "MB");
    }
  }
  await seen(page.locator(".event", { hasText: `event ${EVENTS - 2} of the hour` })).toBeVisible();
  figure("heap after the hour", await heap(), "MB");
  figure(`${EVENTS} events, an hour at five a second, told in`, (Date.now() - began) / 1000, "s");
  await context.close();
});

measure("accessibility and good practice, by view", async ({ stage, browser }) => {
  const context = await signedIn(stage, browser);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  const address = await stage.address();
  for (const view of VIEWS) {
    const response = await page.goto(`${address}/${view}`);
    await seen(page.getByRole("heading", { level: 1 })).toBeVisible();
    await seen(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
    const axe = await new AxeBuilder({ page }).analyze();
    const policy = response?.headers()["content-security-policy"] ?? "";
    const practice: [string, boolean][] = [
      ["a policy without inline scripts", /script-src 'self'(;|$)/.test(policy)],
      ["no framing", /frame-ancestors 'none'/.test(policy)],
      ["no sniffing", response?.headers()["x-content-type-options"] === "nosniff"],
      ["a language", (await page.getAttribute("html", "lang")) === "en"],
      ["a title", (await page.title()).length > 0],
      ["a description", (await page.locator('meta[name="description"]').count()) === 1],
      ["a viewport", (await page.locator('meta[name="viewport"]').count()) === 1],
      [
        "nothing from elsewhere",
        await page.evaluate(() =>
          performance.getEntriesByType("resource").every((entry) => new URL(entry.name).host === location.host),
        ),
      ],
    ];
    const missing = practice.filter(([, holds]) => !holds).map(([name]) => name);
    const name = view || "now";
    figure(`${name}: rules of axe that hold`, axe.passes.length, "");
    figure(`${name}: rules of axe that are broken`, axe.violations.length, "", 0);
    figure(`${name}: good practice that is missing`, missing.length, "", 0);
    for (const broken of [...missing, ...axe.violations.map((violation) => violation.id)]) console.log(`  ${view || "now"}: ${broken}`);
  }
  figure("errors on the console", complaints.length, "", 0);
  for (const complaint of complaints) console.log(`  ${complaint}`);
  await context.close();
});

measure("what Lighthouse says, by view", async ({ stage, info }) => {
  if (!isInstalled()) throw new Error("Lighthouse is not there: `cargo xtask bench web` installs it");
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "mw-lighthouse-"));
  const options = info.project.use.launchOptions;
  const context = await chromium.launchPersistentContext(folder, {
    ...options,
    viewport: WINDOW,
    args: [...(options?.args ?? []), `--remote-debugging-port=${port}`],
  });
  const page = await context.newPage();
  await stage.signIn(page);
  await page.close();
  const address = await stage.address();
  for (const view of VIEWS) {
    const verdict = await lighthouse(`${address}/${view}`, port);
    for (const [category, score] of Object.entries(verdict.scores)) {
      figure(`lighthouse, ${view || "now"}: ${category}`, score, "of 100");
    }
    for (const audit of verdict.failed) console.log(`  ${view || "now"}: ${audit}`);
  }
  await context.close();
  rmSync(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (!address || typeof address === "string") throw new Error("there is no free port");
  return address.port;
}
