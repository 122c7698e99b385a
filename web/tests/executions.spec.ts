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
    prompt: "Begin the journey\nat the pier",
    name: "talker",
    trust_folder: true,
  });
  await board.keyboard.press("g");
  await board.keyboard.press("e");
  // It is called by how its prompt begins, with its repository beside it.
  const row = board.getByRole("row", { name: /Begin the journey/ });
  await expect(row.getByText("greet")).toBeVisible();
  await row.getByRole("link", { name: "Begin the journey" }).click();
  await expect(board).toHaveURL(new RegExp(execution));
  await expect(board.locator(".journal")).toContainText("The lighthouse is lit.");
  // What it was asked is told once, though its transcript repeats it.
  const asked = board.locator(".record", { hasText: "at the pier" });
  await expect(asked).toHaveCount(1);
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

test("runs are named by their task, in one word of state, with the reason of a failure", async ({ stage, board }) => {
  await stage.makeRepository();
  await stage.task("version");
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task: "T-1" })).task.status).toBe("done");
  await stage.autopilot("stopped");
  const script = stage.script("falls", "rehearsal: 1\nstartup: 0.1\nturns:\n  - steps:\n      - exit: 3\n");
  const { execution } = await stage.call("execution_start", {
    engine: "rehearsal",
    cwd: stage.repository,
    args: [script],
    prompt: "Fall down the stairs",
    trust_folder: true,
  });
  const ended = async () => (await stage.call("execution_show", { execution })).lifecycle;
  await expect.poll(ended).toBe("failed");
  await board.keyboard.press("g");
  await board.keyboard.press("e");
  const fallen = board.getByRole("row", { name: /Fall down the stairs/ });
  await expect(fallen.locator(".mark")).toHaveText("failed");
  await expect(fallen.locator(".run-failure")).toContainText("script falls");
  const task = board.getByRole("row", { name: /Add the command version/ });
  await expect(task.getByRole("link", { name: "T-1" })).toHaveAttribute("href", "/board/T-1");
  await expect(task).toContainText("greet");
  await board.getByLabel("Filter runs").fill("version");
  await expect(fallen).toHaveCount(0);
  await task.getByRole("link", { name: "Add the command version" }).click();
  await expect(board.getByRole("link", { name: "T-1 Add the command version" })).toBeVisible();
});

test("no two words of a page contradict each other", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = (name: string, ...steps: string[]) =>
    stage.script(name, ["rehearsal: 1", "startup: 0.1", "turns:", "  - uses: always", "    steps:", ...steps].join("\n"));
  const asks = await stage.task("asks", {
    title: "Install it",
    args: [script("asks", "      - ask: {tool: Run, args: make install}", "      - think: 120")],
  });
  const red = await stage.task("red", {
    title: "Straighten the tower",
    args: [script("red", "      - signal: {type: completed_claim, payload: {summary: It stands.}}")],
    checks: [{ run: ["sh", "-c", "echo the tower leans; exit 3"], timeout_secs: 10 }],
  });
  await stage.call("execution_start", {
    engine: "rehearsal",
    cwd: stage.repository,
    args: [script("rests", "      - say: I rest.")],
    prompt: "Rest a while",
    trust_folder: true,
  });
  await stage.autopilot("running");
  await board.goto(`${await stage.address()}/executions`);
  const row = (name: string) => board.getByRole("row", { name: new RegExp(name) });
  await expect(row("Install it").locator(".mark")).toHaveText("asks");
  await expect(row("Rest a while").locator(".mark")).toHaveText("idle");
  expect(await board.locator("main").innerText()).not.toMatch(/running|waits for you|reasoning|communicating/);

  await expect.poll(async () => (await stage.call("board_show", { task: red })).task.status, { timeout: 90_000 }).toBe("blocked");
  await board.goto(`${await stage.address()}/board/${red}`);
  await expect(board.locator(".evidence").getByText("exit 3").first()).toBeVisible();
  await expect(board.locator(".task-side")).toContainText("1, of which 1 failed");
  // Why it is blocked is said once, and what its check said is open once.
  expect((await board.locator("main").innerText()).split("fails after 3 rounds")).toHaveLength(2);
  await expect(board.locator(".evidence details")).toHaveCount(3);
  await expect(board.locator(".evidence details[open]")).toHaveCount(1);
  await board.setViewportSize({ width: 390, height: 844 });
  expect(await board.locator(".view").evaluate((view) => view.scrollWidth - view.clientWidth)).toBe(0);
  await board.setViewportSize({ width: 1280, height: 800 });
  await stage.autopilot("stopped");
  await board.goto(await stage.address());
  await expect(board.getByRole("switch", { name: "Autopilot off · 0 of 4 agents" })).not.toBeChecked();
  await board.goto(`${await stage.address()}/board`);
  await expect(board.locator(`[data-task="${asks}"]`).locator(".card-why")).toContainText("autopilot is stopped");
});
