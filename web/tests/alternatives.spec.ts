// One task for two agents, from the form to the one that is kept.

import { mkdirSync } from "node:fs";

import { faults } from "./faults";
import { expect, test } from "./stage";

const says = (text: string): string =>
  [
    "rehearsal: 1",
    "startup: 0.1",
    "turns:",
    "  - steps:",
    `      - write: {file: lib/version.sh, text: "echo ${text}\\n"}`,
    "      - signal: {type: completed_claim, payload: {summary: Done.}}",
  ].join("\n");

test("two agents try a task, are compared, and one is kept", async ({ stage, board }) => {
  test.setTimeout(120_000);
  await stage.makeRepository();
  await stage.call("code_index", { path: stage.repository, wait: true });
  await board.goto(`${await stage.address()}/board?new=task`);
  const form = board.getByRole("dialog", { name: "New task" });
  await form.getByRole("textbox", { name: "Title" }).fill("Say which version it is");
  await form.getByLabel("Repository", { exact: true }).selectOption(stage.repository);
  await form.getByRole("combobox", { name: "Agent" }).selectOption("rehearsal");
  await form.getByLabel("Script of the rehearsal").fill(stage.script("one", says("one")));
  await form.getByLabel("Checks, one command a line").fill("test -s lib/version.sh");
  await form.getByLabel("Also try with").selectOption("rehearsal");
  await form.getByLabel("Its model").fill("other");
  await expect(form.getByLabel("And with")).toBeVisible();
  await expect(form.getByText("Nothing is merged until you keep one of them.")).toBeVisible();
  mkdirSync("screenshots", { recursive: true });
  await board.screenshot({ path: "screenshots/alternatives-form.png" });
  await form.getByRole("button", { name: "Create" }).click();
  await expect(board.getByRole("heading", { name: "Say which version it is" })).toBeVisible();

  // Two cards, each of which says that it is one of two.
  await board.goto(`${await stage.address()}/board`);
  await expect(board.locator(".card", { hasText: "one of 2" })).toHaveCount(2);
  await stage.call("board_edit", { task: "T-2", set: { args: [stage.script("two", says("two"))] } });
  const next = await stage.task("version", { args: [stage.script("next", says("three"))], checks: [] }, ["T-1"]);
  await stage.autopilot("running");
  const status = async (task: string) => (await stage.call("board_show", { task })).task.status;
  await expect.poll(() => status("T-1"), { timeout: 60_000 }).toBe("review");
  await expect.poll(() => status("T-2"), { timeout: 60_000 }).toBe("review");

  // Beside each other on the page of the task, and file by file.
  await board.goto(`${await stage.address()}/board/T-1`);
  const table = board.getByRole("region", { name: "Alternatives" });
  await expect(table.getByRole("row", { name: /T-2/ })).toContainText("rehearsal, other");
  await expect(table.getByRole("row", { name: /T-2/ })).toContainText("check passed");
  await expect(table.getByRole("row", { name: /T-2/ })).toContainText("1 file");
  expect(await faults(board)).toEqual([]);
  await board.screenshot({ path: "screenshots/alternatives-task.png" });
  await table.getByRole("link", { name: "Compare with T-2" }).click();
  const second = board.getByRole("region", { name: "T-2, attempt 1" });
  await expect(second).toContainText("rehearsal, other");
  const difference = board.getByRole("region", { name: "Difference in lib/version.sh" });
  await expect(difference).toContainText("echo one");
  await expect(difference).toContainText("echo two");

  await second.getByRole("button", { name: "Keep this one" }).click();
  const sheet = board.getByRole("dialog", { name: "Merge" });
  await expect(sheet).toContainText("Keep this one: T-1 is given up, and its work stays on its branch.");
  await sheet.getByRole("button", { name: "Merge into main" }).click();
  await expect(board.getByText(/Merged into main at/)).toBeVisible();
  expect(await status("T-2")).toBe("done");
  expect(await status("T-1")).toBe("failed");
  await board.goto(`${await stage.address()}/board/T-1`);
  await expect(board.getByText("T-2 was kept instead").first()).toBeVisible();
  // What waited for the first has waited for the second.
  await expect.poll(() => status(next), { timeout: 60_000 }).toBe("done");
  await board.goto(`${await stage.address()}/timeline`);
  await expect(board.getByText(/instead of T-1/).first()).toBeVisible();
});
