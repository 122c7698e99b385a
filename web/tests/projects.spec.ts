// One project at a time: the same switcher on every view of work, in the address.

import { cpSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, type Stage, test } from "./stage";

const ASKS = `rehearsal: 1
startup: 0.1
turns:
  - steps:
      - ask: {tool: Run, args: make install}
      - think: 120
`;

/** A task with an agent that asks, in each of two repositories. */
async function twoProjects(stage: Stage): Promise<string> {
  await stage.makeRepository();
  const harbour = join(stage.folder, "harbour");
  cpSync(stage.repository, harbour, { recursive: true });
  const args = [stage.script("asks", ASKS)];
  await stage.task("one", { title: "Greet the ships", args });
  await stage.task("two", { title: "Dredge the harbour", args, repository: harbour });
  await stage.autopilot("running");
  const open = async () => (await stage.call("question_list", { all: false })).questions.length;
  await expect.poll(open).toBe(2);
  return harbour;
}

const switcher = (page: Page) => page.getByRole("combobox", { name: "Repository" });

test("a project is chosen once and goes along from view to view", async ({ stage, board }) => {
  const harbour = await twoProjects(stage);
  const rows = board.locator(".now-row");
  await expect(rows).toHaveCount(2);
  await switcher(board).selectOption("harbour");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("Dredge the harbour");
  await expect(board).toHaveURL(new RegExp(`repo=${encodeURIComponent(harbour)}`));
  // A step in the list stays in it, and what waits elsewhere is counted on.
  await board.keyboard.press("j");
  await expect(board).toHaveURL(/repo=/);
  await expect(rows).toHaveCount(1);
  const rail = board.getByRole("navigation", { name: "Views" });
  await expect(rail.locator(".count")).toContainText("2");

  await rail.getByRole("link", { name: "Board" }).click();
  await expect(board.locator(".card")).toHaveCount(1);
  await expect(switcher(board)).toHaveValue(harbour);
  await rail.getByRole("link", { name: "Runs" }).click();
  await expect(board.getByRole("row", { name: /Dredge the harbour/ })).toBeVisible();
  await expect(board.getByRole("row", { name: /Greet the ships/ })).toHaveCount(0);
  await rail.getByRole("link", { name: "Review" }).click();
  const work = board.locator(".review-item");
  await expect(work).toHaveCount(1);
  await expect(work).toContainText("Dredge the harbour");
  await board.keyboard.press("g");
  await board.keyboard.press("t");
  await expect(switcher(board)).toHaveValue(harbour);
  const events = board.getByRole("region", { name: "Events" });
  await expect(events).toContainText("Dredge the harbour");
  await expect(events).not.toContainText("Greet the ships");
  await switcher(board).selectOption("All repositories");
  await expect(events).toContainText("Greet the ships");
  await expect(board).not.toHaveURL(/repo=/);
});

for (const [name, width, colorScheme] of [
  ["light", 1280, "light"],
  ["dark", 1280, "dark"],
  ["phone", 390, "light"],
] as const) {
  test(`the switcher has its place, ${name}`, async ({ stage, browser }) => {
    await twoProjects(stage);
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    await stage.trade(page);
    const address = await stage.address();
    for (const view of ["", "board", "executions", "review", "timeline"]) {
      await page.goto(`${address}/${view}`);
      await expect(switcher(page)).toBeVisible();
      await expect(page.getByText("Dredge the harbour").first()).toBeVisible();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(wide, view).toBeLessThanOrEqual(0);
      await page.screenshot({ path: `screenshots/project-${view || "now"}-${name}.png` });
    }
    await page.close();
  });
}
