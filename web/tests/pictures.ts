// The pictures of the page that the README shows: a real daemon with real terminals,
// two repositories and agents that follow scripts, at an ordinary moment of a morning.
// Not a test: `cargo xtask pictures` runs it, and somebody looks at what comes out.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import type { Browser, Page } from "@playwright/test";

import type { Params } from "../src/daemon/call";
import { expect, Stage, test } from "./stage";

const folder = resolve(process.env.PICTURES ?? "../docs/pictures");
const WINDOW = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

/** The repositories before anybody works on them, file by file. */
const REPOSITORIES: Record<string, Record<string, string>> = {
  invoices: {
    "README.md": "# invoices\n\nWrites invoices from a list of hours.\n",
    "invoices/amounts.py": [
      '"""Amounts of money, in cents."""',
      "",
      "",
      "def total(lines):",
      '    """What all lines of an invoice come to."""',
      "    return sum(line.amount for line in lines)",
      "",
      "",
      "def with_tax(amount, rate):",
      '    """An amount and the tax on it."""',
      "    return amount + int(amount * rate)",
      "",
    ].join("\n"),
    "tests/run.sh": "echo 24 tests passed\n",
  },
  recipes: {
    "README.md": "# recipes\n\nA cookbook in the browser.\n",
    "src/recipe.js": "export const scale = (recipe, guests) => recipe;\n",
    "tests/run.sh": "echo 61 tests passed\n",
  },
};

const indented = (lines: string[]) => lines.map((line) => `      ${line}`);
const script = (...steps: string[]) => ["rehearsal: 1", "startup: 0.1", "turns:", "  - uses: always", "    steps:", ...indented(steps)].join("\n");

const used = (input: number, output: number) => `- usage: {input: ${input}, output: ${output}, cache_read: ${input * 6}}`;
const done = (summary: string) => `- signal: {type: completed_claim, payload: {summary: "${summary}"}}`;
const busy = (say: string, input: number) =>
  script("- run: {argv: [sh, tests/run.sh], exit: 0}", used(input, Math.round(input / 9)), `- say: ${say}`, "- think: 600");

const ROUNDED = [
  '- edit: {file: invoices/amounts.py, replace: "    return amount + int(amount * rate)\\n", with: "    return amount + tax(amount, rate)\\n\\n\\ndef tax(amount, rate):\\n    \\"\\"\\"Rounded half up, as the tax office does.\\"\\"\\"\\n    exact = Decimal(amount) * Decimal(str(rate))\\n    return int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP))\\n"}',
  '- edit: {file: invoices/amounts.py, replace: "in cents.\\"\\"\\"\\n", with: "in cents.\\"\\"\\"\\n\\nfrom decimal import ROUND_HALF_UP, Decimal\\n"}',
  '- write: {file: tests/test_amounts.py, text: "from invoices.amounts import tax\\n\\n\\ndef test_half_a_cent_is_rounded_up():\\n    assert tax(250, 0.19) == 48\\n    assert tax(50, 0.19) == 10\\n"}',
];

interface Planned {
  title: string;
  repository: keyof typeof REPOSITORIES;
  name: string;
  script: string;
  more?: Params<"board_add">["task"];
  after?: string[];
}

/** In the order of their numbers. */
const TASKS: Planned[] = [
  {
    title: "Show totals per customer",
    repository: "invoices",
    name: "totals",
    script: script("- say: Totals are grouped by customer now.", used(21_400, 1_800), '- append: {file: README.md, text: "\\n`invoices totals` lists what each customer owes.\\n"}', done("invoices totals lists what each customer owes")),
  },
  {
    title: "Search recipes by ingredient",
    repository: "recipes",
    name: "search",
    script: script("- say: The index holds every ingredient once.", used(33_900, 4_100), '- write: {file: src/search.js, text: "export const byIngredient = (recipes, name) => recipes.filter((each) => each.ingredients.includes(name));\\n"}', done("Recipes are found by any of their ingredients")),
  },
  {
    title: "Round tax as the tax office does",
    repository: "invoices",
    name: "rounding",
    script: script("- say: Half a cent goes up, with decimals in place of floats.", used(18_200, 2_300), ...ROUNDED, "- run: {argv: [sh, tests/run.sh], exit: 0}", done("Tax is rounded half up, with a test for half a cent")),
    more: { review: "after_approval" },
  },
  {
    title: "Send reminders for overdue invoices",
    repository: "invoices",
    name: "reminders",
    script: script("- say: The letters are ready, and now they have to be sent.", used(12_700, 900), "- ask: {tool: Run, args: pip install aiosmtplib}", "- think: 600"),
  },
  {
    title: "Scale a recipe to the number of guests",
    repository: "recipes",
    name: "scale",
    script: script("- say: Spoons and pinches do not scale like grams.", used(9_800, 700), "- signal: {type: needs_input, payload: {question: Shall three and a half eggs become four?, choices: [{label: Round up, value: Round up.}, {label: Show the half, value: Show the half.}]}}"),
  },
  {
    title: "Export invoices as CSV",
    repository: "invoices",
    name: "export",
    script: busy("Dates are written as 2026-03-31.", 15_300),
  },
  {
    title: "Keep the timer running in a closed tab",
    repository: "recipes",
    name: "timer",
    script: busy("A worker keeps the time now.", 27_600),
  },
  {
    title: "Print a recipe on one page",
    repository: "recipes",
    name: "print",
    script: busy("Photos are left out.", 8_400),
  },
  { title: "Document the columns of the export", repository: "invoices", name: "columns", script: busy("Later.", 1), after: ["T-6"] },
  { title: "Import recipes from a web page", repository: "recipes", name: "import", script: busy("Later.", 1), after: ["T-5"] },
];

async function makeRepositories(stage: Stage): Promise<void> {
  for (const [name, files] of Object.entries(REPOSITORIES)) {
    const root = join(stage.folder, name);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=you", "-c", "user.email=you@localhost", ...args], { cwd: root });
    git("init", "--quiet", "--initial-branch=main");
    git("add", "--all");
    git("commit", "--quiet", "--no-verify", "-m", "Begin");
  }
}

/** Everybody is where the picture wants them. */
async function play(stage: Stage): Promise<void> {
  await makeRepositories(stage);
  await stage.autopilot("running");
  const status = async (task: string) => (await stage.call("board_show", { task })).task.status;
  for (const [index, planned] of TASKS.entries()) {
    const { title, repository, name, more, after } = planned;
    await stage.call("board_add", {
      task: {
        title,
        repository: join(stage.folder, repository),
        engine: "rehearsal",
        args: [stage.script(name, planned.script)],
        checks: [{ run: ["sh", "tests/run.sh"], timeout_secs: 30 }],
        ...more,
      },
      depends_on: after ?? [],
    });
    // One after the other, so that the picture is the same each time.
    const number = `T-${index + 1}`;
    if (index < 2) await expect.poll(() => status(number)).toBe("done");
  }
  const overview = () => stage.call("overview", {});
  await expect.poll(async () => (await overview()).needs_you.map(({ task }) => task).sort()).toEqual(["T-3", "T-4", "T-5"]);
  await expect
    .poll(async () => (await overview()).working.filter(({ kind, last_line }) => kind === "works" && last_line).length)
    .toBe(3);
}

async function open(stage: Stage, browser: Browser, colorScheme: "light" | "dark", deviceScaleFactor = 1): Promise<Page> {
  const context = await browser.newContext({ colorScheme, viewport: WINDOW, deviceScaleFactor, reducedMotion: "reduce" });
  const page = await context.newPage();
  await stage.signIn(page);
  await expect(page.locator('[data-group="needs"] .now-row')).toHaveCount(3);
  return page;
}

async function take(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(folder, name), animations: "disabled", caret: "hide" });
}

test("the pictures of the README", async ({ browser }) => {
  test.setTimeout(600_000);
  const stage = new Stage();
  // What rehearsals say they used has a price here, as the tokens of real agents have.
  stage.configure('[autopilot]\nmax_agents = 6\n\n[[usage.prices]]\nmodel = "rehearsal*"\ninput = 3\noutput = 15\ncache_read = 0.3\n');
  mkdirSync(folder, { recursive: true });
  try {
    await stage.start();
    await play(stage);
    const address = await stage.address();
    const light = await open(stage, browser, "light");
    // Work takes time; agents that all began a moment ago look like a show.
    await light.waitForTimeout(70_000);
    await take(light, "now.png");
    await take(await open(stage, browser, "dark"), "now-dark.png");
    const phone = await open(stage, browser, "light", 2);
    await phone.setViewportSize(PHONE);
    await take(phone, "now-phone.png");
    await light.goto(`${address}/board`);
    await expect(light.getByText("Import recipes from a web page")).toBeVisible();
    await take(light, "board.png");
    await light.goto(`${address}/review/T-3`);
    const file = light.getByRole("region", { name: "invoices/amounts.py" });
    await expect(file).toContainText("ROUND_HALF_UP");
    // The colours come from a worker, a moment after the words.
    await expect(file.locator(".hl-keyword").first()).toBeVisible();
    await expect(light.getByRole("region", { name: "tests/test_amounts.py" }).locator(".hl-keyword").first()).toBeVisible();
    await take(light, "review.png");
  } finally {
    await stage.close();
  }
});
