// Terminals: they stream, are taken over and handed back, and are played again.

import { expect, test } from "./stage";

test("a terminal streams, is typed into by who took it over, and is played again", async ({ stage, board }) => {
  const { slot } = await stage.spawn("shell", ["sh"]);
  await board.keyboard.press("g");
  await board.keyboard.press("s");
  const tile = board.locator('[data-slot="shell"]');
  await expect(tile.locator("canvas")).toBeVisible();
  await stage.call("slot_send", { slot, text: "echo a$((20+1))z", submit: true, when: "now", force: true });
  await expect(tile.locator("canvas")).toContainText("a21z");

  await tile.getByRole("link", { name: "shell" }).click();
  const rows = board.locator(".screen.alone .xterm-rows");
  await expect(rows).toContainText("a21z");
  await board.getByRole("button", { name: "Take over" }).click();
  await expect(board.getByText("you have the keyboard")).toBeVisible();
  await board.keyboard.type("echo b$((30+1))y\n");
  await expect(rows).toContainText("b31y");
  await board.getByRole("button", { name: "Hand back" }).click();
  await expect(board.getByText("watching")).toBeVisible();

  await board.getByRole("button", { name: "Recording" }).click();
  await expect(board.getByLabel("Recording of the terminal").locator(".xterm-rows")).toContainText("b31y");
  await board.getByRole("slider", { name: "Moment" }).fill("0");
  await expect(board.getByLabel("Recording of the terminal").locator(".xterm-rows")).not.toContainText("b31y");

  const picture = await board.request.get(`${await stage.address()}/api/v1/slots/${slot}/screenshot.png`);
  expect(picture.headers()["content-type"]).toContain("image/png");
});

test("why a slot is read as it is, and its end", async ({ stage, board }) => {
  const { slot } = await stage.rehearse("agent", "hello");
  await board.goto(`${await stage.address()}/slots/${slot}`);
  await expect(board.locator(".slot-state").getByText("idle")).toBeVisible();
  await expect(board.getByText("read by rehearsal")).toBeVisible();
  board.once("dialog", (dialog) => void dialog.accept());
  await board.getByRole("button", { name: "End it" }).click();
  await expect(board.getByText("Closed", { exact: true })).toBeVisible();
});
