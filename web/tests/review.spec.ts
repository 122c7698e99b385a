// Work looked at from the page: what was changed, what is said about it, and
// bringing it back.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { faults } from "./faults";
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

/** A task whose agent waits; these files are in the repository before it begins. */
async function underReview(stage: Stage, files: Record<string, string> = {}): Promise<string> {
  await stage.makeRepository();
  if (Object.keys(files).length > 0) {
    for (const [path, text] of Object.entries(files)) write(stage.repository, path, text);
    await stage.git("add", "--all");
    await stage.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "more");
  }
  const task = await stage.task("version", { args: [stage.script("asks", ASKS)], checks: [], finish: "branch" });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("question_list", { all: false })).questions.length).toBe(1);
  return task;
}

/** Where the agent of a task works. */
async function folderOf(stage: Stage, task: string): Promise<string> {
  const { attempts } = await stage.call("board_show", { task });
  return attempts.at(-1)?.worktree ?? "";
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** A file in Python, one function a piece, of which some say otherwise than usual. */
const functions = (count: number, otherwise: Record<number, string> = {}): string =>
  Array.from({ length: count }, (_, number) => {
    const body = otherwise[number] ?? `return ${number}`;
    return `def answer_${number}():\n    """Says ${number}."""\n    ${body}\n\n`;
  }).join("");

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
  await board.getByLabel("Overall comment").fill("Nearly there.");

  await board.screenshot({ path: "screenshots/review-comments.png" });

  // Nothing is lost by a reload.
  await board.reload();
  await expect(board.locator(".draft li")).toHaveCount(2);
  await board.getByRole("button", { name: "Send to agent" }).click();
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

/** An agent that writes a file and says that it is done, whatever the checks say. */
const CLAIMS = [
  "rehearsal: 1",
  "startup: 0.1",
  "turns:",
  "  - uses: always",
  "    steps:",
  "      - write: {file: lib/version.sh, text: \"echo one\\n\"}",
  "      - signal: {type: completed_claim, payload: {summary: Done.}}",
].join("\n");

const PASSES = { run: ["true"], timeout_secs: 5 };
const FAILS = { run: ["sh", "-c", "echo nothing is right; exit 3"], name: "right", timeout_secs: 5 };

/** A task whose agent has ended, by what its checks say. */
async function ended(stage: Stage, checks: (typeof PASSES)[], status: string): Promise<string> {
  await stage.makeRepository();
  const claims = stage.script("claims", CLAIMS);
  const task = await stage.task("version", { args: [claims], checks, max_attempts: 1, finish: "branch" });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task })).task.status).toBe(status);
  await stage.autopilot("paused");
  const inUse = async () =>
    (await stage.call("worktree_list", {})).worktrees.some((worktree) => worktree.standing === "in_use");
  await expect.poll(inUse).toBe(false);
  return task;
}

test("verified work is listed as ready for review and squashed with a message", async ({ stage, board }) => {
  const task = await ended(stage, [PASSES], "review");
  await board.keyboard.press("g");
  await board.keyboard.press("b");
  await expect(board.getByRole("region", { name: /^Ready for review/ }).locator(".card")).toContainText(task);
  await board.keyboard.press("g");
  await board.keyboard.press("r");
  const ready = board.getByRole("list", { name: "Ready for review" });
  const item = ready.getByRole("listitem").filter({ hasText: "Add the command version" });
  for (const fact of [task, "greet", "rehearsal", "check passed", "1 file", "+1"]) {
    await expect(item).toContainText(fact);
  }
  await board.screenshot({ path: "screenshots/review-list.png" });
  await board.getByLabel("Filter").fill("nothing like it");
  await expect(board.getByRole("heading", { name: "No work matches the filter" })).toBeVisible();
  await board.getByLabel("Filter").fill(`${task.toLowerCase()} greet`);
  await item.getByRole("link", { name: "Add the command version" }).click();

  await expect(board.getByRole("region", { name: "Checks" })).toContainText("The check passed.");
  const before = (await stage.git("rev-parse", "main")).trim();
  await board.keyboard.press("m");
  const sheet = board.getByRole("dialog", { name: "Merge" });
  await expect(sheet).toContainText(/Adds \d+ commits? of mission\/\S+ to main, with a merge commit/);
  await expect(sheet).toContainText(`${task} is done with that.`);
  await sheet.getByLabel("Squash into one commit").check();
  await expect(sheet).toContainText("Adds one commit to main");
  await expect(sheet.getByLabel("Commit message")).toHaveValue(`${task}: Add the command version`);
  await sheet.getByLabel("Commit message").fill("version: print it\n\nAsked for by everybody.");
  await board.screenshot({ path: "screenshots/review-merge.png" });
  expect((await stage.git("rev-parse", "main")).trim()).toBe(before);
  await sheet.getByRole("button", { name: "Squash into main" }).click();
  await expect(board.getByText(/Merged into main at/)).toBeVisible();
  expect(await stage.git("show", "main:lib/version.sh")).toBe("echo one\n");
  expect(await stage.git("log", "-1", "--format=%B", "main")).toContain("version: print it\n\nAsked for by everybody.");
  expect((await stage.git("rev-parse", "main~1")).trim()).toBe(before);
  expect((await stage.call("board_show", { task })).task.status).toBe("done");
  await expect(board.getByRole("button", { name: /Merge/ })).toHaveCount(0);
});

test("red work says so before anything else, and is merged only by a second press", async ({ stage, board }) => {
  const task = await ended(stage, [PASSES, FAILS], "blocked");
  await board.goto(`${await stage.address()}/review`);
  const item = board.getByRole("list", { name: "Needs a decision" }).getByRole("listitem");
  await expect(item).toContainText("Task blocked");
  await expect(item).toContainText("1 of 2 checks failed");
  await item.getByRole("link", { name: "Add the command version" }).click();

  const verdict = board.getByRole("alert", { name: "Checks" });
  await expect(verdict).toContainText("1 of 2 checks failed.");
  await expect(verdict.getByRole("region", { name: /Output of right/ }).first()).toContainText("nothing is right");
  const rounds = verdict.locator(".earlier");
  await expect(rounds).toContainText(/earlier rounds?/);
  await expect(rounds.getByRole("heading").first()).toBeHidden();
  await board.screenshot({ path: "screenshots/review-red.png" });

  const before = await stage.git("rev-parse", "main");
  await board.keyboard.press("m");
  const sheet = board.getByRole("dialog", { name: "Merge" });
  await sheet.getByLabel("Merge commit").check();
  await expect(sheet.getByRole("alert")).toContainText("A check failed: right");
  const merge = sheet.getByRole("button", { name: "Merge although checks fail" });
  await expect(merge).toHaveClass(/danger/);
  await expect(sheet.locator(".primary")).toHaveCount(0);
  await board.screenshot({ path: "screenshots/review-merge-red.png" });
  // Enter in the form is no press, and one that is held is one press of the button.
  await sheet.getByLabel("Merge commit").press("Enter");
  await expect(merge).toBeEnabled();
  await merge.focus();
  for (let times = 0; times < 6; times += 1) await board.keyboard.down("Enter");
  await board.keyboard.up("Enter");
  const yes = sheet.getByRole("button", { name: "Yes, merge red work" });
  await expect(yes).toBeVisible();
  expect(await stage.git("rev-parse", "main")).toBe(before);
  // The daemon does not take it from a page that is in a hurry either.
  await expect(stage.call("worktree_finish", { worktree: task, how: "merge", confirmed: true })).rejects.toThrow(/fail/);
  await yes.click();
  await expect(board.getByText(/Merged into main at/)).toBeVisible();
  expect(await stage.git("show", "main:lib/version.sh")).toBe("echo one\n");
  expect((await stage.call("board_show", { task })).task.status).toBe("done");
  await board.goto(`${await stage.address()}/review`);
  await expect(board.getByRole("list", { name: "Nothing to review" })).toContainText("Merged");
});

test("work that came to nothing is not said to be merged", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script("idle", "rehearsal: 1\nturns:\n  - steps:\n      - exit: 1\n");
  const task = await stage.task("version", { args: [script], max_attempts: 1 });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task })).task.status).toMatch(/blocked|failed/);
  await board.goto(`${await stage.address()}/review`);
  const list = board.getByRole("list", { name: "Nothing to review" });
  await expect(list).toContainText("No changes");
  await expect(list).not.toContainText(/Merged|brought/);
});

test("two attempts at a task are compared, and one is kept", async ({ stage, board }) => {
  const task = await ended(stage, [PASSES], "review");
  // The same agent does it otherwise the next time.
  const otherwise = CLAIMS.replace("echo one", "echo 1").replace(
    "      - signal:",
    "      - write: {file: docs/version.md, text: \"# Version\\n\"}\n      - signal:",
  );
  stage.script("claims", otherwise);
  await stage.call("board_retry", { task, fresh: true });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task })).attempts.length).toBe(2);
  await expect.poll(async () => (await stage.call("board_show", { task })).task.status).toBe("review");
  await board.goto(`${await stage.address()}/review/${task}`);
  await board.getByLabel("Compare with").selectOption(`${task}, attempt 1`);

  const [one, two] = [1, 2].map((number) => board.getByRole("region", { name: `${task}, attempt ${number}` }));
  await expect(two!).toContainText("2 files");
  await expect(two!).toContainText("check passed");
  await expect(one!).toContainText("1 file");
  const files = board.getByRole("region", { name: "Files of both" });
  await expect(files.getByRole("row", { name: /docs\/version.md/ })).toContainText("only one");
  const row = board.getByRole("region", { name: "Difference in lib/version.sh" }).locator("tr.beside");
  await expect(row.locator(".removed.code")).toContainText("echo 1");
  await expect(row.locator(".added.code")).toContainText("echo one");
  expect(await faults(board)).toEqual([]);
  await board.screenshot({ path: "screenshots/review-compare.png" });

  await one!.getByRole("button", { name: "Keep this one" }).click();
  await board.getByRole("dialog", { name: "Merge" }).getByRole("button", { name: "Merge into main" }).click();
  await expect(board.getByText(/Merged into main at/)).toBeVisible();
  expect(await stage.git("show", "main:lib/version.sh")).toBe("echo one\n");
  expect((await stage.call("board_show", { task })).task.status).toBe("done");
  // What was not kept is not lost.
  const { attempts } = await stage.call("board_show", { task });
  expect(await stage.git("show", `${attempts[1]?.branch}:docs/version.md`)).toBe("# Version\n");
});

test("what is not committed is named, and discarded by a second press", async ({ stage, board }) => {
  const task = await ended(stage, [PASSES, FAILS], "blocked");
  const folder = await folderOf(stage, task);
  write(folder, "lib/version.sh", "echo half-way\n");
  write(folder, "left-over.log", "rubbish\n");
  await board.goto(`${await stage.address()}/review/${task}`);
  const notice = board.locator(".view .uncommitted");
  await expect(notice).toContainText("2 files are not committed: lib/version.sh, left-over.log.");
  await board.keyboard.press("m");
  const sheet = board.getByRole("dialog", { name: "Merge" });
  await expect(sheet).toContainText("then the work can be merged");
  await expect(sheet.getByRole("button", { name: /Merge/ })).toHaveCount(0);
  await board.keyboard.press("Escape");
  await notice.getByRole("button", { name: "Discard uncommitted changes" }).click();
  expect(readFileSync(join(folder, "left-over.log"), "utf8")).toBe("rubbish\n");
  await notice.getByRole("button", { name: "Yes, discard them for good" }).click();
  await expect(board.getByText("Discarded the changes of 2 files.")).toBeVisible();
  await expect(notice).toHaveCount(0);
  expect(readFileSync(join(folder, "lib/version.sh"), "utf8")).toBe("echo one\n");
  await expect(board.getByRole("region", { name: "left-over.log" })).toHaveCount(0);
});

test("work in review is sent back with comments, and tried again", async ({ stage, board }) => {
  const task = await ended(stage, [PASSES], "review");
  await board.goto(`${await stage.address()}/review/${task}`);
  await expect(board.getByRole("region", { name: "lib/version.sh" })).toContainText("echo one");
  await board.keyboard.press("j");
  await board.keyboard.press("c");
  await board.keyboard.type("Say two as well.");
  await board.keyboard.press("Control+Enter");
  await board.getByRole("button", { name: "Send back with comments" }).click();
  await expect(board.getByText(`${task} is sent back`)).toBeVisible();
  const { task: card, notes } = await stage.call("board_show", { task });
  expect(card.status).toBe("open");
  expect(notes.at(-1)?.text).toContain("lib/version.sh, line 1:\n> echo one\nSay two as well.");
});

test("a review of work whose agent is gone becomes a note, and the task is tried again", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script("gone", "rehearsal: 1\nturns:\n  - steps:\n      - write: {file: a.txt, text: one}\n      - exit: 1\n");
  const task = await stage.task("version", { args: [script], max_attempts: 1 });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task })).task.status).toMatch(/blocked|failed/);
  await stage.autopilot("paused");
  await board.goto(`${await stage.address()}/review/${task}`);
  await expect(board.getByText("Its agent has ended")).toBeVisible();
  await board.getByLabel("Overall comment").fill("Do not leave half-way.");
  await board.getByRole("button", { name: "Send back with comments" }).click();
  await expect(board.getByText(`${task} is sent back`)).toBeVisible();
  const { task: card, notes } = await stage.call("board_show", { task });
  expect(notes.at(-1)?.text).toBe("Do not leave half-way.");
  expect(card.status).toBe("open");
});

test("a change is read in colour, side by side, and with what stands around it", async ({ stage, board }) => {
  const task = await underReview(stage, { "src/answers.py": functions(40) });
  const folder = await folderOf(stage, task);
  write(folder, "src/answers.py", functions(40, { 5: 'return "five"', 30: "raise ValueError(30)" }));
  write(folder, "web/page.ts", "export const title: string = `answers`;\n");
  await board.goto(`${await stage.address()}/review/${task}`);
  const python = board.getByRole("region", { name: "src/answers.py", exact: true });

  // Told apart by what the words are, in each language.
  await expect(python.locator(".added .hl-string", { hasText: '"five"' })).toBeVisible();
  await expect(python.locator(".added .hl-keyword", { hasText: "raise" })).toBeVisible();
  const page = board.getByRole("region", { name: "web/page.ts", exact: true });
  await expect(page.locator(".hl-keyword", { hasText: "export" })).toBeVisible();
  await board.screenshot({ path: "screenshots/review-unified.png" });

  // What is between the hunks is opened from either side, or all of it.
  await expect(python).not.toContainText("def answer_20()");
  await python.getByRole("button", { name: "Show 20 lines from line 27", exact: true }).click();
  await expect(python).toContainText("def answer_8()");
  await expect(python).not.toContainText("def answer_20()");
  await python.getByRole("button", { name: "Show 20 lines up to line 119", exact: true }).click();
  await expect(python).toContainText("def answer_27()");
  await expect(python).not.toContainText("def answer_39()");
  await python.getByRole("button", { name: "Show 20 more lines" }).click();
  await expect(python).toContainText("def answer_34()");
  await python.getByRole("button", { name: "Whole file" }).click();
  await expect(python.locator("tr.line")).toHaveCount(162);
  await expect(python.getByRole("button", { name: /Show|all \d+ lines/ })).toHaveCount(0);
  await python.getByRole("button", { name: "Changes only" }).click();
  await expect(python).not.toContainText("def answer_20()");

  // Beside each other, remembered, with comments on either side.
  await board.keyboard.press("s");
  const changed = python.locator("tr.beside", { hasText: "raise ValueError" });
  await expect(changed.locator("td.removed.code")).toContainText("return 30");
  await expect(changed.locator("td.added.code")).toContainText("raise ValueError(30)");
  await changed.getByRole("button", { name: "Comment on removed line 123" }).click();
  await board.getByLabel("Comment on line 123").fill("Why not as before?");
  await board.keyboard.press("Control+Enter");
  await expect(python.locator(".said")).toContainText("Why not as before?");
  await board.reload();
  await expect(board.getByRole("button", { name: /Side by side/ })).toHaveAttribute("aria-pressed", "true");
  await expect(changed.locator("td.added.code")).toContainText("raise ValueError(30)");
  await board.screenshot({ path: "screenshots/review-split.png" });
});

test("a file that was viewed is folded until it changes again", async ({ stage, board }) => {
  const task = await underReview(stage);
  const folder = await folderOf(stage, task);
  await board.goto(`${await stage.address()}/review/${task}`);
  const readme = board.getByRole("region", { name: "README.md", exact: true });
  const version = board.getByRole("region", { name: "lib/version.sh", exact: true });
  await expect(readme).toContainText("greets");
  await board.keyboard.press("v");
  await expect(readme.getByLabel("Viewed")).toBeChecked();
  await expect(readme).not.toContainText("greets");
  await expect(version).toContainText("echo two");
  await expect(board.getByRole("navigation", { name: "Changed files" })).toContainText("1 of 2 viewed");

  // The keys have gone on to the next file; the mark outlives the page.
  await board.keyboard.press("v");
  await expect(version.getByLabel("Viewed")).toBeChecked();
  await board.reload();
  await expect(version.getByLabel("Viewed")).toBeChecked();
  await readme.getByRole("button", { name: "Expand README.md" }).click();
  await expect(readme).toContainText("greets");

  write(folder, "lib/version.sh", "echo three\n");
  await board.keyboard.press("r");
  await expect(version).toContainText("echo three");
  await expect(version.getByLabel("Viewed")).not.toBeChecked();
  await expect(readme.getByLabel("Viewed")).toBeChecked();
});

test("a change of 5,000 lines in many files is read to its end", async ({ stage, board }) => {
  const task = await underReview(stage);
  const folder = await folderOf(stage, task);
  for (let number = 10; number < 22; number++) {
    write(folder, `src/part_${number % 3}/module_${number}.py`, functions(100));
  }
  await board.goto(`${await stage.address()}/review/${task}`);
  const file = (path: string) => board.locator(`[data-file="${path}"]`);
  const last = file("src/part_2/module_20.py");
  await expect(last).toContainText("def answer_99()");
  await last.scrollIntoViewIfNeeded();
  await expect(last.locator(".hl-keyword").first()).toBeVisible();

  // The files are a tree that can be narrowed, and each is a press away.
  const files = board.getByRole("navigation", { name: "Changed files" });
  await expect(files.locator("summary", { hasText: "part_1" })).toBeVisible();
  await board.getByLabel("Filter files").fill("part_0 18");
  await expect(files.getByRole("button")).toHaveCount(1);
  await files.getByRole("button", { name: /module_18/ }).click();
  const wanted = file("src/part_0/module_18.py");
  await expect(wanted).toBeInViewport();
  await board.getByRole("button", { name: "Collapse src/part_0/module_18.py" }).click();
  await expect(wanted.locator("tr")).toHaveCount(0);

  await board.locator(".view").focus();
  for (const key of ["n", "n", "n", "j", "j", "k"]) await board.keyboard.press(key);
  await expect(board.locator("tr.here")).toBeInViewport();
  await expect(board.locator("tr.here")).toContainText("Says 0");
  await board.keyboard.press("s");
  await expect(board.locator(".gutter.here")).toHaveCount(1);
  await board.keyboard.press("j");
  await expect(board.locator(".gutter.here")).toBeInViewport();
});

for (const theme of ["light", "dark"] as const) {
  test(`a review has no fault that axe knows, ${theme}`, async ({ stage, page }) => {
    const task = await underReview(stage);
    const folder = await folderOf(stage, task);
    write(folder, "src/answers.py", functions(3, { 1: "x = [1, None]  # why" }));
    write(folder, "page.html", '<p class="a">one &amp; two</p>\n');
    await page.emulateMedia({ colorScheme: theme });
    await stage.signIn(page);
    for (const [name, width, split] of [["wide", 1440, false], ["split", 1440, true], ["phone", 390, false]] as const) {
      await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
      await page.goto(`${await stage.address()}/review/${task}`);
      await expect(page.locator(".diff").first()).toBeVisible();
      const pressed = (await page.locator(".diff.split").count()) > 0;
      if (pressed !== split && width > 500) await page.keyboard.press("s");
      await expect(page.locator(".diff.split").first()).toBeVisible({ visible: split });
      await expect(page.locator(".hl-comment").first()).toBeVisible();
      expect(await faults(page, theme === "dark" ? "contrast" : "all")).toEqual([]);
      await page.screenshot({ path: `screenshots/review-${name}-${theme}.png` });
    }
  });

  test(`the list and the merge of red work have no fault that axe knows, ${theme}`, async ({ stage, page }) => {
    const task = await ended(stage, [PASSES, FAILS], "blocked");
    write(await folderOf(stage, task), "left-over.log", "rubbish\n");
    await page.emulateMedia({ colorScheme: theme });
    await stage.signIn(page);
    const faultless = async (name: string) => {
      expect(await faults(page, theme === "dark" ? "contrast" : "all")).toEqual([]);
      await page.screenshot({ path: `screenshots/review-${name}-${theme}.png` });
    };
    for (const [name, width] of [["wide", 1440], ["phone", 390]] as const) {
      await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
      await page.goto(`${await stage.address()}/review`);
      await expect(page.getByRole("link", { name: "Add the command version" })).toBeVisible();
      await faultless(`list-${name}`);
      await page.goto(`${await stage.address()}/review/${task}`);
      await expect(page.locator(".view .uncommitted")).toBeVisible();
      await expect(page.getByRole("alert", { name: "Checks" })).toBeVisible();
      await faultless(`red-${name}`);
      await page.getByRole("button", { name: /^Merge/ }).click();
      await expect(page.getByRole("dialog").getByText("Discard uncommitted changes")).toBeVisible();
      await faultless(`merge-red-${name}`);
    }
  });
}
