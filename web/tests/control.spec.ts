// What drives an agent: chosen in the form of a task, said on its run with the reason,
// and what an agent that is driven by its protocol means to do.

import type { Page } from "@playwright/test";

import { expect, type Stage, test } from "./stage";

const PLANS = [
  "rehearsal: 1",
  "startup: 0.1",
  "turns:",
  "  - steps:",
  "      - plan: [{text: Read the harbour rules, state: done}, {text: Light the lamp, state: running}, Ring the bell]",
  "      - signal: {type: needs_input, payload: {question: Which lamp?, choices: [{label: green, value: Take green.}, {label: red, value: Take red.}]}}",
  "  - when: {contains: green}",
  "    steps:",
  "      - plan: [{text: Light the green lamp, state: done}, {text: Ring the bell, state: running}, Paint the door]",
  "      - think: 120",
].join("\n");

const drivers = (page: Page) => page.getByRole("combobox", { name: "Driven by" });

async function open(stage: Stage, page: Page) {
  await page.goto(`${await stage.address()}/board?new=task`);
  const form = page.getByRole("dialog", { name: "New task" });
  await form.getByRole("textbox", { name: "Title" }).fill("Light the harbour");
  return form;
}

test("a task offers what its agent can be driven by, and keeps what was chosen", async ({ stage, board }) => {
  await stage.makeRepository();
  const form = await open(stage, board);
  const agent = form.getByRole("combobox", { name: "Agent" });
  // One that has no protocol, and one that has both.
  await agent.selectOption("aider");
  await expect(drivers(board).locator("option")).toHaveText(["As usual (its terminal)", "Its terminal"]);
  await expect(form.getByText("Usually driven by its terminal: it has no protocol that missiond speaks.")).toBeVisible();
  await agent.selectOption("codex");
  await expect(drivers(board).locator("option")).toHaveText([/^As usual/, "Its protocol", "Its terminal"]);
  await drivers(board).selectOption("Its terminal");
  await expect(form.getByText("keys are typed, and its screen is read")).toBeVisible();
  // The choice was for the other agent.
  await agent.selectOption("rehearsal");
  await expect(drivers(board)).toHaveValue("");
  await drivers(board).selectOption("Its protocol");
  await form.getByLabel("Script of the rehearsal").fill(stage.script("plans", PLANS));
  await form.getByRole("button", { name: "Create" }).click();
  await expect(board.locator(".task-side")).toContainText("rehearsal, driven by its protocol");
  const control = async () => (await stage.call("board_show", { task: "T-1" })).task.control ?? null;
  expect(await control()).toBe("structured");

  await board.keyboard.press("e");
  const edit = board.getByRole("dialog", { name: "Edit T-1" });
  await expect(drivers(board)).toHaveValue("structured");
  await drivers(board).selectOption("Its terminal");
  await edit.getByRole("button", { name: "Save" }).click();
  await expect(board.locator(".task-side")).toContainText("driven by its terminal");
  expect(await control()).toBe("terminal");
  await board.keyboard.press("e");
  await drivers(board).selectOption({ index: 0 });
  await edit.getByRole("button", { name: "Save" }).click();
  await expect(board.locator(".task-side")).not.toContainText("driven by");
  expect(await control()).toBe(null);
});

test("a run says what drives it and why, and shows the agent's plan as it goes on", async ({ stage, board }) => {
  await stage.makeRepository();
  const number = await stage.task("lamp", { args: [stage.script("plans", PLANS)], control: "structured" });
  await stage.autopilot("running");
  await board.goto(`${await stage.address()}/board/${number}`);
  await expect(board.locator(".live-head")).toContainText("driven by its protocol");
  const plan = board.getByRole("list", { name: "The agent's plan" });
  await expect(plan.getByRole("listitem")).toHaveText([
    /^done\s*Read the harbour rules$/,
    /^doing\s*Light the lamp$/,
    /^to do\s*Ring the bell$/,
  ]);
  await board.getByRole("link", { name: "Run", exact: true }).click();
  const facts = board.locator(".run-side .facts");
  await expect(facts).toContainText("Driven by" + "its protocol: its task says so");
  await expect(board.getByText("1 of 3 done")).toBeVisible();
  await expect(plan.locator('[aria-current="step"]')).toContainText("Light the lamp");
  await board.getByRole("button", { name: "green" }).click();
  await expect(plan.getByRole("listitem")).toHaveText([
    /^done\s*Light the green lamp$/,
    /^doing\s*Ring the bell$/,
    /^to do\s*Paint the door$/,
  ]);
  await stage.autopilot("stopped");
  const { executions } = await stage.call("execution_list", { all: true });
  await stage.call("execution_cancel", { execution: executions[0]?.execution ?? "", reason: "seen enough" });
  await expect(facts).toContainText("Was driven by" + "its protocol");
  await expect(plan).toHaveCount(0);
});
