// The board as it changes: by agents, by hand, and by a daemon that dies.

import { expect, test } from "./stage";

const column = (name: string) => `.column[data-column="${name}"]`;

test("the whole demo, watched and answered from the page", async ({ stage, page }) => {
  const demo = stage.demo();
  const hasBegun = async () => expect((await demo.stage.call("autopilot_show", {})).mode).toBe("running");
  await expect(hasBegun).toPass({ intervals: [100] });
  // From here on it would only allow and answer what agents ask. It stands still
  // instead, and that is left to the page.
  demo.process.kill("SIGSTOP");
  await demo.stage.call("permission_remove", { rule: "P-1" });
  await demo.stage.autopilot("paused");
  await demo.stage.signIn(page);
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await demo.stage.autopilot("running");
  // Two agents work at once while the page looks on, and their terminals stream.
  await expect(page.locator(`${column("running")} .card`)).toHaveCount(2);
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await expect(page.locator(".tile canvas").first()).toContainText("rehearsal", { ignoreCase: true });
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  const dialog = page.locator(".now-row", { hasText: "sh tests/run.sh bye" });
  await expect(dialog.getByRole("button", { name: "Allow once" })).toBeVisible();
  await dialog.getByRole("button", { name: "Allow once" }).click();
  await expect(dialog.getByRole("button", { name: "Allow once" })).toHaveCount(0);
  const question = page.locator(".now-row", { hasText: "How loud shall it shout?" });
  await question.getByRole("button", { name: "one exclamation mark" }).click();
  await expect(question).toHaveCount(0);
  demo.process.kill("SIGCONT");
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await expect(page.locator(`${column("done")} .card`)).toHaveCount(5, { timeout: 100_000 });
  expect(await demo.ended).toBe(0);
  // The demo itself would have shouted louder.
  expect(await demo.stage.git("show", "main:lib/shout.sh")).toContain('A-Z)!"');
  await page.locator('[data-task="T-3"]').click();
  await expect(page.getByText("verified", { exact: true })).toBeVisible();
  // Once more where the other branch was merged meanwhile.
  await expect(page.getByText(/checks ran [23] times/)).toBeVisible();
});

test("a task made on the page is on the board, and can be changed and cancelled", async ({ stage, board }) => {
  await board.keyboard.press("g");
  await board.keyboard.press("b");
  await board.keyboard.press("n");
  await board.getByRole("textbox", { name: "Title" }).fill("Write the parser");
  await board.getByLabel("Checks, one command a line").fill("cargo test --package parser");
  await board.getByRole("button", { name: "Create" }).click();
  await expect(board.getByRole("heading", { name: "Write the parser" })).toBeVisible();
  const { task } = await stage.call("board_show", { task: "T-1" });
  expect(task.checks.map((check) => check.run)).toEqual([["cargo", "test", "--package", "parser"]]);
  await board.getByLabel("A note on the task").fill("Mind the includes.");
  await board.getByRole("button", { name: "Add", exact: true }).click();
  await expect(board.getByText("Mind the includes.")).toBeVisible();
  await board.getByRole("button", { name: "Cancel task" }).click();
  await expect(board.locator(".task-head").getByText("failed")).toBeVisible();
});

test("the order changes by dragging and by keys", async ({ stage, board }) => {
  for (const title of ["one", "two", "three"]) {
    await stage.call("board_add", { task: { title, isolation: "none" } });
  }
  await board.goto(`${await stage.address()}/board`);
  const titles = () => board.locator(`${column("ready")} .card-title`).allTextContents();
  await expect.poll(titles).toEqual(["one", "two", "three"]);
  await board.locator('[data-task="T-3"]').dragTo(board.locator('[data-task="T-1"]'));
  await expect.poll(titles).toEqual(["three", "one", "two"]);
  const order = async () => (await stage.call("board_list", { offset: 0 })).tasks.map((task) => task.title);
  await expect.poll(order).toEqual(["three", "one", "two"]);
  await board.locator('[data-task="T-3"]').focus();
  await board.keyboard.press("Alt+ArrowDown");
  await expect.poll(order).toEqual(["one", "three", "two"]);
  await expect.poll(titles).toEqual(["one", "three", "two"]);
});

test("a card says what its agent does, for how long, and what it cost", async ({ stage, board }) => {
  await stage.mission("down");
  stage.configure('[[usage.prices]]\nmodel = "rehearsal*"\ninput = 3\noutput = 15\n');
  await stage.start();
  await stage.signIn(board);
  await stage.makeRepository();
  const script = stage.script(
    "works",
    "rehearsal: 1\nstartup: 0.1\nturns:\n  - steps:\n      - usage: {input: 20000, output: 2000}\n      - say: The lighthouse is lit.\n      - think: 120\n",
  );
  const number = await stage.task("works", { title: "Light the tower", args: [script] });
  await board.goto(`${await stage.address()}/board`);
  await stage.autopilot("running");
  const card = board.locator(`${column("running")} .card[data-task="${number}"]`);
  await expect(card.locator(".card-work")).toHaveText("Thinks");
  await expect(card.locator(".card-time")).toHaveText(/^\d+ (ms|s|min)$/);
  await expect(card.locator(".card-tokens")).toHaveText("22 k tokens $0.09");
  await expect(card.locator(".engine[data-engine=rehearsal]")).toBeVisible();
  await expect(card.locator(".card-repository")).toHaveText("greet");
});

test("a change made elsewhere while a task is edited stays, and what is over is not edited", async ({ stage, board }) => {
  await stage.call("board_add", { task: { title: "Draw the map", isolation: "none" } });
  await board.goto(`${await stage.address()}/board/T-1`);
  await expect(board.getByRole("heading", { name: "Draw the map" })).toBeVisible();
  await board.keyboard.press("e");
  const edit = board.getByRole("dialog", { name: "Edit T-1" });
  await edit.getByLabel("Title").fill("Draw both maps");
  await stage.call("board_edit", { task: "T-1", set: { priority: "urgent", labels: ["atlas"] } });
  await expect(board.locator(".task-side")).toContainText("urgent");
  await edit.getByRole("button", { name: "Save" }).click();
  await expect(edit).toHaveCount(0);
  const { task } = await stage.call("board_show", { task: "T-1" });
  expect([task.title, task.priority, task.labels]).toEqual(["Draw both maps", "urgent", ["atlas"]]);

  await board.getByRole("button", { name: "Cancel task" }).click();
  await expect(board.locator(".task-head").getByText("failed")).toBeVisible();
  await board.keyboard.press("e");
  // Keys are taken in turn: once the next one did its work, this one did all it does.
  await board.keyboard.press("?");
  await expect(board.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await board.keyboard.press("Escape");
  await expect(board).not.toHaveURL(/edit/);
  await expect(board.getByRole("dialog")).toHaveCount(0);
});

test("a half-typed edit stays open when the task ends meanwhile", async ({ stage, board }) => {
  await stage.call("board_add", { task: { title: "Draw the map", isolation: "none" } });
  await board.goto(`${await stage.address()}/board/T-1`);
  await expect(board.getByRole("heading", { name: "Draw the map" })).toBeVisible();
  await board.keyboard.press("e");
  const edit = board.getByRole("dialog", { name: "Edit T-1" });
  await edit.getByLabel("Title").fill("Draw both");
  await stage.call("board_cancel", { task: "T-1", reason: "not needed" });
  await expect(board.locator(".task-head").getByText("failed")).toBeVisible();
  await expect(edit.getByLabel("Title")).toHaveValue("Draw both");
  await edit.getByRole("button", { name: "Cancel" }).click();
  await expect(edit).toHaveCount(0);
});

test("the head of the board is one line, and its column of blocked tasks is called so", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script(
    "stuck",
    "rehearsal: 1\nstartup: 0.1\nturns:\n  - uses: always\n    steps:\n      - signal: {type: blocked_claim, payload: {reason: no water}}\n",
  );
  const number = await stage.task("stuck", { args: [script], labels: ["kitchen"], max_attempts: 1 });
  await stage.autopilot("running");
  await board.goto(`${await stage.address()}/board`);
  await expect(board.locator(column("blocked")).locator(`[data-task="${number}"]`)).toBeVisible({ timeout: 60_000 });
  await expect(board.locator(column("blocked")).getByRole("heading", { level: 2 })).toHaveText("Blocked 1");
  for (const width of [1280, 1440, 1600]) {
    await board.setViewportSize({ width, height: 800 });
    const tops = await board.locator(".bar-controls > *").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().bottom));
    expect(Math.max(...tops), `at ${width} pixels`).toBeLessThan(46);
    expect(await board.locator(".bar").evaluate((bar) => bar.scrollWidth - bar.clientWidth)).toBe(0);
  }
});

test("nothing is missing after the daemon was killed and started again", async ({ stage, board }) => {
  await stage.call("board_add", { task: { title: "before", isolation: "none" } });
  await board.goto(`${await stage.address()}/board`);
  await expect(board.locator(`${column("ready")} .card`)).toHaveCount(1);
  await stage.kill();
  await expect(board.getByText("The daemon does not answer")).toBeVisible();
  await stage.start();
  // These happen while the page may still be trying to come back.
  await stage.call("board_add", { task: { title: "while it was away", isolation: "none" } });
  await stage.call("board_add", { task: { title: "waits", isolation: "none" }, depends_on: ["T-2"] });
  await expect(board.locator(`${column("ready")} .card`)).toHaveCount(2);
  await expect(board.locator(`${column("waiting")} .card`)).toHaveCount(1);
  await expect(board.getByText("The daemon does not answer")).toHaveCount(0);
  await stage.call("board_add", { task: { title: "afterwards", isolation: "none" } });
  await expect(board.locator(`${column("ready")} .card`)).toHaveCount(3);
});

test("work that is ready for review has its column before there is any", async ({ stage, board }) => {
  await stage.call("board_add", { task: { title: "Draw the map", isolation: "none" } });
  await board.goto(`${await stage.address()}/board`);
  await expect(board.locator(".column h2")).toHaveText(["Waiting 0", "Ready 1", "Running 0", "Ready for review 0", "Done 0"]);
  await expect(board.locator(column("review"))).toContainText("Verified work that waits for you to merge it.");
});

test("filters, the graph and the palette find a task", async ({ stage, board }) => {
  await stage.call("board_add", { task: { title: "Write the lexer", isolation: "none", labels: ["core"] } });
  await stage.call("board_add", { task: { title: "Write the docs", isolation: "none" }, depends_on: ["T-1"] });
  await board.goto(`${await stage.address()}/board?label=core`);
  await expect(board.locator(".card")).toHaveCount(1);
  await board.goto(`${await stage.address()}/board?as=graph`);
  await expect(board.locator(".graph-node")).toHaveCount(2);
  await board.keyboard.press("/");
  await board.getByRole("combobox", { name: /Go to/ }).fill("write the docs");
  await board.keyboard.press("Enter");
  await expect(board.getByRole("heading", { name: "Write the docs" })).toBeVisible();
  await expect(board.getByText("waits for T-1")).toBeVisible();
});
