import { expect, test } from "./stage";

test("what happens is on the timeline at once, with its chain", async ({ stage, board }) => {
  await board.keyboard.press("g");
  await board.keyboard.press("t");
  await expect(board.locator(".event-kind", { hasText: "daemon started" })).toBeVisible();
  await stage.call("timeline_note", { text: "the tide turns", author: "test" });
  const line = board.locator(".event", { hasText: "the tide turns" });
  await expect(line).toBeVisible();
  await line.getByRole("button", { name: /chain/ }).click();
  await expect(board.getByRole("complementary", { name: "Causal chain" }).getByText("the tide turns")).toBeVisible();
  await board.getByLabel("Category").selectOption("board");
  await expect(line).toHaveCount(0);
  await stage.call("board_add", { task: { title: "A task of the test", isolation: "none" } });
  await expect(board.locator(".event", { hasText: "A task of the test" })).toBeVisible();
});
