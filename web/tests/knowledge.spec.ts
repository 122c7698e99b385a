// What was learned: found with its reasons, set right, accepted, let go, mapped.

import { Embedder } from "./embedder";
import { expect, test } from "./stage";

test("what is remembered is found, says why, is said anew and forgotten", async ({ stage, board }) => {
  await board.keyboard.press("g");
  await board.keyboard.press("k");
  await expect(board.getByRole("heading", { name: "No knowledge yet" })).toBeVisible();
  await board.keyboard.press("n");
  await board.getByLabel("Summary, in one sentence").fill("The release needs a VPN – Prüfung bestanden");
  await board.getByLabel("Details").fill("Ask ops for the profile; see deploy_release.");
  await board.getByLabel("Category").last().selectOption("ops");
  await board.getByLabel("Key", { exact: true }).fill("release-vpn");
  await board.getByRole("button", { name: "Save" }).click();
  await expect(board.getByRole("heading", { name: "The release needs a VPN – Prüfung bestanden" })).toBeVisible();
  await expect(board.getByRole("complementary", { name: "Where it comes from" }).getByText("web board")).toBeVisible();

  await board.keyboard.press("e");
  await board.getByLabel("Summary, in one sentence").fill("The release needs no VPN any more");
  await board.getByRole("button", { name: "Save" }).click();
  await expect(board.locator("del", { hasText: "needs a VPN" })).toBeVisible();
  await expect(board.locator("ins", { hasText: "no VPN any more" })).toBeVisible();
  const { entry, history } = await stage.call("kb_get", { entry: "release-vpn" });
  expect([entry.tier, entry.revision, history.length]).toEqual(["person", 2, 2]);

  await board.getByRole("link", { name: "Knowledge" }).first().click();
  await expect(board.locator(".entry-line", { hasText: "no VPN any more" })).toBeVisible();
  await board.keyboard.press("f");
  await board.keyboard.type("deploy_release");
  await board.keyboard.press("Enter");
  const hit = board.locator(".hit", { hasText: "no VPN any more" });
  await expect(hit.locator("mark", { hasText: "deploy_release" })).toBeVisible();
  await board.getByRole("button", { name: "Show scores" }).click();
  await expect(hit.getByLabel("Why it is here")).toContainText("1st by words");
  await expect(hit.getByLabel("Why it is here")).toContainText("100 % of the names");

  await hit.getByRole("link").click();
  await board.getByRole("button", { name: "Forget" }).click();
  await expect(board.getByText("archived: forgotten")).toBeVisible();
  expect((await stage.call("kb_search", { query: "deploy_release" })).hits).toEqual([]);
  await board.getByRole("button", { name: "Restore" }).click();
  await expect(board.getByRole("button", { name: "Forget" })).toBeVisible();
  expect((await stage.call("kb_search", { query: "deploy_release" })).hits).toHaveLength(1);
});

test("an open entry shows what an agent says anew, and is not used by what is said of others", async ({ stage, board }) => {
  const said = { key: "build-time", tier: "agent" } as const;
  const { entry } = await stage.call("kb_remember", { ...said, summary: "The build takes 4 minutes" });
  const reads: string[] = [];
  board.on("request", (request) => {
    if (request.url().endsWith("/kb_get")) reads.push(request.url());
  });
  await board.goto(`${await stage.address()}/knowledge/entry/${entry.id}`);
  await expect(board.getByRole("heading", { name: "The build takes 4 minutes" })).toBeVisible();

  const listed = board.waitForResponse(
    async (response) => response.url().endsWith("/kb_list") && (await response.text()).includes("Lunch is at noon"),
  );
  await stage.call("kb_remember", { summary: "Lunch is at noon", tier: "agent" });
  await listed;
  await stage.call("kb_remember", { ...said, summary: "The build takes 9 minutes" });
  await expect(board.getByRole("heading", { name: "The build takes 9 minutes" })).toBeVisible();
  await expect(board.locator("del", { hasText: "4 minutes" })).toBeVisible();
  expect(reads).toHaveLength(2);

  await stage.call("kb_forget", { entry: entry.id });
  await expect(board.getByText("archived: forgotten")).toBeVisible();
  await stage.call("kb_remember", { ...said, summary: "The build takes 5 minutes" });
  await expect(board.getByRole("heading", { name: "The build takes 5 minutes" })).toBeVisible();
});

test("proposals are accepted and refused, and contradictions settled", async ({ stage, board }) => {
  await stage.call("kb_propose", { summary: "The build takes 4 minutes", source: "agent in T-1", tier: "agent" });
  await stage.call("kb_propose", { summary: "Tabs are better than spaces", source: "agent in T-1", tier: "agent" });
  await board.goto(`${await stage.address()}/knowledge/inbox`);
  await expect(board.getByRole("list", { name: "Proposals" }).getByRole("listitem")).toHaveCount(2);
  await board.keyboard.press("a");
  await expect(board.locator(".proposal")).toHaveCount(1);
  await board.getByRole("button", { name: "Reject" }).click();
  await expect(board.getByRole("heading", { name: "Nothing waits to be accepted" })).toBeVisible();
  const { entries } = await stage.call("kb_list", {});
  expect(entries.map((entry) => entry.summary)).toEqual(["The build takes 4 minutes"]);

  await stage.call("kb_remember", { summary: "The build takes 9 minutes", tier: "agent", key: "slow" });
  await board.getByRole("link", { name: "Conflicts" }).click();
  const conflict = board.getByRole("list", { name: "Conflicts" });
  await expect(conflict.getByText("The build takes 9 minutes")).toBeVisible();
  await conflict.getByRole("button", { name: "Forget the older" }).click();
  await expect(board.getByRole("heading", { name: "No conflicts" })).toBeVisible();
  const left = await stage.call("kb_list", {});
  expect(left.entries.map((entry) => entry.key)).toEqual(["slow"]);
});

test("what will have aged is shown before anything is done", async ({ stage, board }) => {
  await stage.call("kb_remember", { summary: "A trace of last night", category: "debug", tier: "machine" });
  await board.goto(`${await stage.address()}/knowledge/unused`);
  await expect(board.getByRole("heading", { name: "Nothing is unused" })).toBeVisible();
  await board.getByLabel("As of").selectOption("365");
  await expect(board.getByRole("list", { name: "Unused" }).getByText("A trace of last night")).toBeVisible();
  expect((await stage.call("kb_list", {})).entries).toHaveLength(1);
});

test("entries lie on the map by what they mean, and are opened from it", async ({ stage, page }) => {
  const embedder = await Embedder.start();
  await stage.mission("down");
  stage.configure(embedder.config);
  await stage.start();
  for (let number = 0; number < 8; number++) {
    const [topic, category] = (
      number % 2 ? ["bread dough flour oven yeast baking", "ops"] : ["engine wheel brake clutch gear", "feature"]
    ) as [string, "ops" | "feature"];
    await stage.call("kb_remember", { summary: `${topic} number${number}`, category, key: `k${number}` });
  }
  await expect.poll(async () => (await stage.call("kb_map", {})).points.length).toBe(8);
  await stage.signIn(page);
  await page.goto(`${await stage.address()}/knowledge/map`);
  const map = page.getByRole("application", { name: /Map of 8 entries/ });
  await expect(map).toBeVisible();
  await page.getByRole("button", { name: /feature/ }).click();
  await expect(page.getByRole("application", { name: /Map of 4 entries/ })).toBeVisible();
  await page.getByRole("application").focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator(".map-foot")).toContainText("bread dough");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/knowledge\/entry\//);
  await expect(page.getByRole("heading", { name: /bread dough/ })).toBeVisible();
  embedder.close();
});
