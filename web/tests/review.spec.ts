// Work looked at from the page: what was changed, what is said about it, and
// bringing it back.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, type Stage, test } from "./stage";

/** An agent that writes something, asks, and does what a review says. */
const ASKS = [
  "rehearsal: 1",
  "startup: 0.1",
  "turns:",
  "  - steps:",
  "      - write: {file: lib/version.sh, text: \"echo one\\necho two\\n\"}",
  "      - edit: {file: README.md, replace: greet, with: greets}",
  "      - signal: {type: needs_input, payload: {question: Is it good?}}",
  "  - when: {contains: reviewed your work}",
  "    steps:",
  "      - write: {file: reviewed.txt, text: \"{{prompt}}\"}",
  "      - signal: {type: completed_claim, payload: {summary: Mended.}}",
].join("\n");

async function underReview(stage: Stage): Promise<string> {
  await stage.makeRepository();
  const task = await stage.task("version", { args: [stage.script("asks", ASKS)], checks: [], finish: "branch" });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("question_list", { all: false })).questions.length).toBe(1);
  return task;
}

/** A file of the worktree, which may be on its branch alone by now. */
async function readWhenThere(path: string, otherwise: () => Promise<string>): Promise<string> {
  let found = "";
  await expect
    .poll(async () => {
      try {
        found = readFileSync(path, "utf8");
      } catch {
        found = await otherwise().catch(() => "");
      }
      return found;
    })
    .not.toBe("");
  return found;
}

test("comments on lines reach the agent as one message, and the page shows what was sent", async ({ stage, board }) => {
  const task = await underReview(stage);
  await board.goto(`${await stage.address()}/board/${task}`);
  await board.getByRole("link", { name: "Review", exact: true }).first().click();
  await board.goto(`${await stage.address()}/board/${task}`);
  await board.locator(".attempt-links").getByRole("link", { name: "review" }).click();
  await expect(board.getByRole("region", { name: "lib/version.sh" })).toContainText("echo two");
  await expect(board.getByText(`${task} is being worked on in it`)).toBeVisible();
  await expect(board.getByRole("button", { name: /Merge/ })).toBeDisabled();

  // One by the mouse, one by keys alone.
  await board
    .getByRole("region", { name: "lib/version.sh" })
    .getByRole("button", { name: "Comment on added line 2" })
    .click();
  await board.getByLabel("Comment on line 2").fill("Say three as well.");
  await board.keyboard.press("Control+Enter");
  await expect(board.locator(".said")).toContainText("Say three as well.");
  await board.keyboard.press("n");
  await board.keyboard.press("j");
  await board.keyboard.press("c");
  await expect(board.locator("form.said-inner textarea")).toBeFocused();
  await board.keyboard.type("Leave this line.");
  await board.keyboard.press("Control+Enter");
  await board.getByLabel("A remark on all of it").fill("Nearly there.");

  await board.screenshot({ path: "screenshots/review-comments.png" });

  // Nothing is lost by a reload.
  await board.reload();
  await expect(board.locator(".draft li")).toHaveCount(2);
  await board.getByRole("button", { name: "Send to the agent" }).click();
  await expect(board.getByText("The review is on its way")).toBeVisible();
  await expect(board.locator(".draft li")).toHaveCount(0);
  await expect(board.locator(".sent")).toContainText("2 comments");
  await expect(board.locator(".sent")).toContainText("delivered");

  // The agent got all of it in one message: it wrote down what it was told.
  const { attempts } = await stage.call("board_show", { task });
  const { messages } = await stage.call("execution_show", { execution: attempts[0]?.execution ?? "" });
  expect(messages.filter((message) => message.status === "delivered")).toHaveLength(2);
  const written = join(attempts[0]?.worktree ?? "", "reviewed.txt");
  const told = await readWhenThere(written, () => stage.git("show", `${attempts[0]?.branch}:reviewed.txt`));
  expect(told).toContain("Say three as well.");
  expect(told).toContain("Nearly there.");
  expect(told).toContain("Leave this line.");
  expect(told).toContain("lib/version.sh, line 2");
});

test("work is merged from the page, after what it would do is shown", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = [
    "rehearsal: 1",
    "startup: 0.1",
    "turns:",
    "  - uses: always",
    "    steps:",
    "      - write: {file: lib/version.sh, text: \"echo one\\n\"}",
    "      - signal: {type: completed_claim, payload: {summary: Done.}}",
  ].join("\n");
  // Its checks never pass, so a person has to decide.
  const task = await stage.task("version", {
    args: [stage.script("stubborn", script)],
    checks: [{ run: ["false"], timeout_secs: 5 }],
    max_attempts: 1,
  });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task })).task.status).toBe("blocked");
  await expect.poll(async () => (await stage.call("worktree_list", {})).worktrees[0]?.standing).toBe("holds_work");
  await board.keyboard.press("g");
  await board.keyboard.press("r");
  await board.getByRole("link", { name: new RegExp(task) }).click();
  await expect(board.getByRole("region", { name: "lib/version.sh" })).toContainText("echo one");
  await expect(board.locator(".review-side")).toContainText("exit 1");
  const before = await stage.git("rev-parse", "main");
  await board.keyboard.press("m");
  const sheet = board.getByRole("dialog", { name: "Bring the work back" });
  await expect(sheet).toContainText(/bring \d+ commits?, without a conflict/);
  await expect(sheet).toContainText(`${task} is done`);
  expect(await stage.git("rev-parse", "main")).toBe(before);
  await board.screenshot({ path: "screenshots/review-merge.png" });
  await sheet.getByRole("button", { name: "Merge", exact: true }).click();
  await expect(board.getByText(/main has the work at/)).toBeVisible();
  expect(await stage.git("show", "main:lib/version.sh")).toBe("echo one\n");
  expect((await stage.call("board_show", { task })).task.status).toBe("done");
});

test("a review of work whose agent is gone becomes a note, and the task is tried again", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script("gone", "rehearsal: 1\nturns:\n  - steps:\n      - write: {file: a.txt, text: one}\n      - exit: 1\n");
  const task = await stage.task("version", { args: [script], max_attempts: 1 });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task })).task.status).toMatch(/blocked|failed/);
  await stage.autopilot("paused");
  await board.goto(`${await stage.address()}/review/${task}`);
  await expect(board.getByText("Its agent does not run any more")).toBeVisible();
  await board.getByLabel("A remark on all of it").fill("Do not leave half-way.");
  await board.getByRole("button", { name: "Note it and try again" }).click();
  await expect(board.getByText(`${task} is tried again`)).toBeVisible();
  const { task: card, notes } = await stage.call("board_show", { task });
  expect(notes.at(-1)?.text).toBe("Do not leave half-way.");
  expect(card.status).toBe("open");
});
