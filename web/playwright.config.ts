// Tests in the browser of the system, against the program in MISSION. Nothing is
// downloaded: where the browser is elsewhere, CHROMIUM says so.

import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";

import { defineConfig } from "@playwright/test";

const found = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
const executablePath = process.env.CHROMIUM ?? found;

export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  // Each test has a daemon with agents of its own, and waits for them as much as
  // it computes.
  workers: Math.max(2, availableParallelism()),
  fullyParallel: true,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  // As the tests in Rust: one more try tells a flaky test from a broken one, and the
  // report of `cargo xtask test` names the flaky ones.
  retries: 1,
  reporter: "list",
  use: {
    viewport: { width: 1280, height: 800 },
    // Of the second try alone: the first waits for nothing that nobody may ever look at.
    trace: "on-all-retries",
    launchOptions: {
      ...(executablePath ? { executablePath } : {}),
      args: [
        // The sandbox of Chromium needs rights that a container does not give.
        ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
        // A page that is not from the daemon itself may not reach this machine.
        ...(process.env.MISSION_PAGE
          ? ["--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets"]
          : []),
      ],
    },
  },
  projects: [
    { name: "board", testMatch: /.*\.spec\.ts/ },
    { name: "pictures", testMatch: /pictures\.ts/, workers: 1, retries: 0, use: { trace: "off" } },
    // One at a time and without a trace: both would be work for what is measured. A
    // figure that was not reached is not measured again.
    {
      name: "bench",
      testMatch: /bench\.ts/,
      workers: 1,
      retries: 0,
      timeout: 1_800_000,
      use: { trace: "off" },
    },
  ],
});
