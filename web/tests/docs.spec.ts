// The documentation on the page: read, searched, looked up, and reached from elsewhere.

import type { Page } from "@playwright/test";

import { faults } from "./faults";
import { expect, test } from "./stage";

const title = (page: Page) => page.getByRole("heading", { level: 1 });
const contents = (page: Page) => page.getByRole("navigation", { name: "Pages" });
const search = (page: Page) => page.getByRole("combobox", { name: "Search the documentation" });
const found = (page: Page) => page.getByRole("listbox", { name: "Found in the documentation" }).getByRole("option");

/** Where the text is scrolled to. */
const scrolled = (page: Page) => page.locator(".docs-view").evaluate((view) => view.scrollTop);

test("a page is read, a link in it followed without loading anew, and the way back is where it was left", async ({ stage, board }) => {
  await board.goto(`${await stage.address()}/docs`);
  await expect(title(board)).toHaveText("Documentation");
  await expect(board).toHaveTitle("Docs · mission");
  await board.locator(".docs-summaries").getByRole("link", { name: /^The board/ }).click();
  await expect(board).toHaveURL(/\/docs\/guides\/board$/);
  await expect(title(board)).toHaveText("The board");
  await expect(board).toHaveTitle("The board · Docs · mission");
  await expect(contents(board).locator('[aria-current="page"]')).toHaveText("The board");
  await board.evaluate(() => Object.assign(window, { isSame: true }));

  const sections = board.getByRole("navigation", { name: "On this page" });
  await sections.getByRole("link", { name: "What waits for what" }).click();
  await expect(board).toHaveURL(/#what-waits-for-what$/);
  await expect(board.getByRole("heading", { name: "What waits for what" })).toBeInViewport();
  await expect(sections.locator("[aria-current]")).toHaveText("What waits for what");
  // The place is kept once the text stands still.
  await expect.poll(() => board.evaluate(() => history.state?.top)).toBe(await scrolled(board));
  const left = await scrolled(board);
  expect(left).toBeGreaterThan(0);

  await board.locator('.docs-text a[href^="/docs/reference/tasks"]').first().click();
  await expect(board).toHaveURL(/\/docs\/reference\/tasks/);
  await expect(title(board)).not.toHaveText("The board");
  await board.goBack();
  await expect(title(board)).toHaveText("The board");
  await expect.poll(() => scrolled(board)).toBe(left);

  await board.getByRole("navigation", { name: "Previous and next page" }).getByRole("link", { name: /^Next/ }).click();
  await expect(title(board)).not.toHaveText("The board");
  expect(await scrolled(board)).toBe(0);
  expect(await board.evaluate(() => "isSame" in window)).toBe(true);
});

test("an operation and a key are found by their names, by keys alone", async ({ stage, board }) => {
  await board.goto(`${await stage.address()}/docs`);
  await expect(title(board)).toBeVisible();
  await board.keyboard.press("f");
  await board.keyboard.type("board_add");
  await expect(found(board).first()).toContainText("board_add");
  await expect(found(board).first()).toHaveAttribute("aria-selected", "true");
  await board.keyboard.press("ArrowDown");
  await expect(found(board).nth(1)).toHaveAttribute("aria-selected", "true");
  await board.keyboard.press("ArrowUp");
  await board.keyboard.press("Enter");
  await expect(board).toHaveURL(/\/docs\/operation\/board_add$/);
  await expect(title(board)).toHaveText("board_add");
  await expect(found(board)).toHaveCount(0);
  expect(await faults(board)).toEqual([]);

  await search(board).fill("autopilot.max_agents");
  await expect(found(board).first()).toContainText("autopilot.max_agents");
  expect(await faults(board)).toEqual([]);
  await found(board).first().click();
  await expect(board).toHaveURL(/\/docs\/key\/autopilot\.max_agents$/);
  await expect(title(board)).toHaveText("autopilot.max_agents");
  // With a dot in it, the address is still that of a page and not of a file.
  expect((await board.request.get(board.url())).status()).toBe(200);

  // A section of a page, with the words that were looked for.
  await search(board).fill("same path never run");
  const section = found(board).filter({ hasText: "What waits for what" }).first();
  await expect(section.locator("mark").first()).toBeVisible();
  await section.click();
  await expect(board).toHaveURL(/\/docs\/guides\/board#what-waits-for-what$/);
  await expect(board.getByRole("heading", { name: "What waits for what" })).toBeInViewport();

  await search(board).fill("zzyzx");
  await expect(board.getByText("Nothing was found.")).toBeVisible();
  await expect(found(board)).toHaveCount(0);
});

test("operations and keys are folded, and narrowed by a field", async ({ stage, board }) => {
  await board.goto(`${await stage.address()}/docs/guides/board`);
  const pages = contents(board);
  await expect(pages.getByRole("link", { name: "board_add", exact: true })).toHaveCount(0);
  await pages.getByText("Operations", { exact: true }).click();
  await expect(pages.getByRole("link", { name: "board_add", exact: true })).toBeVisible();
  await pages.getByRole("searchbox", { name: "Filter: Operations" }).fill("slot_");
  await expect(pages.getByRole("link", { name: "board_add", exact: true })).toHaveCount(0);
  await pages.getByRole("link", { name: "slot_list", exact: true }).click();
  await expect(title(board)).toHaveText("slot_list");
  // What was typed stays from page to page.
  await expect(pages.getByRole("searchbox", { name: "Filter: Operations" })).toHaveValue("slot_");
});

test("a page that is not there says so and leads to the list", async ({ stage, board }) => {
  await board.goto(`${await stage.address()}/docs/guides/nowhere`);
  await expect(title(board)).toHaveText("There is no such page");
  await expect(board.getByText("The documentation has no page guides/nowhere.")).toBeVisible();
  expect(await faults(board)).toEqual([]);
  await board.getByRole("link", { name: "all pages", exact: true }).click();
  await expect(title(board)).toHaveText("Documentation");
});

test("the rail, the palette and a setting lead to the documentation", async ({ stage, board }) => {
  await board.getByRole("navigation", { name: "Help" }).getByRole("link", { name: "Docs" }).click();
  await expect(title(board)).toHaveText("Documentation");

  const palette = board.getByRole("listbox", { name: "Found", exact: true }).getByRole("option");
  await board.keyboard.press("Control+k");
  await board.keyboard.type("docs: the board");
  await expect(palette.first()).toContainText("Docs: The board");
  await board.keyboard.press("Enter");
  await expect(title(board)).toHaveText("The board");

  await board.keyboard.press("Control+k");
  await board.keyboard.type("board_add");
  await palette.filter({ hasText: "Docs: board_add" }).first().click();
  await expect(title(board)).toHaveText("board_add");

  await board.keyboard.press("Control+k");
  await board.keyboard.type("search the documentation");
  await expect(palette.first()).toContainText("Search the documentation");
  await board.keyboard.press("Enter");
  await expect(search(board)).toBeFocused();
  await expect(board).toHaveURL(/\/docs\/operation\/board_add$/);

  await board.goto(`${await stage.address()}/system/settings`);
  await board.getByRole("link", { name: "Docs of autopilot.max_agents" }).first().click();
  await expect(title(board)).toHaveText("autopilot.max_agents");
});

test("code is copied as it stands", async ({ stage, board, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await board.goto(`${await stage.address()}/docs/guides/board`);
  const code = board.locator(".docs-code").first();
  await code.hover();
  await code.getByRole("button", { name: "Copy this code" }).click();
  await expect(board.getByText("Copied.")).toBeVisible();
  const text = await code.locator("pre").textContent();
  expect(await board.evaluate(() => navigator.clipboard.readText())).toBe(text?.trimEnd());
});

test("at phone width the pages are behind a button, and tables scroll by themselves", async ({ stage, board }) => {
  await board.setViewportSize({ width: 390, height: 844 });
  await board.goto(`${await stage.address()}/docs/guides/page`);
  await expect(title(board)).toHaveText("The page");
  await expect(contents(board)).toBeHidden();
  const wider = () =>
    board.evaluate(() => [document.documentElement, ...document.querySelectorAll(".view")].map((each) => each.scrollWidth - each.clientWidth));
  expect(await wider()).toEqual([0, 0]);
  expect(await faults(board)).toEqual([]);
  await board.screenshot({ path: "screenshots/docs-read-phone.png" });

  await board.getByText("Pages", { exact: true }).click();
  await contents(board).getByRole("link", { name: "The board", exact: true }).click();
  await expect(title(board)).toHaveText("The board");
  await expect(contents(board)).toBeHidden();
  await search(board).fill("board_add");
  await expect(found(board).first()).toBeInViewport({ ratio: 1 });
  expect(await wider()).toEqual([0, 0]);
  await board.screenshot({ path: "screenshots/docs-found-phone.png" });
});
