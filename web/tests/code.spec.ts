// The code map on the page: read, searched, shown, mapped, and beacons followed.

import { appendFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "./stage";

const STORE = `//! Keeps what must not be lost.

/// Renews the lease of a holder that is still alive.
pub fn renew_lease(holder: &str) -> bool {
    !holder.is_empty()
}

/// Collects leases whose time is over.
pub fn collect_expired(leases: Vec<String>) -> usize {
    leases.iter().filter(|lease| renew_lease(lease)).count()
}
`;

test("a repository is read, searched and mapped, and a beacon follows its code", async ({ stage, board }) => {
  await stage.makeRepository();
  mkdirSync(join(stage.repository, "src"));
  writeFileSync(join(stage.repository, "src/store.rs"), STORE);

  await board.keyboard.press("g");
  await board.keyboard.press("c");
  await expect(board.getByRole("heading", { name: "No repository is indexed yet" })).toBeVisible();
  await board.getByLabel("Folder of a repository").fill("/nowhere/at/all");
  await board.getByRole("button", { name: "Index", exact: true }).click();
  await expect(board.getByRole("alert")).toBeVisible();
  await board.getByLabel("Folder of a repository").fill(stage.repository);
  await board.getByRole("button", { name: "Index", exact: true }).click();

  await board.getByLabel("Search code").fill("where are expired leases collected");
  await board.keyboard.press("Enter");
  const hit = board.locator(".code-hit", { hasText: "collect_expired" });
  await expect(hit.getByText("Collects leases whose time is over.")).toBeVisible();
  await hit.getByRole("link", { name: "collect_expired" }).click();
  await expect(board.getByRole("region", { name: "Source of collect_expired" })).toContainText("renew_lease(lease)");

  const source = board.getByRole("region", { name: "Source of collect_expired" });
  await expect(source.locator(".hl-keyword", { hasText: "pub" }).first()).toBeVisible();
  await board.screenshot({ path: "screenshots/code-symbol.png" });

  await board.getByRole("button", { name: "Set a beacon" }).click();
  await board.getByLabel("Name", { exact: true }).fill("lease collection");
  await board.getByLabel("Note").fill("Nothing may be lost here.");
  await board.getByRole("button", { name: "Save" }).click();
  const beacon = board.locator(".beacon", { hasText: "lease collection" });
  await expect(beacon.getByText("unchanged", { exact: true })).toBeVisible();
  expect((await stage.call("beacon_list", { path: stage.repository })).beacons).toHaveLength(1);

  renameSync(join(stage.repository, "src/store.rs"), join(stage.repository, "src/leases.rs"));
  appendFileSync(join(stage.repository, "src/leases.rs"), "\npub const LEAST: u32 = 1;\n");
  await board.reload();
  await expect(beacon.getByText("moved", { exact: true })).toBeVisible();
  await beacon.getByRole("link", { name: "lease collection" }).click();
  await expect(board.getByRole("link", { name: "src/leases.rs" })).toBeVisible();

  await board.getByRole("link", { name: "Map" }).click();
  await expect(board.getByRole("list", { name: "Map" }).getByText("pub fn renew_lease")).toBeVisible();
  await board.getByLabel("Focus on files or folders").fill("nothing/here");
  await board.keyboard.press("Enter");
  await expect(board.getByText("No file matches nothing/here.")).toBeVisible();

  await board.getByRole("link", { name: "Repository" }).click();
  await expect(board.getByText(/files, \d+ symbols/)).toBeVisible();
  await board.getByRole("link", { name: "Beacons" }).click();
  board.once("dialog", (dialog) => void dialog.accept());
  await board.getByRole("button", { name: "Remove the beacon lease collection" }).click();
  await expect(board.getByRole("heading", { name: "No beacons" })).toBeVisible();
});
