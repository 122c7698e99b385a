// Beginning and steering from the page alone: the first minutes, a new task with
// all it can say, a plan, an agent, the palette and the one search.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { faults } from "./faults";
import { expect, type Stage, test } from "./stage";

const column = (name: string) => `.column[data-column="${name}"]`;

/** A picture to look at, and nothing for axe to complain of. */
async function inOrder(page: Page, name: string): Promise<void> {
  mkdirSync("screenshots", { recursive: true });
  await page.screenshot({ path: `screenshots/${name}.png` });
  expect(await faults(page)).toEqual([]);
}

const status = async (stage: Stage, task: string) => (await stage.call("board_show", { task })).task.status;

test("a stranger goes from an empty home to a merged task without a terminal", async ({ stage, board }) => {
  test.setTimeout(240_000);
  await stage.makeRepository();
  // The first view is where the link leads; from there on only what is on the page is pressed.
  await expect(board).toHaveURL(`${await stage.address()}/`);
  const rail = board.getByRole("navigation", { name: "Views" });
  const steps = board.getByRole("region", { name: "First steps" });
  await expect(steps).toBeVisible();
  await inOrder(board, "first-steps-light");
  const step = (name: string) => steps.locator("li", { has: board.getByRole("heading", { name }) });

  // The demo: its agents ask for a permission and for words, both answered here.
  await steps.getByRole("button", { name: "Play the demo" }).click();
  await expect(board.getByRole("switch", { name: /Autopilot on/ })).toBeChecked();
  await rail.getByRole("link", { name: "Board" }).click();
  await expect(board.locator(".card")).toHaveCount(5);
  const asking = async () => (await stage.call("question_list", { all: false })).questions.map((each) => each.task);
  await expect.poll(asking, { timeout: 60_000 }).toContain("T-2");
  await board.locator('.card[data-task="T-2"]').click();
  await board.getByRole("button", { name: "Allow once" }).click();
  await expect(board.locator(".open-question")).toHaveCount(0);
  await expect.poll(asking, { timeout: 60_000 }).toContain("T-4");
  await rail.getByRole("link", { name: /^Now/ }).click();
  await board.locator(".now-row", { hasText: "T-4" }).getByRole("button", { name: "three exclamation marks" }).click();
  await expect.poll(() => status(stage, "T-5"), { timeout: 90_000 }).toBe("done");

  // A repository of one's own, and the checks that fit it.
  await rail.getByRole("link", { name: "Board" }).click();
  await board.locator("summary", { hasText: "First steps" }).click();
  await expect(step("Play the demo")).toHaveAttribute("data-done", "true");
  await expect(step("Turn the autopilot on")).toHaveAttribute("data-done", "true");
  await steps.getByRole("combobox", { name: "Folder" }).selectOption("Another folder…");
  const folder = steps.getByRole("textbox", { name: "Folder" });
  await folder.fill(join(stage.folder, "nowhere"));
  await expect(steps.getByText(/there is no folder/)).toBeVisible();
  await folder.fill(stage.repository);
  await expect(steps.getByText(/on main/)).toBeVisible();
  await steps.getByRole("button", { name: "Add", exact: true }).click();
  await expect(step("Add a repository")).toHaveAttribute("data-done", "true");
  await expect(step("Check the work")).toContainText("sh tests/run.sh");

  // The first task, started at once.
  await steps.getByRole("button", { name: "New task" }).click();
  const form = board.getByRole("dialog", { name: "New task" });
  await form.getByRole("textbox", { name: "Title" }).fill("Say which version it is");
  // The sample is called the same, so the folder of each is said.
  await expect(form.getByLabel("Repository", { exact: true }).locator("option", { hasText: "greet (" })).toHaveCount(2);
  await form.getByLabel("Repository", { exact: true }).selectOption(stage.repository);
  await form.getByRole("combobox", { name: "Agent" }).selectOption("rehearsal");
  await form.getByLabel("Script of the rehearsal").fill(stage.script("version"));
  await form.getByLabel("Checks, one command a line").fill("sh tests/run.sh version");
  await form.getByLabel("Start now").check();
  await form.getByRole("button", { name: "Create" }).click();
  await expect(board.getByRole("heading", { name: "Say which version it is" })).toBeVisible();
  await expect(board.locator(".task-head").getByText("done", { exact: true })).toBeVisible({ timeout: 60_000 });
  expect(await stage.git("show", "main:lib/version.sh")).toContain("greet 1.0");
});

test("a new task says everything a task can say, and is changed in the same form", async ({ stage, board }) => {
  await stage.makeRepository();
  mkdirSync(join(stage.repository, ".mission/templates"), { recursive: true });
  writeFileSync(join(stage.repository, ".mission/templates/chore.toml"), 'touches = ["lib/**"]\n');
  await stage.call("board_add", { task: { title: "Before", isolation: "none" } });
  await stage.call("code_index", { path: stage.repository, wait: true });
  await board.goto(`${await stage.address()}/board?new=task`);
  const form = board.getByRole("dialog", { name: "New task" });
  await form.getByRole("textbox", { name: "Title" }).fill("Add a language");
  await form.getByLabel("Description").fill("French first.");
  await form.getByLabel("Repository", { exact: true }).selectOption(stage.repository);
  // What is in the repository proposes its check.
  await expect(form.getByLabel("Checks, one command a line")).toHaveValue("sh tests/run.sh");
  await form.getByRole("combobox", { name: "Agent" }).selectOption("codex");
  await form.getByLabel("Model").fill("gpt-5");
  await form.getByLabel("Permission").selectOption("Accept edits");
  await form.getByLabel("Checks, one command a line").fill("sh tests/run.sh\nsh -c 'test -e lib/fr.sh'");
  await form.getByText("More options").click();
  await form.getByLabel("Priority").selectOption("High");
  await form.getByLabel("Isolation").selectOption("A worktree of its own");
  await form.getByLabel("When verified").selectOption("Leave the branch");
  await form.getByLabel("Labels").fill("i18n, small");
  await form.getByLabel("After these tasks").fill("t-1");
  await form.getByLabel("Budget, thousand tokens").fill("50");
  await form.getByLabel("Attempts at most").fill("2");
  await form.getByLabel("Start from").fill("main");
  await form.getByLabel("Template").selectOption("chore");
  await inOrder(board, "new-task-light");
  await form.getByLabel("Start now").check();
  await expect(form.getByText("The autopilot is paused. This turns it on; 1 ready task starts too.")).toBeVisible();
  await form.getByLabel("Start now").uncheck();
  await form.getByRole("button", { name: "Create" }).click();
  await expect(board.getByRole("heading", { name: "Add a language" })).toBeVisible();
  const { task, depends_on } = await stage.call("board_show", { task: "T-2" });
  expect(depends_on.map((link) => link.number)).toEqual(["T-1"]);
  expect(task).toMatchObject({
    title: "Add a language",
    description: "French first.",
    repository: stage.repository,
    engine: "codex",
    model: "gpt-5",
    permission: "accept-edits",
    priority: "high",
    isolation: "worktree",
    finish: "branch",
    labels: ["i18n", "small"],
    budget: { tokens: 50_000 },
    max_attempts: 2,
    base: "main",
    touches: ["lib/**"],
  });
  expect(task.checks.map((check) => check.run)).toEqual([
    ["sh", "tests/run.sh"],
    ["sh", "-c", "test -e lib/fr.sh"],
  ]);

  await board.keyboard.press("e");
  const edit = board.getByRole("dialog", { name: "Edit T-2" });
  await edit.getByRole("combobox", { name: "Agent" }).selectOption("Any agent");
  await edit.getByLabel("Model").fill("");
  await edit.getByLabel("After these tasks").fill("");
  await edit.getByLabel("Labels").fill("small");
  await edit.getByRole("button", { name: "Save" }).click();
  await expect(edit).toHaveCount(0);
  const after = await stage.call("board_show", { task: "T-2" });
  expect(after.depends_on).toEqual([]);
  expect(after.task.labels).toEqual(["small"]);
  expect([after.task.engine ?? null, after.task.model ?? null]).toEqual([null, null]);
  // What was not touched stays.
  expect(after.task.checks).toEqual(task.checks);
  expect(after.task.budget).toEqual(task.budget);
});

test("start now puts a task on top and turns the autopilot on", async ({ stage, board }) => {
  await stage.makeRepository();
  await stage.call("board_add", { task: { title: "Waits", isolation: "none", priority: "high" } });
  await board.goto(`${await stage.address()}/board?new=task`);
  const form = board.getByRole("dialog", { name: "New task" });
  await form.getByRole("textbox", { name: "Title" }).fill("Goes first");
  await form.getByLabel("Start now").check();
  await form.getByRole("button", { name: "Create" }).click();
  await expect(board.getByRole("heading", { name: "Goes first" })).toBeVisible();
  const listed = await stage.call("board_list", { offset: 0 });
  expect(listed.tasks[0]?.title).toBe("Goes first");
  await expect.poll(async () => (await stage.call("autopilot_show", {})).mode).toBe("running");
});

test("a plan in plain words is edited and becomes tasks, all or none", async ({ stage, board }) => {
  await stage.makeRepository();
  await stage.call("code_index", { path: stage.repository, wait: true });
  await board.goto(`${await stage.address()}/board?new=plan`);
  const sheet = board.getByRole("dialog", { name: "Plan tasks" });
  await sheet.getByLabel("Plan", { exact: true }).fill("Add divide, then document it and release 1.2");
  await sheet.getByLabel("Repository").selectOption(stage.repository);
  await sheet.getByRole("button", { name: "Propose tasks" }).click();
  const rows = sheet.getByRole("list", { name: "Proposed tasks" }).getByRole("listitem");
  await expect(rows).toHaveCount(3);
  await expect(sheet.getByLabel("2 comes after")).toHaveValue("1");
  await expect(sheet.getByLabel("Checks of 1")).toHaveValue("sh tests/run.sh");
  expect((await stage.call("board_list", { offset: 0 })).total).toBe(0);
  await inOrder(board, "plan-light");
  await sheet.getByLabel("Title of 2").fill("Document divide");
  await sheet.getByRole("button", { name: "Remove 3" }).click();
  await sheet.getByRole("button", { name: "Add a task" }).click();
  await sheet.getByLabel("Title of 3").fill("Celebrate");
  await sheet.getByLabel("3 comes after").fill("nobody");
  await sheet.getByRole("button", { name: "Create 3 tasks" }).click();
  await expect(sheet.getByRole("alert")).toContainText("no step and no task");
  expect((await stage.call("board_list", { offset: 0 })).total).toBe(0);
  await sheet.getByLabel("3 comes after").fill("2");
  await sheet.getByRole("button", { name: "Create 3 tasks" }).click();
  await expect(board.locator(".card")).toHaveCount(3);
  const shown = await stage.call("board_show", { task: "T-3" });
  expect(shown.depends_on.map((link) => link.title)).toEqual(["Document divide"]);
  expect(shown.task.repository).toBe(stage.repository);
});

test("an agent and a terminal are started from the page", async ({ stage, board }) => {
  await stage.makeRepository();
  await board.goto(`${await stage.address()}/board?new=agent`);
  const sheet = board.getByRole("dialog", { name: "Start an agent" });
  await sheet.getByLabel("First prompt").fill("Say hello");
  await sheet.getByRole("combobox", { name: "Agent" }).selectOption("rehearsal");
  await sheet.getByLabel("Script of the rehearsal").fill("hello");
  await sheet.getByLabel("Permission").selectOption("Plan only");
  await sheet.getByRole("textbox", { name: "Folder" }).fill(join(stage.folder, "nowhere"));
  await expect(sheet.getByText(/there is no folder/)).toBeVisible();
  await sheet.getByRole("textbox", { name: "Folder" }).fill(stage.repository);
  await expect(sheet.getByText(/on main/)).toBeVisible();
  await inOrder(board, "start-agent-light");
  await sheet.getByRole("button", { name: "Start", exact: true }).click();
  // What the daemon refuses is said in the form, which stays as it was.
  await expect(sheet.getByRole("alert")).toContainText("no permission mode");
  await sheet.getByLabel("Permission").selectOption("Ask first");
  await sheet.getByRole("button", { name: "Start", exact: true }).click();
  await expect(board).toHaveURL(/\/executions\//);
  const { executions } = await stage.call("execution_list", { all: true });
  expect(executions.map((run) => [run.engine, run.cwd])).toEqual([["rehearsal", stage.repository]]);

  await board.keyboard.press("/");
  await board.getByRole("combobox", { name: /Go to/ }).fill("start agent");
  await board.keyboard.press("Enter");
  await sheet.getByRole("radio", { name: "Terminal" }).check();
  await sheet.getByLabel("Command").fill("cat");
  await sheet.getByLabel("Name").fill("kitty");
  await sheet.getByRole("button", { name: "Start", exact: true }).click();
  await expect(board).toHaveURL(/\/slots\//);
  await expect(board.getByRole("region", { name: "Terminal of kitty" })).toBeVisible();
});

test("a folder that was just typed is the one that is used", async ({ stage, board }) => {
  await stage.makeRepository();
  const other = join(stage.folder, "other");
  mkdirSync(other);
  await board.goto(`${await stage.address()}/board?new=agent`);
  const sheet = board.getByRole("dialog", { name: "Start an agent" });
  await sheet.getByRole("radio", { name: "Terminal" }).check();
  await sheet.getByLabel("Command").fill("cat");
  const folder = sheet.getByRole("textbox", { name: "Folder" });
  await folder.fill(stage.repository);
  await expect(sheet.getByText(/on main/)).toBeVisible();
  await folder.fill(other);
  await folder.press("Enter");
  await expect(board).toHaveURL(/\/slots\//);
  const { slots } = await stage.call("slot_list", { all: false });
  expect(slots.map((slot) => slot.program?.cwd)).toEqual([other]);
});

test("a folder in one's own home is written with a tilde, in every form", async ({ stage, board }) => {
  await stage.mission("down");
  stage.set("HOME", stage.folder);
  await stage.start();
  await stage.makeRepository();
  // One is known: a folder is typed when another one is wanted.
  await stage.call("code_index", { path: stage.repository, wait: true });
  const address = await stage.address();
  await board.goto(`${address}/board?new=agent`);
  const sheet = board.getByRole("dialog", { name: "Start an agent" });
  await sheet.getByRole("radio", { name: "Terminal" }).check();
  await sheet.getByLabel("Command").fill("cat");
  await sheet.getByRole("combobox", { name: "Folder" }).selectOption("Another folder…");
  await sheet.getByRole("textbox", { name: "Folder" }).fill("~/greet");
  await expect(sheet.getByText(`${stage.repository}, on main`)).toBeVisible();
  await sheet.getByRole("button", { name: "Start", exact: true }).click();
  await expect(board).toHaveURL(/\/slots\//);
  const { slots } = await stage.call("slot_list", { all: false });
  expect(slots.map((slot) => slot.program?.cwd)).toEqual([stage.repository]);

  await board.goto(`${address}/board?new=task`);
  const form = board.getByRole("dialog", { name: "New task" });
  await form.getByRole("textbox", { name: "Title" }).fill("At home");
  await form.getByRole("combobox", { name: "Repository" }).selectOption("Another folder…");
  await form.getByRole("textbox", { name: "Folder" }).fill("~/greet");
  await expect(form.getByText(`${stage.repository}, on main`)).toBeVisible();
  await expect(form.getByLabel("Checks, one command a line")).toHaveValue("sh tests/run.sh");
  await form.getByRole("button", { name: "Create" }).click();
  await expect(board.getByRole("heading", { name: "At home" })).toBeVisible();
  expect((await stage.call("board_show", { task: "T-1" })).task.repository).toBe(stage.repository);

  await board.goto(`${address}/board?new=plan`);
  const plan = board.getByRole("dialog", { name: "Plan tasks" });
  // What was typed is remembered as the folder it is.
  await expect(plan.getByRole("combobox", { name: "Repository" })).toHaveValue(stage.repository);
  await plan.getByRole("combobox", { name: "Repository" }).selectOption("Another folder…");
  await plan.getByRole("textbox", { name: "Folder" }).fill("~/nowhere");
  await expect(plan.getByText(/there is no folder/)).toBeVisible();
  await plan.getByRole("textbox", { name: "Folder" }).fill("~/greet");
  await expect(plan.getByText(`${stage.repository}, on main`)).toBeVisible();
});

test("a template keeps its checks, and another agent gets no arguments of the one before", async ({ stage, board }) => {
  await stage.makeRepository();
  mkdirSync(join(stage.repository, ".mission/templates"), { recursive: true });
  writeFileSync(join(stage.repository, ".mission/templates/docs.toml"), '[[checks]]\nrun = ["grep", "-q", "greet", "README.md"]\n');
  await stage.call("code_index", { path: stage.repository, wait: true });
  await board.goto(`${await stage.address()}/board?new=task`);
  const form = board.getByRole("dialog", { name: "New task" });
  await form.getByRole("textbox", { name: "Title" }).fill("Describe it");
  await form.getByLabel("Repository", { exact: true }).selectOption(stage.repository);
  const checks = form.getByLabel("Checks, one command a line");
  await expect(checks).toHaveValue("sh tests/run.sh");
  await form.getByRole("combobox", { name: "Agent" }).selectOption("rehearsal");
  await form.getByLabel("Script of the rehearsal").fill("hello");
  await form.getByRole("combobox", { name: "Agent" }).selectOption("codex");
  await expect(form.getByLabel("More arguments for its program")).toHaveCount(0);
  await form.getByText("More options").click();
  await form.getByLabel("Template").selectOption("docs");
  await expect(checks).toHaveValue("");
  await form.getByLabel("Template").selectOption("None");
  await expect(checks).toHaveValue("sh tests/run.sh");
  await form.getByLabel("Template").selectOption("docs");
  await expect(checks).toHaveValue("");
  await form.getByRole("button", { name: "Create" }).click();
  await expect(board.getByRole("heading", { name: "Describe it" })).toBeVisible();
  const { task } = await stage.call("board_show", { task: "T-1" });
  expect(task.checks.map((check) => check.run)).toEqual([["grep", "-q", "greet", "README.md"]]);
  expect(task.args).toEqual([]);
});

const STEERED = `rehearsal: 1
startup: 0.1
turns:
  - steps:
      - write: {file: lib/half.sh, text: "echo half\\n"}
      - say: Half of it is there.
      - think: 90
  - when: {contains: the other half}
    uses: always
    steps:
      - append: {file: lib/half.sh, text: "echo whole\\n"}
      - ask:
          tool: Run
          args: sh lib/half.sh
          allow:
            - signal: {type: completed_claim, payload: {summary: it is whole}}
  - uses: always
    steps:
      - say: I wait.
`;

test("an agent is watched, told, answered and interrupted on the page of its task", async ({ stage, board }) => {
  await stage.makeRepository();
  const number = await stage.task("half", {
    title: "Write both halves",
    args: [stage.script("half", STEERED)],
    checks: [{ run: ["grep", "-q", "whole", "lib/half.sh"], timeout_secs: 10 }],
  });
  await board.goto(`${await stage.address()}/board/${number}`);
  await stage.autopilot("running");
  const live = board.getByRole("region", { name: "The agent at work" });
  await expect(live.getByRole("region", { name: /^Terminal of/ })).toContainText("Half of it is there.");
  await live.locator(".live-files").getByText("lib/half.sh").click();
  await expect(live.getByRole("region", { name: "Changes of lib/half.sh" })).toContainText("+echo half");
  await inOrder(board, "task-running-light");
  await live.getByRole("button", { name: "Interrupt" }).click();
  await expect(board.getByText("The agent is told to stop what it does.")).toBeVisible();
  await live.getByLabel("A message to the agent").fill("Now the other half, please.");
  await live.getByRole("button", { name: "Send", exact: true }).click();
  await live.getByRole("button", { name: "Allow once" }).click();
  await expect(board.locator(".task-head").getByText("done", { exact: true })).toBeVisible();
  await expect(live).toHaveCount(0);
  expect(await stage.git("show", "main:lib/half.sh")).toBe("echo half\necho whole\n");
});

const TRIES = `rehearsal: 1
startup: 0.1
turns:
  - uses: always
    steps:
      - append: {file: tries.txt, text: "tried\\n"}
      - signal: {type: completed_claim, payload: {summary: tried}}
`;

test("a retry goes on from the work there is, and one from scratch begins without it", async ({ stage, board }) => {
  await stage.makeRepository();
  const number = await stage.task("tries", {
    title: "Try it",
    args: [stage.script("tries", TRIES)],
    checks: [{ run: ["true"], timeout_secs: 10 }],
    review: "after_approval",
  });
  await stage.autopilot("running");
  await expect.poll(() => status(stage, number), { timeout: 60_000 }).toBe("review");
  await board.goto(`${await stage.address()}/board/${number}`);
  const tried = async (attempts: number) => {
    await expect.poll(() => status(stage, number), { timeout: 60_000 }).toBe("review");
    const made = (await stage.call("board_show", { task: number })).attempts;
    expect(made).toHaveLength(attempts);
    return stage.git("show", `${made.at(-1)?.branch}:tries.txt`);
  };
  expect(await tried(1)).toBe("tried\n");

  await board.getByRole("button", { name: "Retry from scratch" }).click();
  await expect(board.getByText(`${number} is open again.`)).toBeVisible();
  await expect(board.locator(".attempts > li")).toHaveCount(2);
  expect(await tried(2)).toBe("tried\n");
  // What was done before is on its branch still.
  const [first] = (await stage.call("board_show", { task: number })).attempts;
  expect(await stage.git("show", `${first?.branch}:tries.txt`)).toBe("tried\n");
  expect(await stage.git("ls-tree", "--name-only", "main")).not.toContain("tries.txt");

  // Without it the next attempt would have gone on from there.
  await stage.call("board_retry", { task: number });
  await expect(board.locator(".attempts > li")).toHaveCount(3);
  expect(await tried(3)).toBe("tried\ntried\n");
});

test("the palette does what the page can, also with the task that is open", async ({ stage, board }) => {
  await stage.call("board_add", { task: { title: "Give me up", isolation: "none" } });
  await board.goto(`${await stage.address()}/board/T-1`);
  await expect(board.getByRole("heading", { name: "Give me up" })).toBeVisible();
  const field = board.getByRole("combobox", { name: /Go to/ });
  const act = async (typed: string, name: string) => {
    await board.keyboard.press("Control+k");
    await field.fill(typed);
    await expect(board.getByRole("listbox", { name: "Found" }).getByRole("option").first()).toContainText(name);
    await board.keyboard.press("Enter");
  };
  await act("cancel t-1", "Cancel T-1");
  await expect.poll(() => status(stage, "T-1")).toBe("failed");
  await act("retry", "Retry T-1");
  await expect.poll(() => status(stage, "T-1")).toBe("open");
  await act("edit t-1", "Edit T-1");
  await expect(board.getByRole("dialog", { name: "Edit T-1" })).toBeVisible();
  await board.keyboard.press("Escape");
  await act("new task", "New task");
  await expect(board.getByRole("dialog", { name: "New task" })).toBeVisible();
  await board.keyboard.press("Escape");
  await act("autopilot on", "Turn the autopilot on");
  await expect.poll(async () => (await stage.call("autopilot_show", {})).mode).toBe("running");
  await act("dark", "Use dark colours");
  await expect(board.locator("html")).toHaveAttribute("data-theme", "dark");
  await act("settings", "Go to Settings");
  await expect(board).toHaveURL(/\/system/);
  await expect(board.getByRole("heading", { level: 1 })).toHaveText("Settings");
  await act("configuration", "Show the configuration");
  await expect(board.getByRole("link", { name: "Configuration" })).toHaveAttribute("aria-current", "page");
});

test("one search finds tasks, knowledge, code and commits in one list", async ({ stage, board }) => {
  await stage.makeRepository();
  await stage.call("board_add", { task: { title: "Greet the moon", isolation: "none" } });
  await stage.call("kb_remember", { summary: "Greet is spelled with two e", key: "greet" });
  await stage.call("code_index", { path: stage.repository, wait: true });
  await board.goto(`${await stage.address()}/board`);
  await expect(board.locator(".card")).toHaveCount(1);
  await board.keyboard.press("/");
  await board.getByRole("combobox", { name: /Go to/ }).fill("greet");
  const found = board.getByRole("listbox", { name: "Found" }).getByRole("option");
  await expect(found.filter({ hasText: "Greet the moon" })).toHaveCount(1);
  await expect(found.filter({ hasText: "Greet is spelled" })).toContainText("knowledge");
  await expect(found.filter({ hasText: "Greet the world" })).toContainText("commit");
  await inOrder(board, "palette-light");
  await found.filter({ hasText: "Greet is spelled" }).click();
  await expect(board).toHaveURL(/\/knowledge\/entry\//);
});

test("the board shows one repository, and says why a ready task does not start", async ({ stage, board }) => {
  await stage.makeRepository();
  await stage.task("version");
  await stage.call("board_add", { task: { title: "Elsewhere", isolation: "none" } });
  await board.goto(`${await stage.address()}/board`);
  const card = board.locator('.card[data-task="T-1"]');
  await expect(card.locator(".card-repository")).toHaveText("greet");
  await expect(card).toContainText("the autopilot is paused");
  await board.getByRole("combobox", { name: "Repository" }).selectOption("greet");
  await expect(board.locator(".card")).toHaveCount(1);
  await expect(board).toHaveURL(new RegExp(`repo=${encodeURIComponent(stage.repository).replaceAll("%", "%")}`));
  await board.reload();
  await expect(board.locator(".card")).toHaveCount(1);
  await board.goto(`${await stage.address()}/board?words=greet`);
  await expect(board.locator(".card")).toHaveCount(1);
});

test("several tasks are changed together", async ({ stage, board }) => {
  for (const title of ["one", "two", "three"]) {
    await stage.call("board_add", { task: { title, isolation: "none" } });
  }
  await board.goto(`${await stage.address()}/board`);
  await board.getByRole("button", { name: "Select" }).click();
  await board.getByLabel("Select T-1").check();
  await board.getByLabel("Select T-3").check();
  const bulk = board.getByRole("toolbar", { name: "Selected tasks" });
  await expect(bulk).toContainText("2 selected");
  await bulk.getByLabel("Set the priority").selectOption("Urgent");
  const facts = async () =>
    (await stage.call("board_list", { offset: 0 })).tasks
      .map((task) => `${task.title} ${task.priority} ${task.status} ${task.labels ?? ""}`)
      .sort();
  await expect.poll(facts).toEqual(["one urgent open ", "three urgent open ", "two normal open "]);
  await bulk.getByLabel("Add a label").fill("later");
  await bulk.getByLabel("Add a label").press("Enter");
  await expect.poll(facts).toEqual(["one urgent open later", "three urgent open later", "two normal open "]);
  await inOrder(board, "bulk-light");
  // What a filter hides is not reached.
  await board.getByLabel("Filter the tasks").fill("three");
  await expect(bulk).toContainText("1 selected");
  await bulk.getByLabel("Set the priority").selectOption("Low");
  await expect.poll(facts).toEqual(["one urgent open later", "three low open later", "two normal open "]);
  await bulk.getByLabel("Set the priority").selectOption("Urgent");
  await board.getByLabel("Filter the tasks").fill("");
  await expect(bulk).toContainText("2 selected");
  board.on("dialog", (dialog) => void dialog.accept());
  await bulk.getByRole("button", { name: "Cancel tasks" }).click();
  await expect.poll(facts).toEqual(["one urgent failed later", "three urgent failed later", "two normal open "]);
  await bulk.getByRole("button", { name: "Retry" }).click();
  await expect.poll(facts).toEqual(["one urgent open later", "three urgent open later", "two normal open "]);
});

test("on a phone the board opens on what needs you", async ({ stage, browser }) => {
  await stage.makeRepository();
  const script = stage.script(
    "stuck",
    "rehearsal: 1\nstartup: 0.1\nturns:\n  - uses: always\n    steps:\n      - signal: {type: blocked_claim, payload: {reason: no water}}\n",
  );
  await stage.task("stuck", { title: "Boil the water", args: [script], max_attempts: 1 });
  await stage.call("board_add", { task: { title: "Set the table", isolation: "none" }, depends_on: ["T-1"] });
  await stage.autopilot("running");
  await expect.poll(() => status(stage, "T-1"), { timeout: 60_000 }).toBe("blocked");
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  const page = await context.newPage();
  await stage.trade(page);
  await page.goto(`${await stage.address()}/board`);
  await expect(page.locator(column("blocked"))).toBeInViewport({ ratio: 0.5 });
  await expect(page.locator(column("done"))).toHaveCount(0);
  // What narrows the board has a line of its own, and takes nothing from the title.
  const [action, controls] = await Promise.all([page.locator(".bar-action").boundingBox(), page.locator(".bar-controls").boundingBox()]);
  expect(controls?.y).toBeGreaterThanOrEqual((action?.y ?? 0) + (action?.height ?? 0));
  await page.getByRole("navigation", { name: "Columns" }).getByRole("button", { name: /Waiting/ }).click();
  await expect(page.locator(column("waiting"))).toBeInViewport({ ratio: 0.8 });
  await inOrder(page, "board-phone-dark");
  await page.goto(`${await stage.address()}/board?new=task`);
  await expect(page.getByRole("dialog", { name: "New task" })).toBeVisible();
  await inOrder(page, "new-task-phone-dark");
  await context.close();
});
