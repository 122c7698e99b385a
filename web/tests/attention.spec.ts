// What waits is there at once, and is dealt with in place and by keys alone.

import { expect, test } from "./stage";

test("a permission is allowed and a question answered by keys alone", async ({ stage, board }) => {
  await stage.makeRepository();
  await stage.task("version");
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task: "T-1" })).task.status).toBe("done");

  const bye = await stage.task("bye", {}, ["T-1"]);
  const dialog = board.locator(".item", { hasText: "sh tests/run.sh bye" });
  await expect(dialog).toBeVisible();
  await board.keyboard.press("a");
  await expect(dialog).toHaveCount(0);
  await expect.poll(async () => (await stage.call("board_show", { task: bye })).task.status).toBe("done");

  const shout = await stage.task("shout", {}, [bye]);
  const question = board.locator(".item", { hasText: "How loud shall it shout?" });
  await expect(question.getByRole("button", { name: "three exclamation marks" })).toBeVisible();
  await expect(board).toHaveTitle(/^\(1\)/);
  await board.keyboard.press("2");
  await expect(question).toHaveCount(0);
  await expect.poll(async () => (await stage.call("board_show", { task: shout })).task.status).toBe("done");
  const answered = await stage.call("question_list", { all: true });
  expect(answered.questions.find((each) => each.question === "How loud shall it shout?")?.answer).toMatch(
    /three exclamation marks/,
  );
});

test("a blocked task says what its check said, and is tried again from there", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script(
    "never",
    "rehearsal: 1\nstartup: 0.1\nturns:\n  - uses: always\n    steps:\n      - signal: {type: completed_claim, payload: {summary: I believe it is done}}\n",
  );
  const number = await stage.task("never", {
    args: [script],
    checks: [{ run: ["sh", "-c", "echo the tower leans; exit 3"], timeout_secs: 10 }],
  });
  await stage.autopilot("running");
  const item = board.locator(".item", { hasText: `${number} (` });
  await expect(item.getByRole("region", { name: /Output of/ })).toHaveText("the tower leans", { timeout: 90_000 });
  await expect(item.getByText("I believe it is done")).toBeVisible();
  await board.keyboard.press("2");
  await expect.poll(async () => (await stage.call("board_show", { task: number })).task.status).toBe("failed");
  // What was given up still wants to be looked at, and can be opened again.
  const failed = board.locator(`.item[data-item="${number}"]`);
  await expect(failed).toBeVisible();
  await stage.autopilot("paused");
  await board.keyboard.press("r");
  await expect(failed).toHaveCount(0);
  expect((await stage.call("board_show", { task: number })).task.status).toBe("open");
});

test("the card of a task shows that it waits, and words are an answer where words are wanted", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script(
    "asks",
    "rehearsal: 1\nstartup: 0.1\nturns:\n  - steps:\n      - signal: {type: needs_input, payload: {question: What shall it be called?}}\n  - uses: always\n    steps:\n      - write: {file: name.txt, text: \"{{prompt}}\\n\"}\n      - signal: {type: completed_claim, payload: {summary: named}}\n",
  );
  const number = await stage.task("asks", {
    args: [script],
    checks: [{ run: ["grep", "-q", "Aurora", "name.txt"], timeout_secs: 10 }],
  });
  await stage.autopilot("running");
  const item = board.locator(".item", { hasText: "What shall it be called?" });
  await item.getByRole("link", { name: "its task" }).click();
  await expect(board.getByRole("heading", { level: 1 })).toContainText(number);
  await expect(board.getByRole("link", { name: "What shall it be called?" })).toBeVisible();
  await board.keyboard.press("g");
  await board.keyboard.press("b");
  await expect(board.locator(`.card[data-task="${number}"]`).getByText("waits for you")).toBeVisible();
  await board.keyboard.press("g");
  await board.keyboard.press("a");
  await expect(item).toBeVisible();
  await board.keyboard.press("Enter");
  await board.keyboard.type("Call it Aurora");
  await board.keyboard.press("Enter");
  await expect.poll(async () => (await stage.call("board_show", { task: number })).task.status).toBe("done");
  expect(await stage.git("show", "main:name.txt")).toContain("Aurora");
});
