// What axe finds wrong with a page. It is asked in the page itself: there are no frames
// of others in ours, for which axe would open a second page each time.

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

/** In the dark only colours are others, so a page that was seen in the light is asked for those. */
export type Rules = "all" | "contrast";

/** A line for each rule that is broken, with what breaks it. */
export async function faults(page: Page, rules: Rules = "all"): Promise<string[]> {
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] });
  if (rules === "contrast") axe.withRules(["color-contrast"]);
  const { violations } = await axe.analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, html }) => `${target} ${html}`).join(" | ")}`);
}
