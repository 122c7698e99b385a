// Every view, in light, in dark and at phone width: nothing for axe to complain
// of, nothing wider than the screen, and a picture to look at.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { Embedder } from "./embedder";
import { faults } from "./faults";
import { ownConfig, writeOwn } from "./own";
import { expect, type Stage, test } from "./stage";

const LOOKS = [
  { name: "light", viewport: { width: 1280, height: 800 }, colorScheme: "light", rules: "all" },
  { name: "dark", viewport: { width: 1280, height: 800 }, colorScheme: "dark", rules: "contrast" },
  { name: "phone", viewport: { width: 390, height: 844 }, colorScheme: "light", rules: "all" },
] as const;

const LEASES = `//! Who holds what, and until when.

/// A right to work on something that ends by itself.
pub struct Lease {
    pub holder: String,
    pub expires_at: u64,
}

/// Renews the lease of a holder that is still alive.
pub fn renew(lease: &mut Lease, now: u64, seconds: u64) -> bool {
    let alive = lease.expires_at > now;
    if alive {
        lease.expires_at = now + seconds;
    }
    alive
}

/// Collects leases whose time is over, so that others can have what they held.
pub fn collect_expired(leases: &mut Vec<Lease>, now: u64) -> usize {
    let before = leases.len();
    leases.retain(|lease| lease.expires_at > now);
    before - leases.len()
}
`;

/** The addresses of all views, with something in each of them. */
async function furnish(stage: Stage): Promise<[string, string][]> {
  await stage.makeRepository();
  const entry = await teach(stage);
  writeFileSync(join(stage.repository, "leases.rs"), LEASES);
  await stage.call("beacon_set", {
    path: stage.repository,
    name: "lease collection",
    symbols: ["collect_expired", "tests/run.sh"],
    note: "Nothing may be lost here.",
  });
  stage.listServer();
  await stage.call("mcp_server_control", { server: "sums", action: "start" });
  await stage.task("version");
  await stage.autopilot("running");
  await expect.poll(async () => (await stage.call("board_show", { task: "T-1" })).task.status).toBe("done");
  await stage.task("bye", { labels: ["polite"], priority: "high" }, ["T-1"]);
  await stage.task("shout", {}, ["T-1"]);
  await stage.task("hola", {}, ["T-2"]);
  await stage.spawn("shell", ["sh"]);
  // One agent shows a dialog and one asks: both wait while we look around.
  await expect.poll(async () => (await stage.call("question_list", { all: false })).questions.length).toBe(2);
  const { slots } = await stage.call("slot_list", { all: false });
  const agent = slots.find((slot) => slot.name !== "shell");
  const { executions } = await stage.call("execution_list", { all: true });
  const planned = await plan(stage);
  const listed = () => stage.call("conversation_list", { engine: "claude" });
  await expect.poll(async () => (await listed()).conversations.length).toBe(1);
  const own = (await listed()).conversations[0]?.id;
  return [
    ["now", "/"],
    ["board", "/board"],
    ["graph", "/board?as=graph"],
    ["task", "/board/T-1"],
    ["slots", "/slots"],
    ["slot", `/slots/${agent?.slot}`],
    ["runs", "/executions"],
    ["run", `/executions/${executions[0]?.execution}`],
    ["run-planned", `/executions/${planned}`],
    ["task-edit", "/board/T-4?edit"],
    ["reviews", "/review"],
    ["review", "/review/T-1"],
    ["review-running", `/review/${(await stage.call("board_show", { task: "T-2" })).attempts[0]?.branch?.replaceAll("/", "%2F")}`],
    ["knowledge", "/knowledge"],
    ["knowledge-found", "/knowledge/find?q=build%20minutes"],
    ["knowledge-entry", `/knowledge/entry/${entry}`],
    ["knowledge-inbox", "/knowledge/inbox"],
    ["knowledge-conflicts", "/knowledge/conflicts"],
    ["knowledge-map", "/knowledge/map"],
    ["knowledge-unused", "/knowledge/unused"],
    ["code-search", `/code/search?repo=${stage.repository}&q=where%20are%20expired%20leases%20collected`],
    ["code-symbol", `/code/symbol?repo=${stage.repository}&symbol=collect_expired`],
    ["code-map", `/code/map?repo=${stage.repository}`],
    ["code-beacons", `/code/beacons?repo=${stage.repository}`],
    ["code-repository", `/code/repository?repo=${stage.repository}`],
    ["conversations", "/conversations"],
    ["conversations-found", "/conversations?q=scripted%20model"],
    ["conversation", `/conversations/${own}`],
    ["timeline", "/timeline"],
    ["tools", "/tools"],
    ["system-health", "/system/health"],
    ["system-logs", "/system/logs"],
    ["system-usage", "/system/usage"],
    ["system-incidents", "/system/incidents"],
    ["system-permissions", "/system/permissions"],
    ["system-access", "/system/access"],
    ["system-settings", "/system/settings"],
    ["docs", "/docs"],
    ["docs-page", "/docs/guides/board"],
    ["docs-operation", "/docs/operation/board_add"],
  ];
}

/** An agent that is driven by its protocol and has told what it means to do. */
async function plan(stage: Stage): Promise<string> {
  const steps = [
    "{text: Read how greetings are chosen, state: done}",
    "{text: Add the greeting of the evening and what it is called in the other languages that there are already, state: running}",
    "Ask which hour the evening begins at",
    "Run the tests",
  ];
  const text = ["rehearsal: 1", "turns:", "  - steps:", `      - plan: [${steps.join(", ")}]`, "      - say: I begin.", "      - think: 3600"];
  const { execution } = await stage.call("execution_start", {
    engine: "rehearsal",
    cwd: stage.repository,
    args: [stage.script("planned", text.join("\n"))],
    prompt: "Greet in the evening",
    control: "structured",
    trust_folder: true,
  });
  const told = async () => (await stage.call("execution_show", { execution })).agent?.plan?.length;
  await expect.poll(told).toBe(steps.length);
  return execution;
}

/** Entries to look at: some alike, two that contradict each other, one proposed. */
async function teach(stage: Stage): Promise<string> {
  const subjects = ["the build", "the release", "the database", "the parser", "the login page"];
  const said = ["waits for the lock file", "needs a clean checkout", "retries three times", "logs to the journal"];
  const categories = ["architecture", "policy", "preference", "ops", "debug", "bugfix", "feature", "note"] as const;
  for (let number = 0; number < 40; number++) {
    await stage.call("kb_remember", {
      summary: `${subjects[number % 5]} ${said[number % 4]}, as seen in run${number}`,
      category: categories[number % 8] ?? "note",
      source: `T-${number % 7}`,
      tier: number % 3 ? "agent" : "machine",
    });
  }
  await stage.call("kb_remember", { summary: "A full build takes 4 minutes", key: "build-time", labels: ["ci"] });
  const { entry } = await stage.call("kb_remember", {
    summary: "A full build takes 9 minutes",
    detail: "Measured on the small runner, with a cold cache.\nThe linker is most of it.",
    key: "build-time-now",
    category: "ops",
    tier: "person",
  });
  await stage.call("kb_remember", {
    summary: "A full build takes 9 minutes on the small runner",
    key: "build-time-now",
    category: "ops",
    tier: "person",
  });
  await stage.call("kb_propose", {
    summary: "The tests of the parser want LC_ALL=C",
    detail: "Two of them compare sorted output.",
    category: "debug",
    source: "agent in T-3",
  });
  await expect.poll(async () => (await stage.call("kb_map", {})).points.length).toBeGreaterThan(40);
  return entry.id;
}

/** Its data is there, nothing loads any more, and the terminals in sight are drawn. */
async function settled(page: Page): Promise<void> {
  // A sheet over the view has one too.
  await expect(page.getByRole("heading", { level: 1 }).first()).toBeVisible();
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
  await page.evaluate(() => document.fonts.ready);
  await expect.poll(() => page.evaluate(blankScreens)).toEqual([]);
}

/** The terminals in sight that show nothing yet. */
function blankScreens(): (string | null)[] {
  const inSight = (screen: Element) => screen.getBoundingClientRect().top < window.innerHeight;
  const blank = (screen: Element) => {
    const rows = screen.querySelector(".xterm-rows");
    return rows ? rows.textContent?.trim() === "" : screen.getAttribute("data-state") === "waiting";
  };
  const screens = [...document.querySelectorAll(".screen[data-state]")];
  return screens.filter((screen) => inSight(screen) && blank(screen)).map((screen) => screen.getAttribute("aria-label"));
}

// Two tests, so that they run beside each other.
for (const part of [0, 1]) {
  test(`every view is in order, part ${part + 1} of 2`, async ({ stage, browser }) => {
    test.setTimeout(600_000);
    const embedder = await Embedder.start();
    await stage.mission("down");
    stage.configure(embedder.config + ownConfig(stage));
    stage.set("CLAUDE_CONFIG_DIR", writeOwn(stage));
    await stage.start();
    const views = (await furnish(stage)).filter((_, index) => index % 2 === part);
    const address = await stage.address();
    mkdirSync("screenshots", { recursive: true });
    const problems: string[] = [];
    const context = await browser.newContext({ reducedMotion: "reduce" });
    const page = await context.newPage();
    page.on("pageerror", (error) => problems.push(error.message));
    await page.setViewportSize(LOOKS[0].viewport);
    await stage.signIn(page);
    for (const [view, path] of views) {
      for (const { name, viewport, colorScheme, rules } of LOOKS) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        // Two looks of one page; a phone loads what it shows.
        if (name !== "dark") await page.goto(address + path);
        await settled(page);
        await page.screenshot({ path: `screenshots/${view}-${name}.png` });
        problems.push(...(await faults(page, rules)).map((fault) => `${view} ${name}: ${fault}`));
        const wider = await page.evaluate(() =>
          Math.max(
            document.documentElement.scrollWidth - window.innerWidth,
            ...[...document.querySelectorAll(".view")].map((each) => each.scrollWidth - each.clientWidth),
          ),
        );
        if (wider > 0) problems.push(`${view} ${name}: ${wider} pixels wider than the screen`);
      }
    }
    await context.close();
    embedder.close();
    expect(problems).toEqual([]);
  });
}

test("the page can be walked through by keyboard, and says where one is", async ({ board }) => {
  await board.keyboard.press("?");
  const keys = board.getByRole("dialog", { name: "Keys" });
  await expect(keys.getByRole("heading", { level: 3 })).toHaveText([
    "Everywhere",
    "Views",
    "Now",
    "Board",
    "Task",
    "Review",
    "Knowledge",
    "Recording",
  ]);
  for (const does of [
    "The same, also while you type",
    "Go to the filter or the search field",
    "Move the card up",
    "Comment on the line",
    "Mark the file as viewed",
    "Side by side or unified",
    "Accept a proposal",
    "Play or pause",
  ]) {
    await expect(keys.getByText(does)).toBeVisible();
  }
  await board.keyboard.press("Escape");
  await board.keyboard.press("Control+k");
  await expect(board.getByRole("combobox", { name: /Go to/ })).toBeFocused();
  await board.keyboard.type("settings");
  await board.keyboard.press("Enter");
  await expect(board).toHaveTitle("Settings · mission");
  await board.keyboard.press("g");
  await board.keyboard.press("b");
  await expect(board).toHaveTitle("Board · mission");
  await board.keyboard.press("n");
  await expect(board.getByRole("dialog", { name: "New task" })).toBeVisible();
  await expect(board.getByRole("textbox", { name: "Title" })).toBeFocused();
  await board.keyboard.press("Escape");
  await expect(board.getByRole("dialog")).toHaveCount(0);
  // The second key of a chord does nothing by itself.
  await board.keyboard.press("g");
  await board.keyboard.press("n");
  await expect(board).toHaveTitle("Now · mission");
  await expect(board.getByRole("dialog")).toHaveCount(0);
  const rail = board.getByRole("navigation", { name: "Views" });
  await expect(rail.getByRole("heading")).toHaveText(["Work", "Memory", "System"]);
  await expect(rail.locator("a svg")).toHaveCount(11);
  await expect(board.getByRole("navigation", { name: "Help" }).getByRole("link")).toHaveText(["Docs"]);
});

test("a view looks the same after others were open", async ({ board }) => {
  const autopilot = board.getByRole("switch", { name: /Autopilot/ });
  const looks = async () => [await autopilot.boundingBox(), await autopilot.evaluate((button) => getComputedStyle(button, "::after").content)];
  const before = await looks();
  for (const keys of ["gy", "gr", "gk", "gc", "gv", "gt", "go", "ge", "gs", "gd", "gn"]) {
    for (const key of keys) await board.keyboard.press(key);
    await settled(board);
  }
  expect(await looks()).toEqual(before);
});

test("no class is defined by the stylesheets of two views", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".css"));
  const definedIn = new Map<string, Set<string>>();
  for (const file of files.filter((each) => !each.startsWith("styles"))) {
    const text = readFileSync(join("src", file), "utf8").replaceAll(/\/\*.*?\*\//gs, "");
    for (const [, selectors = ""] of text.matchAll(/([^{}]+)\{/g)) {
      for (const [name] of selectors.split(",").flatMap((each) => [...each.trim().matchAll(/^\.[\w-]+$/g)])) {
        definedIn.set(name, (definedIn.get(name) ?? new Set()).add(file));
      }
    }
  }
  expect([...definedIn].filter(([, where]) => where.size > 1)).toEqual([]);
});

/** Words of a dialect that nobody knows who comes from Linear or GitHub. */
const DIALECT = new RegExp(
  [
    "Leave it|Put it on the board|Read again|Closed too|Ended too|End it|Mark this moment|What is not talk|Out of use",
    "Say it anew|How it stands to others|Known true|Last known|Nothing was asked yet that|everything is as usual",
    "Bring the work back|brought back|holds work|holds nothing|nowhere else|Dealt with",
  ].join("|"),
);

test("labels are in plain words, and the width is used", async ({ stage, board }) => {
  await board.setViewportSize({ width: 1600, height: 900 });
  await stage.spawn("shell", ["sh"]);
  const address = await stage.address();
  const { entry } = await stage.call("kb_remember", { summary: "The shell is sh", key: "shell" });
  const parts = ["/", "/inbox", "/conflicts", "/unused"].map((part) => `/knowledge${part}`);
  const system = ["health", "settings", "usage", "permissions", "access", "incidents"].map((part) => `/system/${part}`);
  const views = ["/", "/board", "/review", "/slots", "/executions", "/timeline", "/tools", "/conversations", "/docs"];
  for (const path of [...views, ...parts, `/knowledge/entry/${entry.id}`, ...system]) {
    await board.goto(address + path);
    await settled(board);
    expect(await board.locator("main").innerText()).not.toMatch(DIALECT);
  }
  await board.goto(address);
  const row = await board.locator(".now-row").first().boundingBox();
  expect((row?.x ?? 0) + (row?.width ?? 0)).toBeGreaterThan(1600 * 0.95);
});

test("it can be installed", async ({ stage, board }) => {
  const address = await stage.address();
  const manifest = await (await board.request.get(`${address}/manifest.webmanifest`)).json();
  expect(manifest.display).toBe("standalone");
  for (const icon of manifest.icons) {
    expect((await board.request.get(address + icon.src)).headers()["content-type"]).toContain("image/svg+xml");
  }
  const scope = await board.evaluate(async () => (await navigator.serviceWorker.ready).scope);
  expect(new URL(scope).pathname).toBe("/");
});
