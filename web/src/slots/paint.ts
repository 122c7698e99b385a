// When terminals may paint. Twenty of them that write at once would leave no
// frame for anything else, so each frame belongs to a few, in turn, and what
// came in between is written in one piece.

import type { Terminal } from "@xterm/xterm";

/** Terminals that may paint in one frame. */
const PER_FRAME = 2;
/** So much unpainted output is enough: the next repaint says the rest. */
const MOST_PENDING = 512 * 1024;

const queue: Painter[] = [];
let frame = 0;

export class Painter {
  private pending: Uint8Array[] = [];
  private size = 0;

  constructor(
    private readonly terminal: Terminal,
    private readonly urgency: "now" | "in turn",
  ) {}

  write(bytes: Uint8Array): void {
    if (this.urgency === "now") {
      this.terminal.write(bytes);
      return;
    }
    if (this.pending.length === 0) queue.push(this);
    this.pending.push(bytes);
    this.size += bytes.length;
    if (this.size > MOST_PENDING) this.flush();
    if (frame === 0) frame = requestAnimationFrame(paint);
  }

  stop(): void {
    this.pending = [];
    const at = queue.indexOf(this);
    if (at >= 0) queue.splice(at, 1);
  }

  flush(): void {
    for (const bytes of this.pending) this.terminal.write(bytes);
    this.pending = [];
    this.size = 0;
  }
}

function paint(): void {
  for (const painter of queue.splice(0, PER_FRAME)) painter.flush();
  frame = queue.length > 0 ? requestAnimationFrame(paint) : 0;
}
