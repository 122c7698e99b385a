// A run as it goes: its journal, its question, a message, and the terminal at a
// moment of it.

import { expect, test } from "./stage";

test("a run is read along, answered and spoken to", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script(
    "talks",
    [
      "rehearsal: 1",
      "startup: 0.1",
      "turns:",
      "  - steps:",
      "      - say: The lighthouse is lit.",
      "      - signal: {type: needs_input, payload: {question: Which way?, choices: [{label: north, value: Go north.}, {label: south, value: Go south.}]}}",
      "  - when: {contains: north}",
      "    steps:",
      "      - say: Northward then.",
      "  - uses: always",
      "    steps:",
      "      - say: You said {{prompt}}",
    ].join("\n"),
  );
  const { execution } = await stage.call("execution_start", {
    engine: "rehearsal",
    cwd: stage.repository,
    args: [script],
    prompt: "Begin",
    name: "talker",
    trust_folder: true,
  });
  await board.keyboard.press("g");
  await board.keyboard.press("e");
  await board.getByRole("link", { name: "talker" }).click();
  await expect(board).toHaveURL(new RegExp(execution));
  await expect(board.locator(".journal")).toContainText("The lighthouse is lit.");
  await board.getByRole("button", { name: "north" }).click();
  await expect(board.locator(".journal")).toContainText("Northward then.");
  await board.getByLabel("A message to the agent").fill("Mind the rocks");
  await board.keyboard.press("Enter");
  await expect(board.locator(".journal")).toContainText("You said Mind the rocks");
  const said = board.locator(".record", { hasText: "The lighthouse is lit." }).last();
  await said.getByRole("button").first().click();
  await expect(board.getByLabel("Recording of the terminal").locator(".xterm-rows")).toContainText("The lighthouse");
  await expect(board.getByLabel("Recording of the terminal").locator(".xterm-rows")).not.toContainText("Mind the rocks");

  // Record by record: what was observed, what was decided on it, what it says in full.
  await board.getByLabel("What is shown of the journal").selectOption("Observations");
  const observed = board.locator(".record", { hasText: "The lighthouse is lit." });
  await expect(observed.first()).toBeVisible();
  await expect(board.locator(".record-kind").filter({ hasText: "decision" })).toHaveCount(0);
  await observed.first().getByRole("button", { name: /^All that record/ }).click();
  await expect(board.getByRole("region", { name: /^Record \d+/ })).toContainText('"confidence"');
  await board.getByLabel("What is shown of the journal").selectOption("Decisions");
  await expect(board.locator(".record-kind").filter({ hasText: "decision" }).first()).toBeVisible();
  // The journal is where the recording is.
  await board.getByLabel("What is shown of the journal").selectOption("Every record");
  await board.locator(".record").first().getByRole("button").first().click();
  await expect(board.locator(".record.here")).toHaveCount(1);
  const first = await board.locator(".record.here").textContent();
  await board.getByRole("button", { name: "Play", exact: true }).click();
  await expect.poll(() => board.locator(".record.here").textContent()).not.toBe(first);
  await board.screenshot({ path: "screenshots/run-records.png" });
  // What comes now is added at its end.
  await board.getByLabel("A message to the agent").fill("Still there?");
  await board.keyboard.press("Enter");
  await expect(board.locator(".journal")).toContainText("Still there?");
});
