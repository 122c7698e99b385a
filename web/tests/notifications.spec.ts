// Who looks elsewhere is told what waits, and is led to it.

import type { BrowserContext, Page } from "@playwright/test";

import { expect, type Stage, test } from "./stage";

/** An agent wants to run a command, and waits. It is never there at once, so that no two ask at once. */
async function ask(stage: Stage, command: string): Promise<void> {
  const name = command.replaceAll(" ", "-");
  const script = `rehearsal: 1\nstartup: 1.5\nturns:\n  - steps:\n      - ask: {tool: Run, args: ${command}}\n`;
  await stage.rehearse(name, stage.script(name, script), "go");
  const waits = async () => {
    const { questions } = await stage.call("question_list", { all: false });
    return questions.map(({ origin }) => (origin.kind === "dialog" ? origin.slot_name : undefined));
  };
  await expect.poll(waits).toContain(name);
}

/** Whether the person has the page before them, each time it wants to know; afterwards not. */
async function look(page: Page, ...answers: boolean[]): Promise<void> {
  await page.addInitScript((answers) => {
    const watched = window as unknown as { looks: number };
    watched.looks = 0;
    document.hasFocus = () => answers[watched.looks++] ?? false;
  }, answers);
}

const looks = (page: Page) => page.evaluate(() => (window as unknown as { looks: number }).looks);

/** What the browser shows of ours. */
function shown(page: Page) {
  return page.evaluate(async () => {
    const worker = await navigator.serviceWorker.getRegistration();
    const notifications = (await worker?.getNotifications()) ?? [];
    return notifications.map(({ title, body }) => ({ title, body }));
  });
}

/** Presses what the browser shows. */
async function press(context: BrowserContext): Promise<void> {
  await context.serviceWorkers()[0]?.evaluate(async () => {
    const worker = self as unknown as {
      registration: ServiceWorkerRegistration;
      NotificationEvent: new (type: string, init: { notification?: Notification }) => Event;
    };
    const [notification] = await worker.registration.getNotifications();
    self.dispatchEvent(new worker.NotificationEvent("notificationclick", { notification }));
  });
}

test("what begins to wait is told once to who looks elsewhere, and leads there", async ({ stage, page, context }) => {
  await context.grantPermissions(["notifications"]);
  await look(page, true);
  await stage.signIn(page);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  // The first is seen. The next is asked before the first has waited long.
  await ask(stage, "make ready");
  await ask(stage, "make test");
  await expect.poll(() => shown(page)).toEqual([{ title: "mission", body: "May it run make test?" }]);
  // The next comes soon after that and is covered by it.
  await ask(stage, "make deploy");
  await expect.poll(() => looks(page)).toBe(3);
  expect(await shown(page)).toEqual([{ title: "mission", body: "May it run make test?" }]);
  await press(context);
  await expect(page).toHaveURL(/\/\?at=Q-2$/);
  await expect(page.locator(".now-row.selected")).toContainText("make test");
  await expect.poll(() => shown(page)).toEqual([]);
});

test.describe("without a worker", () => {
  test.use({ serviceWorkers: "block" });

  test("what has waited since before is told as one, and leads to all of it", async ({ stage, page, context }) => {
    await ask(stage, "make test");
    await ask(stage, "make deploy");
    const { questions } = await stage.call("question_list", { all: false });
    const latest = Math.max(...questions.map((question) => Date.parse(question.asked_at)));
    await expect.poll(() => Date.now() - latest).toBeGreaterThan(5000);
    await context.grantPermissions(["notifications"]);
    await look(page);
    await page.addInitScript(() => {
      const told: Notification[] = [];
      const real = Notification;
      const kept = class extends real {
        constructor(title: string, options?: NotificationOptions) {
          super(title, options);
          told.push(this);
        }
      };
      Object.assign(window, { Notification: kept, told });
    });
    await stage.signIn(page);
    await page.keyboard.press("g");
    await page.keyboard.press("b");
    await expect(page).toHaveTitle(/Board/);
    const told = () =>
      page.evaluate(() => {
        const { told } = window as unknown as { told: Notification[] };
        return told.map(({ title, body }) => ({ title, body }));
      });
    await expect.poll(told).toEqual([{ title: "mission", body: "2 questions wait for you" }]);
    await page.evaluate(() => {
      const { told } = window as unknown as { told: Notification[] };
      told[0]?.dispatchEvent(new Event("click"));
    });
    await expect(page).toHaveTitle(/Now/);
    await expect(page.locator('.now-row[data-kind="asks"]')).toHaveCount(2);
  });
});
