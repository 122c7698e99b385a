// The daemon over time: its log, its numbers and what agents used, as they are.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { expect, test } from "./stage";

test("the log comes up by itself and is found by level and words", async ({ stage, board }) => {
  await board.goto(`${await stage.address()}/system/logs`);
  const log = board.getByRole("list", { name: "Lines of the log, newest first" });
  await expect(log).toContainText("ready");
  // A reload of the configuration is told by the log while we look.
  const { config_file } = await stage.call("daemon_status", {});
  mkdirSync(dirname(config_file), { recursive: true });
  writeFileSync(config_file, "[nonsense]\n");
  await stage.call("daemon_control", { action: "reload_config" }).catch(() => {});
  writeFileSync(config_file, '[log]\nlevel = "debug"\n');
  await stage.call("daemon_control", { action: "reload_config" });
  const { lines } = await stage.call("daemon_logs", { limit: 1 });
  await expect(log).toContainText(lines[0]?.message ?? "");
  await board.getByLabel("Words in the log").fill("READY");
  await expect(log.getByRole("listitem")).toHaveCount(1);
  await board.getByLabel("Words in the log").fill("no such words");
  await expect(board.getByText("Nothing of that is in the log")).toBeVisible();
});

test("a server that is listed and not started is not said to be one of none", async ({ stage, board }) => {
  stage.listServer();
  await stage.mission("down");
  await stage.start();
  await stage.signIn(board);
  await board.goto(`${await stage.address()}/system/health`);
  const servers = board.locator(".numbers > div", { hasText: "MCP servers" });
  await expect(servers).toContainText("none started");
  await stage.call("mcp_server_control", { server: "sums", action: "start" });
  await expect(servers).toContainText("1 of 1 well");
});

test("plots and usage show what there is", async ({ stage, board }) => {
  const { config_file } = await stage.call("daemon_status", {});
  mkdirSync(dirname(config_file), { recursive: true });
  writeFileSync(config_file, "[daemon]\nsample_secs = 1\n[autopilot]\ntokens_per_day = 1000\n");
  await stage.mission("down");
  await stage.start();
  await stage.makeRepository();
  const script = stage.script(
    "uses",
    [
      "rehearsal: 1",
      "startup: 0.1",
      "turns:",
      "  - uses: always",
      "    steps:",
      "      - usage: {input: 200, output: 50, cache_read: 900}",
      "      - write: {file: lib/version.sh, text: \"echo \\\"greet 1.0\\\"\\n\"}",
      "      - signal: {type: completed_claim, payload: {summary: Done.}}",
    ].join("\n"),
  );
  const task = await stage.task("version", { args: [script] });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task })).task.status).toBe("done");
  await stage.signIn(board);
  await board.goto(`${await stage.address()}/system/health`);
  await expect(board.getByRole("img", { name: /^Tasks done: 1 now/ })).toBeVisible();
  await expect(board.getByRole("img", { name: /^Memory: \d+/ })).toBeVisible();
  await expect(board.getByRole("img", { name: /^Calls: \d/ })).toBeVisible();
  // Moments are written one way everywhere, whatever the browser's language.
  await expect(board.getByText(/^since \d{1,2} \w{3} \d{4}, \d\d:\d\d$/)).toBeVisible();
  await board.getByRole("img", { name: /^Memory/ }).scrollIntoViewIfNeeded();
  await board.screenshot({ path: "screenshots/system-plots.png" });
  await board.goto(`${await stage.address()}/system/usage`);
  await expect(board.getByText("250 that count against budgets")).toBeVisible();
  await expect(board.getByRole("link", { name: new RegExp(task) })).toBeVisible();
  await expect(board.getByText("250 of 1,000")).toBeVisible();
  await board.screenshot({ path: "screenshots/system-usage-used.png" });
});
