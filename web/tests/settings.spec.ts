// Settings, rules, servers and access, changed on the page.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import type { Page } from "@playwright/test";
import jsqr from "jsqr";

import { faults } from "./faults";
import { expect, test } from "./stage";

// A module of another kind: its function is its default, once or twice.
const decode = (jsqr as unknown as { default?: typeof jsqr }).default ?? jsqr;

const WRITTEN = "# Mine.\n[autopilot]\nmax_agents = 2 # not more\n";

async function fits(page: Page): Promise<void> {
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wider).toBe(0);
}

test("a bad value is refused in place, a good one is in force, and undo brings the file back", async ({ stage, board }) => {
  const { config_file } = await stage.call("daemon_status", {});
  mkdirSync(dirname(config_file), { recursive: true });
  writeFileSync(config_file, WRITTEN);
  await stage.call("daemon_control", { action: "reload_config" });
  await board.goto(`${await stage.address()}/system/settings`);
  const first = board.getByRole("region", { name: "Most used" });
  const agents = first.getByLabel("Agents at once");
  await expect(agents).toHaveValue("2");
  await agents.fill("0");
  await first.getByRole("button", { name: "Save" }).click();
  await expect(first.getByRole("alert")).toHaveText("autopilot.max_agents must be between 1 and 1000, but is 0");
  await expect(agents).toHaveAttribute("aria-invalid", "true");
  expect(readFileSync(config_file, "utf8")).toBe(WRITTEN);
  await board.screenshot({ path: "screenshots/settings-refused.png" });
  expect(await faults(board)).toEqual([]);

  await agents.fill("7");
  await agents.press("Enter");
  const toast = board.locator(".toast").filter({ hasText: "autopilot.max_agents is 7 now" });
  await expect(toast).toBeVisible();
  await expect(first.getByRole("alert")).toHaveCount(0);
  expect(readFileSync(config_file, "utf8")).toBe(WRITTEN.replace("= 2", "= 7"));
  expect((await stage.call("autopilot_show", {})).max_agents).toBe(7);
  await toast.getByRole("button", { name: "Undo" }).click();
  await expect(agents).toHaveValue("2");
  expect(readFileSync(config_file, "utf8")).toBe(WRITTEN);

  // A switch and a choice need no Save; what waits for a restart says so.
  await first.getByLabel("Desktop notifications").check();
  await expect.poll(() => readFileSync(config_file, "utf8")).toContain("desktop = true");
  await board.getByLabel("Search settings").fill("journals of new executions");
  await board.getByLabel("journal.store").selectOption("database");
  await expect(board.getByText("Takes effect after a restart; in force is")).toBeVisible();
  const changes = board.getByRole("region", { name: "List of changes" });
  await changes.getByRole("button", { name: "Undo the change of journal.store" }).first().click();
  await expect(board.getByText("Takes effect after a restart; in force is")).toHaveCount(0);
  expect(readFileSync(config_file, "utf8")).not.toContain("database");
  await expect(changes.getByText("undone").first()).toBeVisible();
  await board.getByLabel("Search settings").fill("");
  await board.getByLabel("Changed only").check();
  await expect(board.getByRole("heading", { name: "Notifications" })).toBeVisible();
  await expect(board.getByRole("heading", { name: "Knowledge", exact: true })).toHaveCount(0);
});

test("a price of one's own is typed in rows", async ({ stage, board }) => {
  await board.goto(`${await stage.address()}/system/settings`);
  await board.getByRole("button", { name: "Add a price" }).first().click();
  await board.getByLabel("Model 1").first().fill("my-model");
  await board.getByLabel("Input of model 1").first().fill("3");
  await board.getByLabel("Output of model 1").first().fill("15");
  await board.getByRole("button", { name: "Save" }).click();
  await expect(board.locator(".toast")).toContainText("usage.prices");
  const { keys } = await stage.call("config_show", {});
  expect(keys.find((key) => key.key === "usage.prices")?.data).toEqual([{ model: "my-model", input: 3, output: 15 }]);
  await board.goto(`${await stage.address()}/system/usage`);
  // Where no model was used, nobody wants to know whose prices those would be.
  await expect(board.getByRole("heading", { name: "Nothing was used in these days" })).toBeVisible();
  await expect(board.getByText(/Anthropic as of/)).toHaveCount(0);
});

test("your rules come first, and what would happen is shown part by part", async ({ stage, board }) => {
  await board.goto(`${await stage.address()}/system/permissions`);
  const yours = board.getByRole("region", { name: "Your rules", exact: true });
  await expect(yours.getByText("None yet.")).toBeVisible();
  await yours.getByLabel("Argument").fill("cargo test*");
  await yours.getByLabel("Tool", { exact: true }).fill("Bash");
  await yours.getByRole("button", { name: "Add rule" }).click();
  await expect(yours.getByText("P-1")).toBeVisible();
  await expect(board.getByText("Built-in rules")).toBeVisible();
  await expect(board.getByRole("region", { name: "List of built-in rules" })).toBeHidden();
  const asked = board.getByRole("form", { name: "What would happen if" });
  await asked.getByLabel("Command or argument").fill("cargo test --all && git push --force");
  await asked.getByRole("button", { name: "Check" }).click();
  const parts = board.getByRole("list", { name: "Parts of the command" });
  await expect(parts.getByRole("listitem")).toHaveCount(2);
  await expect(parts.getByRole("listitem").first()).toContainText(/allow.*cargo test --all.*by P-1/);
  await expect(parts.getByRole("listitem").last()).toContainText("git push --force");
  expect(await faults(board)).toEqual([]);
  await board.screenshot({ path: "screenshots/permissions-what-if.png" });
  await yours.getByRole("button", { name: "Remove P-1" }).click();
  await expect(yours.getByText("None yet.")).toBeVisible();
  await board.locator(".toast").filter({ hasText: "P-1 is removed" }).getByRole("button", { name: "Undo" }).click();
  await expect(yours.getByText("cargo test*")).toBeVisible();
  await yours.getByRole("button", { name: "Remove P-2" }).click();
  await expect(yours.getByText("None yet.")).toBeVisible();

  await yours.getByLabel("Tool", { exact: true }).fill("Read");
  await yours.getByRole("button", { name: "Add rule" }).click();
  await expect(yours.getByText("Read")).toBeVisible();
  await board.locator(".toast").filter({ hasText: "is in force" }).last().getByRole("button", { name: "Undo" }).click();
  await expect(yours.getByText("None yet.")).toBeVisible();
  const { rules } = await stage.call("permission_list", { decisions: 0 });
  expect(rules.filter((rule) => rule.source === "added" && rule.in_force)).toEqual([]);
});

test("a rule that was removed comes back as it was, with what it had left", async ({ stage, board }) => {
  const added = { tool: "Bash", argument: "git push*", path: "src/**", engine: "codex", server: "files", slot: "kitty" };
  await stage.call("permission_add", { effect: "deny", subject: added, seconds: 7200, uses: 3, by: "ann" });
  const rule = async () => (await stage.call("permission_list", { decisions: 0 })).rules.find((each) => each.source === "added");
  const before = await rule();
  await board.goto(`${await stage.address()}/system/permissions`);
  await board.getByRole("button", { name: "Remove P-1" }).click();
  await expect.poll(rule).toBe(undefined);
  await board.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await expect(board.getByText("The rule is in force again, as P-2.")).toBeVisible();
  const after = await rule();
  // Who brings it back is who stands for it.
  expect(after?.created_by).toBe("person");
  const rest = ({ name, created_at, created_by, expires_at, ...same }: NonNullable<typeof after>) => same;
  expect(after && rest(after)).toEqual(before && rest(before));
  const ends = (one: typeof after) => new Date(one?.expires_at ?? 0).getTime();
  expect(Math.abs(ends(after) - ends(before))).toBeLessThan(2000);
});

test("a server is added, refused with a reason, removed and brought back", async ({ stage, board }) => {
  await board.goto(`${await stage.address()}/tools`);
  await board.getByRole("button", { name: "Add server" }).first().click();
  const sheet = board.getByRole("dialog", { name: "Add an MCP server" });
  await sheet.getByLabel("Name", { exact: true }).fill("a__b");
  await sheet.getByLabel("Command").fill(process.execPath);
  await sheet.getByRole("button", { name: "Add" }).click();
  await expect(sheet.getByRole("alert")).toContainText("separates it from the tool");
  expect(await faults(board)).toEqual([]);
  await board.screenshot({ path: "screenshots/tools-add.png" });
  await sheet.getByLabel("Name", { exact: true }).fill("sums");
  await sheet.getByLabel("Arguments, one on each line").fill(join(process.cwd(), "tests/mcp-server.mjs"));
  await sheet.getByRole("button", { name: "Add" }).click();
  await expect(board.locator(".server-head").getByText("sums")).toBeVisible();
  const list = join(stage.home, "config/mcp.toml");
  const listed = readFileSync(list, "utf8");
  board.on("dialog", (dialog) => void dialog.accept());
  await board.getByRole("button", { name: "Remove" }).click();
  await expect(board.getByRole("heading", { name: "No MCP server is listed" })).toBeVisible();
  await board.locator(".toast").filter({ hasText: "removed" }).getByRole("button", { name: "Undo" }).click();
  await expect(board.locator(".server-head").getByText("sums")).toBeVisible();
  expect(readFileSync(list, "utf8")).toBe(listed);
});

test("a token is shown once, and a phone is paired by a code that works", async ({ stage, board, browser }) => {
  const address = await stage.address();
  await board.goto(`${address}/system/access`);
  await board.getByLabel("What the token is for").fill("ci");
  await board.getByRole("button", { name: "Create" }).click();
  const token = await board.getByRole("region", { name: "The token" }).innerText();
  const answer = await fetch(`${address}/api/v1/ops/health`, { method: "POST", headers: { authorization: `Bearer ${token.trim()}` } });
  expect(answer.status).toBe(200);
  await board.getByRole("button", { name: "Done" }).click();
  await expect(board.getByText(token.trim())).toHaveCount(0);
  await expect(board.getByRole("cell", { name: "ci", exact: true })).toBeVisible();
  // There is no way back, and that is said before.
  board.once("dialog", (dialog) => {
    expect(dialog.message()).toContain("this cannot be undone");
    void dialog.accept();
  });
  await board.getByRole("button", { name: "Revoke ci" }).click();
  await expect(board.getByRole("cell", { name: "ci", exact: true })).toHaveCount(0);

  await board.getByRole("button", { name: "Pair a phone" }).click();
  const sheet = board.getByRole("dialog", { name: "Pair a phone" });
  await expect(sheet.getByText("The daemon serves this machine only")).toBeVisible();
  await expect(sheet.getByText("http.hosts")).toBeVisible();
  await sheet.getByLabel("Address the phone uses").fill(address);
  const code = sheet.getByRole("img", { name: "QR code that signs a device in" });
  await expect(code).toBeVisible();
  expect(await faults(board)).toEqual([]);
  await board.screenshot({ path: "screenshots/access-pair.png" });
  const link = await read(board);
  expect(link.startsWith(`${address}/login#`)).toBe(true);
  const phone = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const page = await phone.newPage();
  await page.goto(link);
  await expect(page.getByRole("navigation", { name: "Main views" })).toBeVisible();
  await phone.close();
});

for (const look of [
  { name: "light", viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  { name: "dark", viewport: { width: 1280, height: 800 }, colorScheme: "dark" },
  { name: "phone", viewport: { width: 390, height: 844 }, colorScheme: "light" },
] as const) {
  test(`the pages that change things in ${look.name}`, async ({ stage, board }) => {
    stage.listServer();
    await stage.call("permission_add", { effect: "allow", subject: { tool: "Bash", argument: "git status*" } });
    await stage.call("config_set", { key: "autopilot.max_agents", value: 3 });
    await board.setViewportSize(look.viewport);
    await board.emulateMedia({ colorScheme: look.colorScheme });
    const address = await stage.address();
    for (const path of ["system/settings", "system/permissions", "system/access", "system/usage", "tools"]) {
      await board.goto(`${address}/${path}`);
      await expect(board.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(board.locator(".lines")).toHaveCount(0);
      expect(await faults(board)).toEqual([]);
      await fits(board);
      await board.screenshot({ path: `screenshots/${path.replace("/", "-")}-${look.name}.png`, fullPage: true });
    }
    expect(existsSync((await stage.call("daemon_status", {})).config_file)).toBe(true);
  });
}

/** What the QR code on the page says, read from its squares by another program. */
async function read(page: Page): Promise<string> {
  const code = page.locator("svg.qr");
  const size = Number((await code.getAttribute("viewBox"))?.split(" ")[2]);
  const path = (await code.locator("path").getAttribute("d")) ?? "";
  const scale = 6;
  const width = size * scale;
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255);
  for (const [, x, y] of path.matchAll(/M(\d+) (\d+)h/g)) {
    for (let down = 0; down < scale; down++) {
      const start = ((Number(y) * scale + down) * width + Number(x) * scale) * 4;
      for (let at = start; at < start + scale * 4; at += 4) pixels.fill(0, at, at + 3);
    }
  }
  return decode(pixels, width, width)?.data ?? "";
}
