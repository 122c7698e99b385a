// Every view, in light, in dark and at phone width: nothing for axe to complain
// of, nothing wider than the screen, and a picture to look at.

import { mkdirSync } from "node:fs";

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { expect, type Stage, test } from "./stage";

const LOOKS = [
  { name: "light", viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  { name: "dark", viewport: { width: 1280, height: 800 }, colorScheme: "dark" },
  { name: "phone", viewport: { width: 390, height: 844 }, colorScheme: "light" },
] as const;

/** The addresses of all views, with something in each of them. */
async function furnish(stage: Stage): Promise<[string, string][]> {
  await stage.makeRepository();
  await stage.task("version");
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task: "T-1" })).task.status).toBe("done");
  await stage.task("bye", { labels: ["polite"], priority: "high" }, ["T-1"]);
  await stage.task("shout", {}, ["T-1"]);
  await stage.task("hola", {}, ["T-2"]);
  await stage.spawn("shell", ["sh"]);
  // One agent shows a dialog and one asks: both wait while we look around.
  await expect.poll(async () => (await stage.call("question_list", { all: false })).questions.length).toBe(2);
  const { slots } = await stage.call("slot_list", { all: false });
  const agent = slots.find((slot) => slot.name !== "shell");
  const { executions } = await stage.call("execution_list", { all: true });
  return [
    ["attention", "/attention"],
    ["board", "/board"],
    ["graph", "/board?as=graph"],
    ["task", "/board/T-1"],
    ["slots", "/slots"],
    ["slot", `/slots/${agent?.slot}`],
    ["runs", "/executions"],
    ["run", `/executions/${executions[0]?.execution}`],
    ["reviews", "/review"],
    ["review", "/review/T-1"],
    ["review-running", `/review/${(await stage.call("board_show", { task: "T-2" })).attempts[0]?.branch?.replaceAll("/", "%2F")}`],
    ["timeline", "/timeline"],
    ["tools", "/tools"],
    ["system-health", "/system/health"],
    ["system-logs", "/system/logs"],
    ["system-usage", "/system/usage"],
    ["system-incidents", "/system/incidents"],
    ["system-permissions", "/system/permissions"],
    ["system-access", "/system/access"],
    ["system-configuration", "/system/configuration"],
  ];
}

/** Its data is there: nothing loads any more. */
async function settled(page: Page): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
  await page.evaluate(() => document.fonts.ready);
}

test("every view is in order in light, dark and at phone width", async ({ stage, browser }) => {
  test.setTimeout(600_000);
  const views = await furnish(stage);
  const address = await stage.address();
  mkdirSync("screenshots", { recursive: true });
  const problems: string[] = [];
  for (const { name, ...look } of LOOKS) {
    const context = await browser.newContext({ ...look, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.on("pageerror", (error) => problems.push(`${name}: ${error.message}`));
    await stage.signIn(page).catch(async () => {
      // At phone width the rail is behind a button.
      await expect(page.getByRole("button", { name: "Views" })).toBeVisible();
    });
    for (const [view, path] of views) {
      await page.goto(address + path);
      await settled(page);
      await page.screenshot({ path: `screenshots/${view}-${name}.png` });
      const { violations } = await new AxeBuilder({ page }).analyze();
      for (const violation of violations) {
        problems.push(`${view} ${name}: ${violation.id} at ${violation.nodes.map((node) => node.target).join(", ")}`);
      }
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wider > 0) problems.push(`${view} ${name}: ${wider} pixels wider than the screen`);
    }
    await context.close();
  }
  expect(problems).toEqual([]);
});

test("the page can be walked through by keyboard, and says where one is", async ({ board }) => {
  await board.keyboard.press("?");
  await expect(board.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await board.keyboard.press("Escape");
  await board.keyboard.press("Control+k");
  await expect(board.getByRole("combobox", { name: /Go to/ })).toBeFocused();
  await board.keyboard.type("system");
  await board.keyboard.press("Enter");
  await expect(board).toHaveTitle("System · mission");
  await board.keyboard.press("g");
  await board.keyboard.press("b");
  await expect(board).toHaveTitle("Board · mission");
  await board.keyboard.press("n");
  await expect(board.getByRole("dialog", { name: "New task" })).toBeVisible();
  await expect(board.getByLabel("What is to be done, in one line")).toBeFocused();
});

test("it can be installed", async ({ stage, board }) => {
  const address = await stage.address();
  const manifest = await (await board.request.get(`${address}/manifest.webmanifest`)).json();
  expect(manifest.display).toBe("standalone");
  for (const icon of manifest.icons) {
    expect((await board.request.get(address + icon.src)).headers()["content-type"]).toContain("image/svg+xml");
  }
  const scope = await board.evaluate(async () => (await navigator.serviceWorker.ready).scope);
  expect(new URL(scope).pathname).toBe("/");
});
