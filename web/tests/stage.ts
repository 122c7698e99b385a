// A daemon with a home of its own, a small repository, and agents that follow
// scripts: what a test plays on. Everything is gone when the test is over.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { type Browser, type BrowserContext, test as base, expect, type Page } from "@playwright/test";

import type { OperationName, Params, Result } from "../src/daemon/call";
import { DaemonSocket } from "./socket";

const run = promisify(execFile);
const mission = process.env.MISSION ?? resolve("../target/debug/mission");
const sample = resolve("../crates/rehearsal/src/sample");

interface Demo {
  stage: Stage;
  process: ChildProcess;
  ended: Promise<number | null>;
}

export class Stage {
  readonly home: string;
  readonly repository: string;
  private socket: DaemonSocket | undefined;
  private played: Demo | undefined;
  private readonly env: NodeJS.ProcessEnv;

  constructor(readonly folder = mkdtempSync(join(tmpdir(), "mw-"))) {
    this.home = join(folder, "home");
    this.repository = join(folder, "greet");
    this.env = { ...process.env, MISSION_HOME: this.home, MISSION_NO_START: "1" };
  }

  /** A command of the program, with this home. */
  async mission(...args: string[]): Promise<string> {
    const { stdout } = await run(mission, args, { env: this.env, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  }

  /** An operation, by the socket: what happens without the page. */
  async call<O extends OperationName>(operation: O, params: Params<O>): Promise<Result<O>> {
    this.socket ??= await DaemonSocket.open(join(this.home, "run/daemon.sock"));
    return (await this.socket.call(operation, params)) as Result<O>;
  }

  /** What the daemon of the next start has in its environment. */
  set(name: string, value: string): void {
    this.env[name] = value;
  }

  /** The configuration of the next start. */
  configure(text: string): void {
    mkdirSync(join(this.home, "config"), { recursive: true });
    writeFileSync(join(this.home, "config/config.toml"), text, { mode: 0o600 });
  }

  /** Lists the MCP server of these tests, as `sums`. */
  listServer(): void {
    const [command, server] = [process.execPath, resolve("tests/mcp-server.mjs")].map((path) => JSON.stringify(path));
    const text = `[servers.sums]\ncommand = ${command}\nargs = [${server}]\nidle_secs = 0\n`;
    mkdirSync(join(this.home, "config"), { recursive: true });
    writeFileSync(join(this.home, "config/mcp.toml"), text, { mode: 0o600 });
  }

  async start(): Promise<void> {
    mkdirSync(this.home, { recursive: true });
    await this.mission("daemon", "start");
    this.socket?.close();
    this.socket = undefined;
  }

  /** The address of the page, without a login. */
  async address(): Promise<string> {
    const { http } = await this.call("daemon_status", {});
    if (!http) throw new Error("the daemon serves no page");
    return http;
  }

  /** A link that signs one browser in. */
  async link(): Promise<string> {
    const printed = await this.mission("open", "--print");
    const link = /https?:\/\/\S+/.exec(printed)?.[0];
    if (!link) throw new Error(`\`mission open --print\` printed no link: ${printed}`);
    return link;
  }

  async signIn(page: Page): Promise<void> {
    await this.trade(page);
    await expect(page.getByRole("navigation", { name: "Views" })).toBeVisible();
    await expect(page.getByText(/^live/)).toBeVisible();
  }

  /**
   * Opens a login link and waits until it was traded for a session. Whoever leaves the
   * page before takes the request back, and is not signed in.
   */
  async trade(page: Page): Promise<void> {
    await page.goto(await this.link());
    await expect(page).not.toHaveURL(/login/);
  }

  /** Dies as if the power had gone. */
  async kill(): Promise<void> {
    const { pid } = await this.call("daemon_status", {});
    process.kill(pid, "SIGKILL");
    await expect.poll(() => isAlive(pid)).toBe(false);
  }

  /** The repository of the demo, committed. */
  async makeRepository(): Promise<void> {
    for (const part of ["README.md", "bin", "lib", "tests"]) {
      cpSync(join(sample, part), join(this.repository, part), { recursive: true });
    }
    const git = (...args: string[]) =>
      run("git", ["-c", "user.name=test", "-c", "user.email=test@localhost", ...args], { cwd: this.repository });
    await git("init", "--quiet", "--initial-branch=main");
    await git("add", "--all");
    await git("commit", "--quiet", "--no-verify", "-m", "Greet the world");
  }

  async git(...args: string[]): Promise<string> {
    return (await run("git", args, { cwd: this.repository })).stdout;
  }

  /** The path of a script: one of the demo's by name, or its text. */
  script(name: string, text?: string): string {
    if (text === undefined) return join(sample, "scripts", `${name}.yaml`);
    const path = join(this.folder, `${name}.yaml`);
    writeFileSync(path, text);
    return path;
  }

  /** Puts a task of the demo on the board. */
  async task(name: string, more: Params<"board_add">["task"] = {}, after: string[] = []): Promise<string> {
    const { task } = await this.call("board_add", {
      task: {
        title: `Add the command ${name}`,
        repository: this.repository,
        engine: "rehearsal",
        args: [this.script(name)],
        checks: [{ run: ["sh", "tests/run.sh", name], timeout_secs: 30 }],
        ...more,
      },
      depends_on: after,
    });
    return task.number;
  }

  autopilot(mode: "running" | "paused" | "stopped") {
    return this.call("autopilot_set", { mode, reason: "the test says so" });
  }

  /** A terminal outside any task. */
  spawn(name: string, argv: string[], engine = "generic") {
    return this.call("slot_spawn", { name, argv, engine, cwd: this.folder });
  }

  /** A terminal with an agent that follows a built-in script, or one of a path. */
  rehearse(name: string, script: string, ...prompt: string[]) {
    return this.spawn(name, [mission, "rehearse", script, ...prompt], "rehearsal");
  }

  /** The demo, which has a home and a daemon of its own below this one. */
  demo(): Demo {
    const child = spawn(mission, ["demo", "--keep"], { env: this.env, stdio: "ignore" });
    const ended = new Promise<number | null>((done) => child.on("exit", done));
    this.played = { stage: new Stage(join(this.home, "data/demos/1")), process: child, ended };
    return this.played;
  }

  async close(): Promise<void> {
    this.played?.process.kill("SIGKILL");
    await this.played?.stage.close();
    try {
      await this.autopilot("stopped");
      const { slots } = await this.call("slot_list", { all: false });
      for (const slot of slots) await this.call("slot_kill", { slot: slot.slot, grace_ms: 0 }).catch(() => {});
    } catch {
      // A test may end while its daemon is down.
    }
    this.socket?.close();
    await this.mission("down").catch(() => {});
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * The page from a folder instead of the program: what was changed is then tested
 * without building the program again.
 */
async function servePage(context: BrowserContext, folder: string): Promise<void> {
  await context.route(
    (url) => !url.pathname.startsWith("/api/"),
    async (route) => {
      const { pathname } = new URL(route.request().url());
      const file = join(folder, pathname);
      const path = pathname !== "/" && existsSync(file) ? file : join(folder, "index.html");
      await route.fulfill({ path });
    },
  );
}

export const test = base.extend<{ stage: Stage; board: Page }, { browser: Browser }>({
  browser: [
    async ({ browser }, use) => {
      const folder = process.env.MISSION_PAGE;
      if (folder) {
        const make = browser.newContext.bind(browser);
        browser.newContext = async (options) => {
          const context = await make(options);
          await servePage(context, resolve(folder));
          return context;
        };
      }
      await use(browser);
    },
    { scope: "worker" },
  ],
  stage: async ({}, use) => {
    const stage = new Stage();
    await stage.start();
    await use(stage);
    await stage.close();
  },
  /** A page that is signed in, and fails the test if it complains. */
  board: async ({ page, stage }, use) => {
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    await stage.signIn(page);
    await use(page);
    expect(complaints.filter((text) => !/WebSocket|ERR_CONNECTION|Failed to load resource/.test(text))).toEqual([]);
  },
});

export { expect };
