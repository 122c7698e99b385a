// What happened: the story of the day, and every event on demand.

import { expect, test } from "./stage";

test("what happens is on the timeline at once, with what led to it", async ({ stage, board }) => {
  await board.keyboard.press("g");
  await board.keyboard.press("t");
  await expect(board.locator(".event-kind", { hasText: "daemon started" })).toBeVisible();
  await stage.call("timeline_note", { text: "the tide turns", author: "test" });
  const line = board.locator(".event", { hasText: "the tide turns" });
  await expect(line).toBeVisible();
  // Moments are said one way: the day above, the time in the line, all of it on hover.
  await expect(board.locator(".event-day").first()).toHaveText("Today");
  await expect(line.locator("time")).toHaveAttribute("title", /^\d{1,2} \w+ \d{4}, \d\d:\d\d:\d\d$/);
  await line.getByRole("button", { name: /What led to/ }).click();
  await expect(board.getByRole("complementary", { name: "Causal chain" }).getByText("the tide turns")).toBeVisible();
  await board.getByRole("button", { name: "Show details" }).click();
  await board.getByLabel("Category").selectOption("board");
  await expect(line).toHaveCount(0);
  await stage.call("board_add", { task: { title: "A task of the test", isolation: "none" } });
  await expect(board.locator(".event", { hasText: "A task of the test" })).toBeVisible();
});

test("it tells the story, by names, and the rest on demand", async ({ stage, board }) => {
  await stage.makeRepository();
  await stage.task("version");
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task: "T-1" })).task.status).toBe("done");
  await stage.task("shout", {}, ["T-1"]);
  await expect.poll(async () => (await stage.call("question_list", { all: false })).questions.length).toBe(1);
  await stage.call("question_answer", { question: "Q-1", answer: "2", by: "person" });
  await expect.poll(async () => (await stage.call("board_show", { task: "T-2" })).task.status).toBe("done");
  await board.keyboard.press("g");
  await board.keyboard.press("t");
  const kinds = board.locator(".event-kind");
  for (const kind of ["created", "claimed", "asked", "answered", "checked", "done"]) {
    await expect(kinds.getByText(kind, { exact: true }).first()).toBeVisible();
  }
  const answered = board.locator('[data-event="question_answered"]');
  await expect(answered).toContainText("T-2 Add the command shout");
  await expect(answered).toContainText("How loud shall it shout?");
  await stage.call("kb_remember", { summary: "Shouting wants marks", key: "shouting" });
  await stage.call("timeline_note", { text: "after it was remembered", author: "test" });
  await expect(board.locator(".event", { hasText: "after it was remembered" })).toBeVisible();
  for (const noise of ["pty_state_changed", "execution_state_changed", "message_delivery", "kb_batch_mutated"]) {
    await expect(board.locator(`[data-event="${noise}"]`)).toHaveCount(0);
  }
  // No id where a name is known.
  expect(await board.locator(".events").innerText()).not.toMatch(/\b(slot|task|exec\w*|question)_[0-9a-z]{20,}/);
  await board.getByRole("button", { name: "Show details" }).click();
  await expect(board.locator('[data-event="pty_state_changed"]').first()).toBeVisible();
});
