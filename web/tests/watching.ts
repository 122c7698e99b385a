// Looks at a page from inside while it works: when it was ready, what shifted, how
// long its frames and its tasks took.

import type { Page } from "@playwright/test";

export interface Watched {
  ready: number;
  largest: number;
  shift: number;
  blocked: number;
}

/** Watches a page from its beginning; to be run before anything of the page. */
export function observe(): void {
  const watched = window as unknown as Watched;
  Object.assign(watched, { ready: 0, largest: 0, shift: 0, blocked: 0 });
  const on = (type: string, take: (entry: PerformanceEntry) => void) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  on("largest-contentful-paint", (entry) => (watched.largest = entry.startTime));
  on("layout-shift", (entry) => (watched.shift += (entry as unknown as { value: number }).value));
  on("longtask", (entry) => (watched.blocked += Math.max(0, entry.duration - 50)));
  new MutationObserver(() => {
    if (!watched.ready && document.querySelector(".nothing, .now, .columns, .first-steps")) watched.ready = performance.now();
  }).observe(document, { subtree: true, childList: true });
}

export interface Frames {
  longest: number;
  /** 99 of 100 took no longer. */
  usual: number;
  over100: number;
  rate: number;
  /** The longest that the page itself held its thread. */
  task: number;
}

/** The frames and tasks of a page while something goes on. */
export async function frames(page: Page, during: () => Promise<void>): Promise<Frames> {
  // The first frames of a page that was not looked at are long.
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 500)))),
  );
  await page.evaluate(() => {
    const watched = window as unknown as { gaps: number[]; watching: boolean; task: number };
    watched.gaps = [];
    watched.watching = true;
    watched.task = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) watched.task = Math.max(watched.task, entry.duration);
    }).observe({ type: "longtask" });
    let last = performance.now();
    requestAnimationFrame(function frame(now) {
      watched.gaps.push(now - last);
      last = now;
      if (watched.watching) requestAnimationFrame(frame);
    });
  });
  await during();
  return page.evaluate(() => {
    const watched = window as unknown as { gaps: number[]; watching: boolean; task: number };
    watched.watching = false;
    const gaps = watched.gaps.slice(1);
    const time = gaps.reduce((sum, gap) => sum + gap, 0);
    const sorted = gaps.toSorted((a, b) => a - b);
    return {
      longest: sorted.at(-1) ?? 0,
      usual: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      over100: gaps.filter((gap) => gap > 100).length,
      rate: time > 0 ? (gaps.length / time) * 1000 : 0,
      task: watched.task,
    };
  });
}
