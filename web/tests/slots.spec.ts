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
  await board.getByRole("button", { name: "Stop" }).click();
  await expect(board.getByText("Ended", { exact: true })).toBeVisible();
});

const ASKS = "rehearsal: 1\nstartup: 0.1\nturns:\n  - steps:\n      - ask: {tool: Run, args: make install}\n";

test("those that ask come first and are answered in the tile", async ({ stage, board }) => {
  await stage.rehearse("asks", stage.script("asks", ASKS), "go");
  await expect.poll(async () => (await stage.call("question_list", { all: false })).questions.length).toBe(1);
  await stage.spawn("shell", ["sh"]);
  await board.keyboard.press("g");
  await board.keyboard.press("s");
  await expect(board.locator(".tile")).toHaveCount(2);
  await expect(board.locator(".tile").first()).toHaveAttribute("data-slot", "asks");
  const asked = board.locator(".tile").first().locator(".open-question");
  await asked.getByRole("button", { name: "Deny" }).click();
  await expect(asked).toHaveCount(0);
});

test.describe("at phone width", () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test("a tile shows letters that can be read", async ({ stage, page }) => {
    const { slot } = await stage.spawn("shell", ["sh"]);
    await stage.trade(page);
    await page.goto(`${await stage.address()}/slots`);
    const canvas = page.locator('[data-slot="shell"] canvas');
    await stage.call("slot_send", { slot, text: "echo a$((20+1))z", submit: true, when: "now", force: true });
    await expect(canvas).toContainText("a21z");
    const columns = 120;
    expect(((await canvas.boundingBox())?.width ?? 0) / columns).toBeGreaterThan(6);
  });
});
