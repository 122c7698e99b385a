import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "./stage";

test("a server is listed, its tool tried, and its state seen", async ({ stage, board }) => {
  await board.keyboard.press("g");
  await board.keyboard.press("o");
  await expect(board.getByRole("heading", { name: "No MCP server is listed" })).toBeVisible();
  mkdirSync(join(stage.home, "config"), { recursive: true });
  writeFileSync(
    join(stage.home, "config/mcp.toml"),
    `[servers.sums]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(resolve("tests/mcp-server.mjs"))}]\n`,
    { mode: 0o600 },
  );
  await board.reload();
  await board.getByRole("button", { name: "Start it and list its tools" }).click();
  await board.getByText("add", { exact: true }).click();
  await board.getByLabel("Arguments").fill('{"a": 20, "b": 22}');
  await board.getByRole("button", { name: "Call it" }).click();
  await expect(board.getByRole("region", { name: "Result" })).toHaveText("42");
  await expect(board.locator(".server-head").getByText("ready")).toBeVisible();
  await board.getByRole("button", { name: "stop" }).click();
  await expect(board.locator(".server-head").getByText("stopped")).toBeVisible();
});
