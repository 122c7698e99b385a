// The first view: who needs a person, who works on what, what was finished. What
// waits is dealt with in place and by keys alone.

import { manyAgents, playAgents } from "./agents";
import { faults } from "./faults";
import { expect, type Stage, test } from "./stage";

const steps = (...lines: string[]) => ["rehearsal: 1", "startup: 0.1", "turns:", "  - steps:", ...lines].join("\n");

/** An agent that says something and goes on for as long as the test may take. */
async function working(stage: Stage): Promise<string> {
  const script = stage.script("works", steps("      - say: The lighthouse is lit.", "      - think: 120"));
  return stage.task("works", { title: "Light the tower", args: [script] });
}

async function asking(stage: Stage): Promise<string> {
  const script = stage.script("wants", steps("      - ask: {tool: Run, args: make install}", "      - think: 120"));
  return stage.task("wants", { title: "Install it", args: [script] });
}

test("a permission is allowed and a question answered by keys alone", async ({ stage, board }) => {
  await stage.makeRepository();
  await stage.task("version");
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task: "T-1" })).task.status).toBe("done");

  const bye = await stage.task("bye", {}, ["T-1"]);
  const row = board.locator(`[data-group="needs"] .now-row`, { hasText: bye });
  await expect(row).toContainText("sh tests/run.sh bye");
  await expect(row.getByRole("button", { name: "Allow once" })).toBeVisible();
  await expect(row.getByRole("button", { name: "Deny" })).toBeVisible();
  // Said once: in the sentence, and nowhere again.
  expect((await row.innerText()).split("sh tests/run.sh bye")).toHaveLength(2);
  await board.keyboard.press("a");
  await expect(row).toHaveCount(0);
  await expect.poll(async () => (await stage.call("board_show", { task: bye })).task.status).toBe("done");

  const shout = await stage.task("shout", {}, [bye]);
  const question = board.locator(`[data-group="needs"] .now-row`, { hasText: "How loud shall it shout?" });
  await expect(question.getByRole("button", { name: "three exclamation marks" })).toBeVisible();
  expect((await question.innerText()).split("How loud shall it shout?")).toHaveLength(2);
  await expect(board).toHaveTitle(/^\(1\) Now/);
  // Nor do the details show what the agent was told by us.
  await board.keyboard.press("o");
  await expect(question.locator(".row-details")).toBeVisible();
  await expect(question.locator(".row-details")).not.toContainText("End of the background");
  await board.keyboard.press("o");
  await board.keyboard.press("2");
  await expect(question).toHaveCount(0);
  await expect.poll(async () => (await stage.call("board_show", { task: shout })).task.status).toBe("done");
  const answered = await stage.call("question_list", { all: true });
  expect(answered.questions.find((each) => each.question === "How loud shall it shout?")?.answer).toMatch(
    /three exclamation marks/,
  );
});

test("a question that wants words is answered in place", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script("port", steps("      - question: Which port?", "      - say: It listens on {{answer}}."));
  await stage.task("port", { title: "Serve it", args: [script] });
  await stage.autopilot("running");
  const row = board.locator(`[data-group="needs"] .now-row`, { hasText: "Which port?" });
  const words = row.getByRole("textbox");
  await words.fill("7070");
  await words.press("Enter");
  await expect(row).toHaveCount(0);
  const answered = await stage.call("question_list", { all: true });
  expect(answered.questions.find((each) => each.question.includes("Which port?"))?.answer).toBe("7070");
});

test("who works on what is one line each, and what is finished is marked as seen", async ({ stage, board }) => {
  await stage.makeRepository();
  const number = await working(stage);
  await stage.autopilot("running");
  const row = board.locator(`[data-group="working"] .now-row`, { hasText: number });
  await expect(row.locator(".row-name")).toHaveText("Light the tower");
  await expect(row).toContainText("greet");
  await expect(row.locator('.engine[data-engine="rehearsal"]')).toBeVisible();
  await expect(row.locator(".row-activity")).not.toBeEmpty();
  await expect(row.locator(".row-last")).toContainText("The lighthouse is lit.");
  await expect(row.locator(".row-time")).not.toBeEmpty();
  await expect(board.getByRole("switch", { name: /Autopilot on · 1 of \d+ agents/ })).toBeChecked();

  // A message goes to the agent from here.
  await board.keyboard.press("m");
  await board.getByLabel("Message to the agent").fill("Mind the rocks");
  await board.keyboard.press("Enter");
  const { executions } = await stage.call("execution_list", { all: false });
  const told = async () => (await stage.call("execution_show", { execution: executions[0]?.execution ?? "" })).timeline;
  await expect.poll(async () => JSON.stringify(await told())).toContain("Mind the rocks");
  await expect(board.getByLabel("Message to the agent")).toHaveCount(0);

  await board.keyboard.press("Enter");
  await expect(board).toHaveURL(new RegExp(`/board/${number}$`));
  await stage.task("version");
  await expect.poll(async () => (await stage.call("board_show", { task: "T-2" })).task.status).toBe("done");
  await board.keyboard.press("g");
  await board.keyboard.press("n");
  const finished = board.locator('[data-group="finished"]');
  await expect(finished.locator(".now-row", { hasText: "T-2" })).toBeVisible();
  await finished.getByRole("button", { name: "Mark as seen" }).click();
  await expect(finished).toHaveCount(0);

  // Who leaves the view has seen what stood there.
  await stage.call("board_add", { task: { title: "Gone by itself", isolation: "none" } });
  await stage.call("board_cancel", { task: "T-3" });
  await expect(finished.locator(".now-row", { hasText: "Gone by itself" })).toBeVisible();
  const seen = board.waitForResponse(/ops\/overview_seen/);
  await board.keyboard.press("g");
  await board.keyboard.press("b");
  await seen;
  await board.keyboard.press("g");
  await board.keyboard.press("n");
  await expect(board.locator('[data-group="working"]')).toBeVisible();
  await expect(finished).toHaveCount(0);
});

test("a blocked task says what its check said, and is retried in place", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script(
    "never",
    "rehearsal: 1\nstartup: 0.1\nturns:\n  - uses: always\n    steps:\n      - signal: {type: completed_claim, payload: {summary: I believe it is done}}\n",
  );
  const number = await stage.task("never", {
    args: [script],
    checks: [{ run: ["sh", "-c", "echo the tower leans; exit 3"], timeout_secs: 10 }],
  });
  await stage.autopilot("running");
  const row = board.locator('.now-row[data-kind="blocked"]', { hasText: number });
  await expect(row).toBeVisible({ timeout: 90_000 });
  await expect(row.getByRole("button", { name: "Retry" })).toBeVisible();
  await board.keyboard.press("o");
  await expect(row.getByRole("region", { name: /Output of/ })).toHaveText("the tower leans");
  await expect(row.getByText("I believe it is done")).toBeVisible();
  await stage.autopilot("paused");
  await board.keyboard.press("1");
  await expect(row).toHaveCount(0);
  await expect.poll(async () => (await stage.call("board_show", { task: number })).task.status).toBe("open");
});

test("a command that is too long for its line is shown to its end before it is allowed", async ({ stage, board }) => {
  await stage.makeRepository();
  const command = `make install ${Array.from({ length: 30 }, (_, index) => `part-${index}`).join(" ")} && rm -rf build`;
  const script = stage.script("long", steps(`      - ask: {tool: Run, args: "${command}"}`, "      - think: 120"));
  await stage.task("long", { title: "Install all of it", args: [script] });
  await stage.autopilot("running");
  const row = board.locator('.now-row[data-kind="asks"]');
  await expect(row.locator(".row-activity")).toHaveText(/^May it run make install part-0 .*…/);
  await expect(row.getByRole("region", { name: /^All of Q-/ })).toHaveText(command);
  await board.keyboard.press("o");
  await expect(row.getByRole("button", { name: "Allow for an hour" })).toBeVisible();
  expect((await row.innerText()).split("rm -rf build")).toHaveLength(2);
});

test("words are an answer where words are wanted", async ({ stage, board }) => {
  await stage.makeRepository();
  const script = stage.script(
    "asks",
    "rehearsal: 1\nstartup: 0.1\nturns:\n  - steps:\n      - signal: {type: needs_input, payload: {question: What shall it be called?}}\n  - uses: always\n    steps:\n      - write: {file: name.txt, text: \"{{prompt}}\\n\"}\n      - signal: {type: completed_claim, payload: {summary: named}}\n",
  );
  const number = await stage.task("asks", {
    args: [script],
    checks: [{ run: ["grep", "-q", "Aurora", "name.txt"], timeout_secs: 10 }],
  });
  await stage.autopilot("running");
  await expect(board.locator(".now-row", { hasText: "What shall it be called?" })).toBeVisible();
  await board.keyboard.press("m");
  await board.keyboard.type("Call it Aurora");
  await board.keyboard.press("Enter");
  await expect.poll(async () => (await stage.call("board_show", { task: number })).task.status).toBe("done");
  expect(await stage.git("show", "main:name.txt")).toContain("Aurora");
});

test("agents that hold a place come first, under headings", async ({ stage, page }) => {
  await page.route("**/api/v1/ops/overview", (route) => {
    const report = manyAgents(3);
    report.needs_you.reverse();
    return route.fulfill({ json: report });
  });
  await stage.signIn(page);
  await expect(page.locator('[data-group="needs"] h3')).toHaveText([
    "Agents waiting",
    "Questions",
    "Ready for review",
    "Blocked",
  ]);
  const kinds = page.locator('[data-group="needs"] .now-row');
  await expect(kinds.first()).toHaveAttribute("data-kind", "asks");
  await expect(kinds.last()).toHaveAttribute("data-kind", "blocked");
  await expect(kinds.filter({ hasText: "T-904" }).getByRole("link", { name: "Review" })).toHaveAttribute("href", "/review/T-904");
  // Backticks are code, and the tokens and cost of a line are there.
  await expect(kinds.last().locator("code")).toHaveText("grep -q div README.md");
  await expect(kinds.last()).toContainText("tokens");
  await expect(kinds.last()).toContainText("$");
  await expect(kinds.first().locator(".check-dot")).toHaveCount(4);
  await expect(kinds.first().locator(".row-activity")).toHaveText("May it run pip install numpy?");
  // An agent whose turn ended in an error waits as one that asks does, and can be told to go on.
  await expect(kinds.nth(1).locator(".mark")).toHaveText("error");
  await expect(kinds.nth(1).getByRole("button", { name: "Message" })).toBeVisible();
});

test("what waits, ended or was not kept says so, and terminals come last without numbers", async ({ stage, page }) => {
  await playAgents(page, 3);
  await stage.signIn(page);
  const group = (name: string) => page.locator(`[data-group="${name}"] .now-row`);
  await expect(group("working").last().locator(".mark")).toHaveText("waiting");
  await expect(group("working").last().getByRole("button", { name: "Message" })).toHaveCount(0);
  await expect(group("finished").locator(".mark")).toHaveText(["done", "failed", "not kept", "failed", "cancelled"]);
  await expect(group("finished").nth(2).locator(".checks")).toHaveText("no checks");
  await expect(page.locator(".now-group h2").last()).toHaveText("Terminals 1");
  await expect(group("terminals").locator(".row-used")).toHaveCount(0);
  await expect(group("terminals")).not.toContainText("tokens");
});

test("the autopilot is a switch with words, and stopping everything asks first", async ({ stage, board }) => {
  await stage.makeRepository();
  await asking(stage);
  await stage.call("board_add", { task: { title: "Later", isolation: "none" }, depends_on: ["T-1"] });
  const mode = async () => (await stage.call("autopilot_show", {})).mode;
  await board.getByRole("button", { name: /1 ready, 1 waiting/ }).click();
  const why = board.getByRole("dialog", { name: "Why tasks wait" });
  await expect(why.getByRole("listitem").filter({ hasText: "Later" })).toContainText("T-1");
  await why.getByRole("button", { name: "Close" }).click();

  await board.getByRole("switch", { name: /Autopilot/ }).click();
  await expect.poll(mode).toBe("running");
  await expect(board.getByRole("switch", { name: /Autopilot on/ })).toBeChecked();
  await expect(board.locator('.now-row[data-kind="asks"]')).toBeVisible();
  await board.getByRole("button", { name: "More for the autopilot" }).click();
  await board.getByRole("menuitem", { name: /Pause/ }).click();
  await expect.poll(mode).toBe("paused");
  await board.getByRole("button", { name: "More for the autopilot" }).click();
  await board.getByRole("menuitem", { name: /Stop everything/ }).click();
  const sure = board.getByRole("dialog", { name: "Stop everything?" });
  await expect(sure).toContainText("The agent that works on tasks is ended now");
  await sure.getByRole("button", { name: "Cancel" }).click();
  expect(await mode()).toBe("paused");
  await board.getByRole("button", { name: "More for the autopilot" }).click();
  await board.getByRole("menuitem", { name: /Stop everything/ }).click();
  await sure.getByRole("button", { name: "Stop everything" }).click();
  await expect.poll(mode).toBe("stopped");
});

test("an agent that asks is answered on the page of its run and of its slot", async ({ stage, board }) => {
  await stage.makeRepository();
  const number = await asking(stage);
  await stage.autopilot("running");
  await expect(board.locator('.now-row[data-kind="asks"]')).toBeVisible();
  const { executions } = await stage.call("execution_list", { all: false });
  const run = executions[0];
  const address = await stage.address();
  await board.goto(`${address}/executions/${run?.execution}`);
  await expect(board.getByRole("button", { name: "Allow once" })).toBeVisible();
  await expect(board.locator("h1")).toContainText("Install it");
  await expect(board.locator("h1").getByRole("link", { name: number })).toBeVisible();
  await board.goto(`${address}/slots/${run?.slot}`);
  await expect(board.getByRole("link", { name: `${number} Install it` })).toBeVisible();
  await expect(board.getByRole("link", { name: "Journal of this run" })).toBeVisible();
  const asked = board.locator(".open-question");
  await expect(asked).toContainText("May it run make install?");
  await asked.getByRole("button", { name: "Deny" }).click();
  await expect(asked).toHaveCount(0);
  const { questions } = await stage.call("question_list", { all: true });
  expect(questions[0]?.status).toBe("answered");
});

test("an agent that asks is answered on its card and in the list of runs", async ({ stage, board }) => {
  await stage.makeRepository();
  const number = await asking(stage);
  const command = `make clean ${Array.from({ length: 30 }, (_, index) => `part-${index}`).join(" ")} && rm -rf build`;
  const long = steps(`      - ask: {tool: Run, args: "${command}"}`, "      - think: 120");
  const other = await stage.task("long", { title: "Clean it", args: [stage.script("long", long)] });
  await stage.autopilot("running");
  const open = async () => (await stage.call("question_list", { all: false })).questions;
  await expect.poll(async () => (await open()).length).toBe(2);

  await board.goto(`${await stage.address()}/board`);
  const card = board.locator(".card-asks", { has: board.locator(`[data-task="${number}"]`) });
  await expect(card).toContainText("May it run make install?");
  const longCard = board.locator(".card-asks", { has: board.locator(`[data-task="${other}"]`) });
  await expect(longCard.getByRole("region", { name: /^All of Q-/ })).toHaveText(command);
  expect(await faults(board)).toEqual([]);
  await board.screenshot({ path: "screenshots/board-asks.png" });
  await card.getByRole("button", { name: "Deny" }).click();
  await expect.poll(async () => (await open()).map(({ task }) => task)).toEqual([other]);
  await expect(board).toHaveURL(/\/board$/);
  await expect(card).toHaveCount(0);

  await board.goto(`${await stage.address()}/executions`);
  const run = board.getByRole("row", { name: /Clean it/ });
  await expect(run.getByRole("region", { name: /^All of Q-/ })).toHaveText(command);
  await board.screenshot({ path: "screenshots/runs-asks.png" });
  await run.getByRole("button", { name: "Deny" }).click();
  await expect.poll(async () => (await open()).length).toBe(0);
  await expect(run.getByRole("button", { name: "Deny" })).toHaveCount(0);
  await expect(run.locator(".mark").first()).not.toHaveText("asks");
});

test("what was the list of attention leads to now", async ({ stage, board }) => {
  await stage.makeRepository();
  await asking(stage);
  await stage.autopilot("running");
  await expect(board.locator('.now-row[data-kind="asks"]')).toBeVisible();
  const { questions } = await stage.call("question_list", { all: false });
  await board.goto(`${await stage.address()}/attention?at=Q-${questions[0]?.number}`);
  await expect(board).toHaveURL(/\/\?at=Q-1$/);
  await expect(board.locator(".now-row.selected")).toContainText("make install");
  // Its details are open, and say nothing that the line says already.
  await expect(board.getByRole("button", { name: "Allow for an hour" })).toBeVisible();
  expect((await board.locator(".now-row.selected").innerText()).split("make install")).toHaveLength(2);
});

test("the keys of a line work while it is selected, and a link that is followed opens it", async ({ stage, board }) => {
  await stage.makeRepository();
  const first = await asking(stage);
  const second = await asking(stage);
  await stage.autopilot("running");
  const open = async () => (await stage.call("question_list", { all: false })).questions;
  await expect.poll(async () => (await open()).length).toBe(2);
  const row = (task: string) => board.locator('.now-row[data-kind="asks"]', { hasText: task });
  const at = async (task: string) => `Q-${(await open()).find((question) => question.task === task)?.number}`;
  await expect(row(first)).toBeVisible();
  await board.keyboard.press("k");
  const [selected, other] = (await row(first).getAttribute("aria-current")) ? [first, second] : [second, first];
  await row(other).locator(".row-more").click();
  const dismiss = row(other).getByRole("button", { name: "Dismiss" });
  await expect(dismiss).toHaveText("Dismiss");
  await board.keyboard.press("x");
  await board.keyboard.press("j");
  await expect(row(other)).toHaveAttribute("aria-current", "true");
  expect(await open()).toHaveLength(2);
  await expect(dismiss).toHaveText("Dismiss x");

  // As a notification does it, while one looks at another line.
  await board.evaluate((to) => history.pushState(null, "", `/?at=${to}`), await at(selected));
  await expect(row(selected)).toHaveAttribute("aria-current", "true");
  await expect(row(selected).getByRole("button", { name: "Allow for an hour" })).toBeVisible();
  await board.keyboard.press("x");
  await expect(row(selected).locator(".row-details")).toHaveCount(0);
  expect((await open()).map((question) => question.task)).toEqual([other]);
});

test("an incident is counted where it is listed and in the rail, and leads to the list of all", async ({ stage, page }) => {
  await stage.kill();
  await stage.start();
  await stage.signIn(page);
  const incident = page.locator('.now-row[data-kind="incident"]');
  await expect(incident).toContainText("ended without closing");
  await expect(page.getByRole("heading", { name: "Needs you 1" })).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Now 1 need you" })).toBeVisible();
  await expect(page).toHaveTitle("(1) Now · mission");
  await page.goto(`${await stage.address()}/timeline`);
  await page.locator('[data-event="daemon_crash_found"]').getByRole("link").click();
  await expect(page).toHaveURL(/\/system\/incidents$/);
  await page.getByRole("button", { name: "Resolve" }).click();
  await expect(page).toHaveTitle("Settings · mission");
});

test("a terminal that a person opened is no agent at work", async ({ stage, board }) => {
  await stage.spawn("shell", ["sh"]);
  const row = board.locator('[data-group="terminals"] .now-row');
  await expect(row).toContainText("Opened by hand");
  await expect(row.locator(".mark")).toHaveText("terminal");
  await expect(board.getByRole("heading", { name: "Working 0" })).toBeVisible();
  await expect(board.getByText("No agent works right now.")).toBeVisible();
  await row.locator(".row-name").click();
  await expect(board.getByRole("region", { name: "Terminal of shell" })).toBeVisible();
});

test("the facts of all lines stand below each other", async ({ stage, page }) => {
  await playAgents(page, 4);
  await stage.signIn(page);
  await expect(page.locator('[data-group="finished"] .now-row')).toHaveCount(5);
  for (const part of [".row-facts", ".row-time", ".row-used", ".row-more"]) {
    const ends = await page.locator(part).evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().right)));
    expect([...new Set(ends)], part).toHaveLength(1);
  }
  const begins = await page.locator(".row-facts .engine").evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().left)));
  expect([...new Set(begins)]).toHaveLength(1);
});

test("an empty view names commands that there are", async ({ stage, board }) => {
  const address = await stage.address();
  await expect(board.getByRole("heading", { name: "First steps" })).toBeVisible();
  for (const [path, title] of [
    ["/executions", "No agent has run yet"],
    ["/slots", "No agent runs now"],
  ]) {
    await board.goto(`${address}${path}`);
    await expect(board.getByRole("heading", { name: title })).toBeVisible();
    const [, command = "", prompt = ""] = /^mission (\w+) (".+")$/.exec(await board.locator("pre.output").innerText()) ?? [];
    expect(prompt).toContain(" ");
    expect(await stage.mission(command, "--help")).toContain("<PROMPT>");
  }
});

test.describe("at phone width", () => {
  test.use({ viewport: { width: 390, height: 844 } });

  test("lines are cards with buttons for thumbs, and the views are in reach", async ({ stage, page }) => {
    await playAgents(page, 5);
    await stage.trade(page);
    const bar = page.getByRole("navigation", { name: "Main views" });
    await expect(bar.getByRole("link")).toHaveText([/Now/, "Board", "Review"]);
    const allow = page.getByRole("button", { name: "Allow once" });
    await expect(allow).toBeInViewport();
    for (const button of [allow, page.getByRole("button", { name: "Deny" }), bar.getByRole("button", { name: "More" })]) {
      expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    }
    await bar.getByRole("link", { name: "Board" }).click();
    await expect(page).toHaveURL(/\/board$/);
    await bar.getByRole("button", { name: "More" }).click();
    await page.getByRole("navigation", { name: "Views", exact: true }).getByRole("link", { name: "Timeline" }).click();
    await expect(page).toHaveTitle(/Timeline/);
  });
});

test("two hundred agents: rows that did not change are left alone, and nothing shifts", async ({ stage, page }) => {
  let report = manyAgents(200);
  await page.route("**/api/v1/ops/overview", (route) => route.fulfill({ json: report }));
  await stage.signIn(page);
  await expect(page.locator('[data-group="working"] .now-row')).toHaveCount(200);
  await page.evaluate(() => {
    const watched = window as unknown as { changed: string[]; shift: number };
    watched.changed = [];
    watched.shift = 0;
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const place = target instanceof Element ? target : target.parentElement;
        const row = place?.closest("[data-row]");
        // The clock of the page writes its times into the rows, and draws none.
        if (row && !place?.closest(".row-time")) watched.changed.push(row.getAttribute("data-row") ?? "");
      }
    }).observe(document.querySelector(".now") as Element, { subtree: true, childList: true, characterData: true });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) watched.shift += (entry as unknown as { value: number }).value;
    }).observe({ type: "layout-shift" });
  });
  const working = report.working.map((line) => (line.task === "T-200" ? { ...line, activity: "Reads the sky" } : line));
  report = { ...report, working };
  await expect(page.locator('[data-row="T-200"] .row-activity')).toHaveText("Reads the sky");
  const seen = await page.evaluate(() => {
    const { changed, shift } = window as unknown as { changed: string[]; shift: number };
    return { changed, shift };
  });
  expect([...new Set(seen.changed)]).toEqual(["T-200"]);
  // Of a changed sentence the words behind it move within their line, and no line does.
  expect(seen.shift).toBeLessThan(0.001);
});

const LOOKS = [
  { name: "light", viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  { name: "dark", viewport: { width: 1280, height: 800 }, colorScheme: "dark" },
  { name: "a phone", viewport: { width: 390, height: 844 }, colorScheme: "light" },
] as const;

for (const { name, ...look } of LOOKS) {
  test(`every kind of line is in order in ${name}`, async ({ stage, browser }) => {
    const context = await browser.newContext({ ...look, reducedMotion: "reduce" });
    const page = await context.newPage();
    await playAgents(page, 12);
    await stage.trade(page);
    await expect(page.locator('[data-group="needs"] .now-row')).toHaveCount(6);
    await page.locator('[data-kind="works"] .row-more').first().click();
    expect(await faults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0);
    await context.close();
  });
}
