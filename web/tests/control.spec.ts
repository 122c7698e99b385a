// What drives an agent: chosen in the form of a task, said on its run with the reason,
// and what an agent that is driven by its protocol means to do.

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

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

test("another agent may try a task and be driven otherwise", async ({ stage, board }) => {
  await stage.makeRepository();
  const number = await stage.task("lamp", { control: "structured" });
  await board.goto(`${await stage.address()}/board/${number}?try`);
  const sheet = board.getByRole("dialog", { name: `Try ${number} with another agent` });
  await sheet.getByRole("combobox", { name: "Agent" }).selectOption("codex");
  await drivers(board).selectOption("Its terminal");
  await expect(sheet.getByText("keys are typed, and its screen is read")).toBeVisible();
  await sheet.getByRole("button", { name: "Create" }).click();
  await expect(board.locator(".task-side")).toContainText("codex, driven by its terminal");
  const added = await stage.call("board_show", { task: "T-2" });
  expect(added.task.control).toBe("terminal");
});

/** Codex's app-server in a few lines: a turn that goes on until it is told something. */
const APP_SERVER = String.raw`#!/bin/sh
case "$*" in *app-server*) ;; *) echo "codex-cli 0.169.0"; exit ;; esac
say() { printf '{%s}\n' "$1"; }
while IFS= read -r heard; do
  id=$(printf '%s' "$heard" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$heard" in
    *'"initialize"'*) say "\"id\":$id,\"result\":{\"userAgent\":\"codex/0.169.0\"}" ;;
    *'"thread/start"'*) say "\"id\":$id,\"result\":{\"thread\":{\"id\":\"s1\"},\"model\":\"small\"}" ;;
    *'"turn/start"'*)
      say "\"id\":$id,\"result\":{\"turn\":{\"id\":\"u1\",\"status\":\"inProgress\"}}"
      say '"method":"turn/started","params":{"threadId":"s1","turn":{"id":"u1","status":"inProgress"}}'
      say '"method":"account/rateLimits/updated","params":{"rateLimits":{"limitId":"codex","primary":{"usedPercent":91,"windowDurationMins":300,"resetsAt":4102444800},"secondary":{"usedPercent":12,"windowDurationMins":10080}}}' ;;
    *'"turn/steer"'*)
      say "\"id\":$id,\"result\":{}"
      say '"method":"turn/completed","params":{"threadId":"s1","turn":{"id":"u1","status":"failed","error":{"message":"No more for now.","codexErrorInfo":"usageLimitExceeded"}}}' ;;
  esac
done
`;

test("limits are shown, and a message is heard in the running turn", async ({ stage, board }) => {
  const bin = join(stage.folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "codex"), APP_SERVER);
  chmodSync(join(bin, "codex"), 0o700);
  const path = `--env=PATH=${bin}:${process.env.PATH ?? ""}`;
  await stage.mission("run", "go", "--engine", "codex", "--control", "structured", "--name", "lamp", "--cwd", stage.folder, "--no-context", path);
  const { executions } = await stage.call("execution_list", {});
  await board.goto(`${await stage.address()}/executions/${executions[0]?.execution ?? ""}`);
  const limits = board.getByRole("list", { name: "The agent's limits" });
  await expect(limits.getByRole("listitem")).toHaveText([/^91 %\s*primary of 5 h\s*resets in /, /^12 %\s*secondary of 7 d\s*$/]);
  await board.getByRole("textbox", { name: "A message to the agent" }).fill("leave the docs alone");
  await board.getByRole("checkbox", { name: "While it works" }).check();
  await board.getByRole("button", { name: "Send" }).click();
  await expect(board.getByText("Sent: the agent gets it while it works.")).toBeVisible();
  await expect(board.getByRole("alert").filter({ hasText: "No more for now." }).first()).toBeVisible();
});
