import { expect, test } from "./stage";

test("a server is listed, its tool tried, and its state seen", async ({ stage, board }) => {
  await board.keyboard.press("g");
  await board.keyboard.press("o");
  await expect(board.getByRole("heading", { name: "No MCP server is listed" })).toBeVisible();
  stage.listServer();
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
