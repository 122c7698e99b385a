// What was said: taken in from a run and from a person's own transcript, listed,
// found by its words, and read with its tools, its tokens and its cost.

import { ownConfig, writeOwn } from "./own";
import { expect, test } from "./stage";

const SCRIPT = [
  "rehearsal: 1",
  "startup: 0.1",
  "turns:",
  "  - steps:",
  "      - usage: {input: 2000, output: 300, cache_read: 10000}",
  "      - say: The pelican lives in lib/birds.sh, next to the heron.",
  "      - run: {argv: [\"sh\", \"-c\", \"echo seven pelicans\"]}",
  "      - say: I counted seven of them.",
  "  - uses: always",
  "    steps:",
  "      - usage: {input: 1000, output: 100}",
  "      - say: You said {{prompt}}",
].join("\n");

test("what was said is found, read and priced", async ({ stage, board }) => {
  await stage.makeRepository();
  await stage.mission("down");
  stage.configure(ownConfig(stage));
  stage.set("CLAUDE_CONFIG_DIR", writeOwn(stage));
  await stage.start();
  await stage.signIn(board);
  const address = await stage.address();

  await board.keyboard.press("g");
  await board.keyboard.press("v");
  await expect(board).toHaveTitle("Conversations · mission");
  const { execution } = await stage.call("execution_start", {
    engine: "rehearsal",
    cwd: stage.repository,
    args: [stage.script("birds", SCRIPT)],
    prompt: "Where do the pelicans live?",
    name: "birder",
    trust_folder: true,
  });
  // Both are there without a reload: the run's and the person's own.
  await expect(board.getByRole("link", { name: "Where do the pelicans live?" })).toBeVisible();
  const own = board.locator(".talk", { hasText: "think aloud" });
  await expect(own).toContainText("yours");
  await expect(own).toContainText("$0.02");
  await expect(board.locator(".talk", { hasText: "pelicans" })).toContainText("$0.01");
  await board.screenshot({ path: "screenshots/conversations-list.png" });
  // Where models were used, the page of usage says whose prices it counts with.
  await board.goto(`${address}/system/usage`);
  await expect(board.getByText(/Anthropic as of 2026-/)).toBeVisible();
  await board.goto(`${address}/conversations`);

  // Narrowed, and back.
  await board.getByLabel("Agent").selectOption("claude");
  await expect(board.locator(".talk")).toHaveCount(1);
  await expect(board).toHaveURL(/engine=claude/);
  await board.getByLabel("Time", { exact: true }).selectOption("Last day");
  await board.getByRole("button", { name: "Clear filters" }).click();
  await expect(board.locator(".talk")).toHaveCount(2);

  // By its words, from the palette, and among all that was said, with the words marked.
  await board.keyboard.press("/");
  await board.keyboard.type("seven pelican");
  await board.getByRole("option", { name: /conversation$/ }).first().click();
  await expect(board).toHaveURL(/conversations\/conv_/);
  await board.goto(`${address}/conversations?q=seven+pelican`);
  await expect(board.locator(".talk-said mark").first()).toBeVisible();
  await expect(board.locator(".talk-hit", { hasText: "I counted seven" })).toBeVisible();
  await board.screenshot({ path: "screenshots/conversations-found.png" });
  await board.getByLabel("Search conversations").fill("xylophone");
  await board.keyboard.press("Enter");
  await expect(board.getByRole("heading", { name: "Nothing found" })).toBeVisible();
  await board.goBack();
  await board.goto(`${address}/conversations?q=counted`);
  await board.locator(".talk-hit a").first().click();

  // At its place, with the turn, what it took, and the tool folded.
  await expect(board.locator(".said .here")).toContainText("I counted seven of them.");
  const turn = board.getByRole("region", { name: "Turn 1" });
  await expect(turn).toContainText("12 k in, 300 out");
  await expect(turn).toContainText("$0.01");
  const call = turn.locator(".call");
  await expect(call).toHaveCount(1);
  await expect(call.getByRole("region")).toHaveCount(0);
  await call.locator("summary").focus();
  await board.keyboard.press("Enter");
  await expect(call.getByRole("region", { name: /^Output of/ })).toContainText("seven pelicans");
  await board.screenshot({ path: "screenshots/conversation.png" });

  // To the run and back.
  await board.getByRole("link", { name: "journal and terminal" }).click();
  await expect(board).toHaveURL(new RegExp(execution));
  await board.getByRole("link", { name: "Conversation", exact: true }).click();
  await expect(board.getByRole("heading", { name: "Turn 1" })).toBeVisible();

  // What is said while one looks comes by itself.
  await stage.call("execution_message", { execution, text: "And the herons?" });
  await expect(board.getByRole("region", { name: "Turn 2" })).toContainText("You said And the herons?");

  // From turn to turn by keys.
  await board.keyboard.press("j");
  await expect(board.locator(".turn-head").first()).toBeFocused();
  await board.keyboard.press("j");
  await expect(board.locator(".turn-head").nth(1)).toBeFocused();

  // What is no part of the talk is there for whoever wants it, with its label.
  await board.goto(`${address}/conversations?engine=claude`);
  await board.getByRole("link", { name: "think aloud" }).click();
  await expect(board.getByRole("region", { name: "Turn 2" })).toContainText("1 message hidden as noise");
  await expect(board.getByText("/context")).toHaveCount(0);
  await board.getByRole("button", { name: "Show noise" }).click();
  await expect(board.locator(".message", { hasText: "/context" }).locator(".tag")).toHaveText("command");
  await expect(board.locator(".call .mark")).toHaveText("failed");
  await expect(board.locator(".talk-side")).toContainText("$0.02");
  await board.screenshot({ path: "screenshots/conversation-own.png" });

  await board.goto(`${address}/conversations/nothing-of-that-name`);
  await expect(board.getByRole("alert")).toContainText("nothing-of-that-name");
});

test("what was said to a tool is found as text, and the same call once", async ({ stage, board }) => {
  const call = `      - run: {argv: ["sh", "-c", "echo 'a \\"heron\\" stands in the reeds'"]}`;
  const script = ["rehearsal: 1", "turns:", "  - steps:", call, call, call, "      - say: They stand still."].join("\n");
  await stage.makeRepository();
  await stage.call("execution_start", {
    engine: "rehearsal",
    cwd: stage.repository,
    args: [stage.script("herons", script)],
    prompt: "Look at the reeds",
    name: "birder",
    trust_folder: true,
  });
  const hits = async () => (await stage.call("conversation_search", { query: "heron stands" })).hits;
  await expect.poll(async () => (await hits()).filter((hit) => hit.tool).length).toBe(1);
  await board.goto(`${await stage.address()}/conversations?q=heron+stands`);
  const hit = board.locator(".talk-hit").filter({ has: board.locator("code") });
  await expect(hit).toHaveCount(1);
  await expect(hit.locator(".talk-said")).toContainText('a "heron" stands in the reeds');
  // As text, not as JSON.
  await expect(hit.locator(".talk-said")).not.toContainText(/[{}]|\\"/);
  await expect(hit.locator("mark").first()).toHaveText("heron");
  await board.screenshot({ path: "screenshots/conversations-tool.png" });
  await hit.getByRole("link").click();
  await expect(board.locator(".said .here")).toContainText("heron");
});

test("without a conversation it says how there will be one", async ({ board, stage }) => {
  await board.goto(`${await stage.address()}/conversations`);
  await expect(board.getByRole("heading", { name: "No conversations yet" })).toBeVisible();
});
