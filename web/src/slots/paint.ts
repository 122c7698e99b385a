// When terminals may paint. Twenty of them that write at once would leave no
// frame for anything else, so each frame belongs to a few, in turn, and to fewer
// when frames come late: a page that is slow shows fewer pictures a second and
// stays quick to the hand. The daemon sends a terminal its next picture when the
// last was drawn, so none waits here but the newest.

import type { Terminal } from "@xterm/xterm";

/** Terminals that may paint in one frame, at best and at worst. */
const MOST = 2;
const LEAST = 1 / 8;
/** A frame that took longer came late; one that took less had room. */
const LATE_MS = 40;
const ROOMY_MS = 25;

const queue: Painter[] = [];
let frame = 0;
let share = 1;
let credit = 0;
let last = 0;

export class Painter {
  private pending: Uint8Array[] = [];

  constructor(
    private readonly terminal: Terminal,
    /** Draws what was written. */
    private readonly draw: () => void,
  ) {}

  write(bytes: Uint8Array): void {
    if (this.pending.length === 0) queue.push(this);
    this.pending.push(bytes);
    if (frame === 0) {
      last = 0;
      frame = requestAnimationFrame(paint);
    }
  }

  stop(): void {
    this.pending = [];
    const at = queue.indexOf(this);
    if (at >= 0) queue.splice(at, 1);
  }

  flush(): void {
    const last = this.pending.pop();
    for (const bytes of this.pending) this.terminal.write(bytes);
    // What lies between is written and seen by nobody.
    if (last) this.terminal.write(last, this.draw);
    this.pending = [];
  }
}

function paint(now: number): void {
  if (last > 0) share = nextShare(share, now - last);
  last = now;
  credit = Math.min(credit + share, MOST);
  for (; credit >= 1 && queue.length > 0; credit -= 1) queue.shift()?.flush();
  frame = queue.length > 0 ? requestAnimationFrame(paint) : 0;
}

/** Half as many after a frame that was late, slowly more after those with room. */
export function nextShare(share: number, took: number): number {
  if (took > LATE_MS) return Math.max(LEAST, share / 2);
  return took < ROOMY_MS ? Math.min(MOST, share * 1.1) : share;
}
