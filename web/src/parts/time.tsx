// Moments as people say them, kept fresh by one clock for the whole page. The
// words are written into the page by the clock itself: to have React draw a
// thousand of them anew would take longer than a frame may.

import { type RefObject, useLayoutEffect, useRef } from "react";

const TICK_MS = 5000;

const spoken = new Map<HTMLElement, () => string>();
let timer: ReturnType<typeof setInterval> | undefined;

function say(element: HTMLElement, words: string): void {
  if (element.textContent !== words) element.textContent = words;
}

/** An element whose words are those of now; `key` is what they are made of. */
function useSpoken<E extends HTMLElement>(key: string, words: () => string): RefObject<E | null> {
  const place = useRef<E>(null);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    spoken.set(element, words);
    say(element, words());
    timer ??= setInterval(() => {
      for (const [each, now] of spoken) say(each, now());
    }, TICK_MS);
    return () => {
      spoken.delete(element);
      if (spoken.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [key]);
  return place;
}

const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** A moment in full, as the tooltips say it: `17 Nov 2026, 21:28:48`. */
export const exactly = (at: string): string => exact.format(new Date(at));

const short = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A moment to the minute: `17 Nov 2026, 21:28`. */
export const minuteOf = (at: string): string => short.format(new Date(at));

const utc = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

/** A day of UTC, by any moment of it: `17 Nov 2026`. */
export const utcDay = (at: string | number): string => utc.format(new Date(at));

const day = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });

/** The day of a moment, where many moments stand under one another. */
export function dayOf(at: string): string {
  const moment = new Date(at);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  return days === 0 ? "Today" : days === 1 ? "Yesterday" : day.format(moment);
}

export function Ago({ at }: { at: string }) {
  const moment = new Date(at);
  const place = useSpoken<HTMLTimeElement>(at, () => ago(Date.now() - moment.getTime()));
  return <time ref={place} dateTime={at} title={exactly(at)} className="quiet" />;
}

/** How long something took, or has taken until now. */
export function Lasting({ from, to }: { from: string; to?: string | null | undefined }) {
  const place = useSpoken<HTMLSpanElement>(`${from} ${to ?? ""}`, () =>
    duration((to ? new Date(to).getTime() : Date.now()) - new Date(from).getTime()),
  );
  return <span ref={place} />;
}

export function clock(at: string): string {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

function ago(ms: number): string {
  if (ms < -5000) return `in ${duration(-ms)}`;
  return ms < 10_000 ? "now" : `${duration(ms)} ago`;
}

export function duration(ms: number): string {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 1) return `${Math.round(Math.max(0, ms))} ms`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}
