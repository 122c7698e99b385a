// Who may come in, and who may not.

import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, test } from "./stage";

test("a link signs in once, and the session outlives the daemon", async ({ stage, page, browser }) => {
  const link = await stage.link();
  await page.goto(link);
  await expect(page.getByRole("heading", { name: "First steps" })).toBeVisible();
  expect(page.url()).not.toContain("#");

  const other = await browser.newContext();
  const second = await other.newPage();
  await second.goto(link);
  await expect(second.getByRole("heading", { name: "Sign in from your terminal" })).toBeVisible();
  await expect(second.getByRole("alert")).toBeVisible();
  await other.close();

  await stage.kill();
  await stage.start();
  await page.goto(await stage.address());
  await expect(page.getByText(/^live/)).toBeVisible();
});

test("a second browser without the link sees nothing", async ({ stage, board, browser }) => {
  await stage.call("board_add", { task: { title: "A secret plan", isolation: "none" } });
  await expect(board.getByRole("navigation", { name: "Views" })).toBeVisible();
  const stranger = await browser.newContext();
  const page = await stranger.newPage();
  const address = await stage.address();
  await page.goto(`${address}/board`);
  await expect(page.getByRole("heading", { name: "Sign in from your terminal" })).toBeVisible();
  const answer = await stranger.request.post(`${address}/api/v1/ops/board_list`, { data: {} });
  expect(answer.status()).toBe(401);
  expect(await answer.text()).not.toContain("secret");
  await stranger.close();
});

test("another origin is refused, by request and by socket", async ({ stage, board, context }) => {
  await expect(board.getByRole("navigation", { name: "Views" })).toBeVisible();
  const address = await stage.address();
  const cookies = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  const own = await upgrade(`${address}/api/v1/live`, { cookie: cookies, origin: address });
  expect(own).toBe(101);
  const others = await upgrade(`${address}/api/v1/live`, { cookie: cookies, origin: "http://evil.example" });
  expect(others).toBe(403);
  const posted = await fetch(`${address}/api/v1/ops/board_list`, {
    method: "POST",
    headers: { cookie: cookies, origin: "http://evil.example", "content-type": "application/json" },
    body: "{}",
  });
  expect(posted.status).toBe(403);
});

test("a page from another host reaches nothing", async ({ stage, page }) => {
  await stage.signIn(page);
  const address = await stage.address();
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>elsewhere</title>");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  // The same machine, another name: for the browser another site.
  const elsewhere = `http://localhost:${(server.address() as AddressInfo).port}/`;
  await page.goto(elsewhere);
  const reached = await page.evaluate(async (url) => {
    const tried = async (what: () => Promise<Response>) => {
      try {
        return `reached: ${(await what()).type}`;
      } catch {
        return "refused";
      }
    };
    return [
      await tried(() => fetch(`${url}/api/v1/session`, { credentials: "include" })),
      await tried(() =>
        fetch(`${url}/api/v1/ops/board_list`, {
          method: "POST",
          credentials: "include",
          headers: { "content-type": "application/json" },
          body: "{}",
        }),
      ),
      await new Promise<string>((done) => {
        const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/live`);
        socket.onopen = () => done("reached");
        socket.onerror = () => done("refused");
      }),
    ];
  }, address);
  expect(reached).toEqual(["refused", "refused", "refused"]);
  server.close();
});

/** The status a request for a WebSocket is answered with. */
function upgrade(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((done, failed) => {
    const asked = request(url, {
      headers: {
        ...headers,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      },
    });
    asked.on("upgrade", (response, socket) => {
      socket.destroy();
      done(response.statusCode ?? 0);
    });
    asked.on("response", (response) => {
      response.resume();
      done(response.statusCode ?? 0);
    });
    asked.on("error", failed);
    asked.end();
  });
}
