// The palette does what the page can, with any task, agent or question, by keys alone.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, type Stage, test } from "./stage";

const status = async (stage: Stage, task: string) => (await stage.call("board_show", { task })).task.status;

/** What is found for the typed words, from the first to the last. */
async function look(page: Page, typed: string) {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: /Go to/ })).toBeFocused();
  await page.keyboard.type(typed);
  return page.getByRole("listbox", { name: "Found" }).getByRole("option");
}

/** Types, sees that the first thing found is what was meant, goes to it and presses Enter. */
async function act(page: Page, typed: string, name: string | RegExp): Promise<void> {
  const found = await look(page, typed);
  await expect(found.first()).toContainText(name);
  // What was found before it stays selected, and an answer is not selected by itself.
  const isFirst = async () => (await found.first().getAttribute("aria-selected")) === "true";
  if (!(await isFirst())) await page.keyboard.press("ArrowDown");
  while (!(await isFirst())) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
}

/** Agrees to what the palette asks once more. */
async function agree(page: Page, name: string): Promise<void> {
  const asked = page.getByRole("dialog", { name });
  await expect(asked.getByRole("button", { name: "Cancel" })).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(asked.getByRole("button", { name })).toBeFocused();
  await page.keyboard.press("Enter");
}

const CLAIMS = (file: string) => `rehearsal: 1
startup: 0.1
turns:
  - uses: always
    steps:
      - append: {file: ${file}, text: "tried\\n"}
      - signal: {type: completed_claim, payload: {summary: it is there}}
`;

test("reviewed work is merged, and tried again from scratch, by the palette", async ({ stage, board }) => {
  await stage.makeRepository();
  const work = (name: string) =>
    stage.task(name, {
      title: `Write ${name}`,
      review: "after_approval",
      args: [stage.script(name, CLAIMS(`${name}.txt`))],
      checks: [{ run: ["test", "-e", `${name}.txt`], timeout_secs: 10 }],
    });
  const [kept, again] = [await work("kept"), await work("again")];
  await stage.autopilot("running");
  for (const task of [kept, again]) await expect.poll(() => status(stage, task), { timeout: 60_000 }).toBe("review");

  // From another page, by its number: the dialog of the merge asks, and Enter says yes.
  await board.goto(`${await stage.address()}/timeline`);
  await act(board, `merge ${kept}`, `Merge ${kept}`);
  const sheet = board.getByRole("dialog", { name: "Merge" });
  await expect(sheet.getByRole("button", { name: "Merge into main" })).toBeEnabled();
  await board.keyboard.press("Enter");
  await expect.poll(() => status(stage, kept)).toBe("done");
  expect(await stage.git("show", "main:kept.txt")).toBe("tried\n");
  await expect(sheet).toHaveCount(0);

  // What is done is neither merged nor tried again.
  const found = await look(board, kept);
  await expect(found.filter({ hasText: `Review ${kept}` })).toBeVisible();
  await expect(found.filter({ hasText: /^(Merge|Retry|Cancel|Edit)/ })).toHaveCount(0);
  await board.keyboard.press("Escape");

  await act(board, `retry ${again} from scratch`, `Retry ${again} from scratch`);
  await expect.poll(async () => (await stage.call("board_show", { task: again })).attempts.length).toBe(2);
  await expect.poll(() => status(stage, again), { timeout: 60_000 }).toBe("review");
  const [first, second] = (await stage.call("board_show", { task: again })).attempts;
  expect(second?.branch).not.toBe(first?.branch);
  expect(await stage.git("show", `${second?.branch}:again.txt`)).toBe("tried\n");
});

const WAITS = `rehearsal: 1
startup: 0.1
turns:
  - steps:
      - say: I begin.
      - ask: {tool: Run, args: make install}
  - when: {contains: the rocks}
    uses: always
    steps:
      - write: {file: heard.txt, text: "heard"}
      - say: I heard it.
      - think: 120
  - uses: always
    steps:
      - say: I wait.
`;

test("a question is answered, an agent told something and stopped, by the palette", async ({ stage, board }) => {
  await stage.makeRepository();
  const task = await stage.task("wait", { title: "Install it", args: [stage.script("wait", WAITS)], max_attempts: 1 });
  await stage.autopilot("running");
  await expect(board.locator('.now-row[data-kind="asks"]')).toBeVisible();
  const open = async () => (await stage.call("question_list", { all: false })).questions;
  const [question] = await open();
  const name = `Q-${question?.number}`;

  // What is selected on Now comes first, before anything is typed.
  const first = await look(board, "");
  await expect(first.first()).toContainText(`Answer ${name}: Allow once`);
  await board.keyboard.press("Escape");
  await act(board, `answer ${name} allow`, `Answer ${name}: Allow once`);
  await agree(board, `Answer ${name}: Allow once`);
  await expect.poll(async () => (await open()).length).toBe(0);

  // A command that needs words asks for them, and takes them in one go as well.
  await act(board, `message ${task}`, `Message ${task}…`);
  await expect(board.getByRole("combobox", { name: /Go to/ })).toHaveValue(`Message ${task} `);
  await board.keyboard.type("Mind the rocks");
  await expect(board.getByRole("listbox", { name: "Found" }).getByRole("option").first()).toContainText(`Message ${task}: Mind the rocks`);
  await board.keyboard.press("Enter");
  await expect(board.getByText("Sent: the agent gets it")).toBeVisible();
  const { attempts } = await stage.call("board_show", { task });
  const { worktree } = attempts[0] ?? {};
  await expect.poll(() => existsSync(join(worktree ?? "", "heard.txt")), { timeout: 60_000 }).toBe(true);
  await act(board, `note on ${task} looks fine`, `Note on ${task}: looks fine`);
  await expect.poll(async () => (await stage.call("board_show", { task })).notes.map((note) => note.text)).toContain("looks fine");
  await act(board, `interrupt ${task}`, `Interrupt ${task}`);
  await expect(board.getByText("The agent is told to stop what it does.")).toBeVisible();

  // What ends an agent asks as its button does.
  const asked: string[] = [];
  board.on("dialog", (dialog) => {
    asked.push(dialog.message());
    void (asked.length === 1 ? dialog.dismiss() : dialog.accept());
  });
  await act(board, `cancel ${task}`, `Cancel ${task}`);
  await expect.poll(() => asked.length).toBe(1);
  expect(await status(stage, task)).toBe("running");
  await act(board, `cancel ${task}`, `Cancel ${task}`);
  await expect.poll(() => status(stage, task)).toBe("failed");
  expect(asked[1]).toBe(`An agent works on ${task}. Cancelling ends the agent.`);
});

test("a terminal is taken over, a rule removed and a setting taken back, by the palette", async ({ stage, board }) => {
  await stage.spawn("kitty", ["cat"]);
  await stage.call("permission_add", { effect: "allow", subject: { tool: "Bash", argument: "git status*" } });
  await stage.call("config_set", { key: "autopilot.max_agents", value: 3 });
  await board.goto(`${await stage.address()}/slots`);
  await expect(board.getByText("kitty").first()).toBeVisible();
  await act(board, "undo", "Undo the change of autopilot.max_agents");
  await expect(board.getByText(/^Undone/)).toBeVisible();
  // Taking that back again is no way to undo something.
  const left = await look(board, "undo");
  await expect(left.filter({ hasText: "autopilot.max_agents" })).toHaveCount(0);
  await board.keyboard.press("Escape");
  await expect(board.locator(".palette")).toHaveCount(0);
  await act(board, "remove rule git status", "Remove P-1");
  await expect(board.getByText("P-1 is removed.")).toBeVisible();
  await act(board, "take over kitty", "Take over kitty");
  await expect(board.getByText("you have the keyboard")).toBeVisible();
  await expect(board).not.toHaveURL(/take/);
  await board.keyboard.type("meow\n");
  await expect(board.getByRole("region", { name: "Terminal of kitty" })).toContainText("meow");
});

test("an answer by the palette shows all that is asked for, and is given by a press of its own", async ({ stage, board }) => {
  await stage.makeRepository();
  const command = `make install ${Array.from({ length: 30 }, (_, index) => `part-${index}`).join(" ")} && rm -rf build`;
  const asks = `rehearsal: 1\nstartup: 0.1\nturns:\n  - steps:\n      - ask: {tool: Run, args: "${command}"}\n      - think: 120\n`;
  await stage.task("long", { title: "Install all of it", args: [stage.script("long", asks)] });
  await stage.autopilot("running");
  await expect(board.locator('.now-row[data-kind="asks"]').getByRole("button", { name: "Allow once" })).toBeEnabled();
  const open = async () => (await stage.call("question_list", { all: false })).questions;
  const name = `Q-${(await open())[0]?.number}`;

  // It stands first, and nothing is selected until somebody does.
  const found = await look(board, "");
  await expect(found.first()).toContainText(`Answer ${name}: Allow once`);
  await expect(board.locator('.palette [aria-selected="true"]')).toHaveCount(0);
  await board.keyboard.press("Enter");
  await expect(found.first()).toBeVisible();
  await board.keyboard.press("ArrowDown");
  await expect(found.first()).toHaveAttribute("aria-selected", "true");

  // A key that is held, or pressed once too often, agrees to nothing.
  await board.keyboard.down("Enter");
  for (let times = 0; times < 5; times += 1) await board.keyboard.down("Enter");
  await board.keyboard.up("Enter");
  const asked = board.getByRole("dialog", { name: `Answer ${name}: Allow once` });
  await expect(asked.getByRole("region", { name: `All of ${name}` })).toHaveText(command);
  await board.screenshot({ path: "screenshots/palette-answer.png" });
  await board.keyboard.press("Enter");
  await expect(board.getByRole("combobox", { name: /Go to/ })).toBeFocused();
  expect(await open()).toHaveLength(1);

  await board.keyboard.press("Enter");
  await asked.getByRole("button", { name: `Answer ${name}: Allow once` }).click();
  await expect.poll(async () => (await open()).length).toBe(0);
});

test("what is selected in the palette stays so while the list changes, and nothing is when it is gone", async ({ stage, board }) => {
  for (const name of ["ant", "bee", "cow"]) await stage.spawn(name, ["cat"]);
  const kill = (slot: string) => stage.call("slot_kill", { slot, grace_ms: 0 });
  await board.goto(`${await stage.address()}/timeline`);
  const found = await look(board, "take over");
  await expect(found).toContainText([/ant/, /bee/, /cow/]);
  const bee = found.filter({ hasText: "Take over bee" });
  await board.keyboard.press("ArrowDown");
  await expect(bee).toHaveAttribute("aria-selected", "true");
  await kill("ant");
  await expect(found.first()).toContainText("Take over bee");
  await expect(bee).toHaveAttribute("aria-selected", "true");
  await kill("bee");
  await expect(found.first()).toContainText("Take over cow");
  await expect(board.locator('.palette [aria-selected="true"]')).toHaveCount(0);
  await board.keyboard.press("Enter");
  await expect(found.first()).toBeVisible();
  await expect(board).toHaveURL(/timeline/);
});

test("proposals are decided, a token revoked, a file discarded and the configuration reloaded, by the palette", async ({ stage, board }) => {
  await stage.makeRepository();
  const task = await stage.task("kept", {
    title: "Write kept",
    review: "after_approval",
    args: [stage.script("kept", CLAIMS("kept.txt"))],
    checks: [{ run: ["test", "-e", "kept.txt"], timeout_secs: 10 }],
  });
  await stage.autopilot("running");
  await stage.call("kb_propose", { summary: "The build takes 4 minutes", source: "agent", tier: "agent" });
  await stage.call("kb_propose", { summary: "Tabs are better", source: "agent", tier: "agent" });
  await stage.call("token_create", { name: "ci" });
  const asked: string[] = [];
  board.on("dialog", (dialog) => {
    asked.push(dialog.message());
    void dialog.accept();
  });
  await board.goto(`${await stage.address()}/timeline`);
  await act(board, "accept proposal build", "The build takes 4 minutes");
  await expect(board.getByText("Saved.")).toBeVisible();
  await act(board, "reject proposal tabs", "Tabs are better");
  await expect(board.getByText("Rejected. It is not kept.")).toBeVisible();
  expect((await stage.call("kb_list", {})).entries.map((entry) => entry.summary)).toEqual(["The build takes 4 minutes"]);
  await act(board, "revoke ci", "Revoke ci");
  await expect(board.getByText("Revoked: ci.")).toBeVisible();
  await act(board, "reload configuration", "Reload the configuration");
  await expect(board.getByText("Nothing has changed.")).toBeVisible();

  await expect.poll(() => status(stage, task), { timeout: 60_000 }).toBe("review");
  const { attempts } = await stage.call("board_show", { task });
  const left = join(attempts[0]?.worktree ?? "", "left-over.log");
  writeFileSync(left, "rubbish\n");
  await act(board, `discard ${task}`, `Discard uncommitted changes of ${task}`);
  await expect(board.getByText("Discarded the changes of 1 file.")).toBeVisible();
  expect(existsSync(left)).toBe(false);
  expect(asked).toEqual([
    expect.stringContaining("The build takes 4 minutes"),
    expect.stringContaining("Revoke ci?"),
    expect.stringContaining("left-over.log"),
  ]);
});
