// Work that is handed over in a pull request: chosen in the form of the task or when it
// is merged, and seen wherever the work is. A script stands in for GitHub.

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

import { expect, type Stage, test } from "./stage";

const URL = "https://example.org/o/greet/pull/12";

const GH = `#!/bin/sh
case "$1 $2" in
'pr view')
  [ -e '@HOST@/opened' ] || { echo 'no pull requests found for branch' >&2; exit 1; }
  echo '{"number":12,"url":"${URL}","state":"OPEN","headRefOid":null,"mergedAt":null,"mergeCommit":null}' ;;
'pr create') cat > '@HOST@/opened'; echo '${URL}' ;;
esac
`;

const WRITES = [
  "rehearsal: 1",
  "startup: 0.1",
  "turns:",
  "  - steps:",
  "      - write: {file: lib/version.sh, text: \"echo one\\n\"}",
  "      - signal: {type: completed_claim, payload: {summary: Written.}}",
].join("\n");

/** A repository with a remote, and a daemon that finds `gh`; the task. */
async function hosted(stage: Stage, more: Parameters<Stage["task"]>[1]): Promise<string> {
  const bin = join(stage.folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "gh"), GH.replaceAll("@HOST@", stage.folder));
  chmodSync(join(bin, "gh"), 0o755);
  stage.set("PATH", [bin, process.env.PATH].join(delimiter));
  await stage.mission("down");
  await stage.start();
  await stage.makeRepository();
  const remote = join(stage.folder, "remote.git");
  await stage.git("init", "--quiet", "--bare", remote);
  await stage.git("remote", "add", "origin", remote);
  const args = [stage.script("writes", WRITES)];
  return stage.task("version", { args, checks: [{ run: ["test", "-s", "lib/version.sh"] }], ...more });
}

const opened = async (stage: Stage, task: string): Promise<string | undefined> =>
  (await stage.call("board_show", { task })).task.pull_request?.url;

test("a pull request is chosen in the form of the task, and its link is where the work is", async ({ stage, page }) => {
  const task = await hosted(stage, {});
  await stage.signIn(page);
  await page.goto(`${await stage.address()}/board/${task}`);
  await expect(page.getByRole("heading", { name: "Add the command version" })).toBeVisible();
  await page.keyboard.press("e");
  const edit = page.getByRole("dialog", { name: `Edit ${task}` });
  await edit.getByLabel("When verified").selectOption("Open a pull request");
  await edit.getByRole("button", { name: "Save" }).click();
  await expect(edit).toHaveCount(0);
  expect((await stage.call("board_show", { task })).task.finish).toBe("pull_request");
  await stage.autopilot("running");
  await expect.poll(() => opened(stage, task)).toBe(URL);

  const link = page.getByRole("link", { name: "Pull request #12" });
  await expect(link).toHaveAttribute("href", URL);
  await page.goto(`${await stage.address()}/review/${task}`);
  await expect(link).toHaveAttribute("href", URL);
  await page.goto(`${await stage.address()}/review`);
  await expect(page.getByRole("list", { name: "Ready for review" }).getByRole("link", { name: "Pull request #12" })).toBeVisible();
  await page.goto(`${await stage.address()}/board`);
  await expect(page.locator(`[data-task="${task}"]`)).toContainText("Pull request #12");
});

test("a review opens a pull request after saying what that does", async ({ stage, page }) => {
  const task = await hosted(stage, { review: "after_approval" });
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task })).task.status).toBe("review");
  await stage.signIn(page);
  await page.goto(`${await stage.address()}/review/${task}`);
  await page.getByRole("button", { name: /Merge…/ }).click();
  const sheet = page.getByRole("dialog", { name: "Merge" });
  await sheet.getByLabel("Open a pull request").check();
  await expect(sheet).toContainText(/Pushes mission\/\S+ with 1 commit to origin and opens a pull request into main/);
  expect(await opened(stage, task)).toBeUndefined();
  expect(await stage.git("ls-remote", "origin")).toBe("");
  await sheet.getByRole("button", { name: "Open the pull request" }).click();
  await expect(page.getByText("Pull request #12 is open.")).toBeVisible();
  await expect(page.getByRole("link", { name: "Pull request #12" })).toHaveAttribute("href", URL);
  expect((await stage.call("board_show", { task })).task.status).toBe("review");
  expect(await stage.git("ls-remote", "origin")).toContain("refs/heads/mission/");
});
