// When terminals may paint. Twenty of them that write at once would leave no
// frame for anything else, so each frame belongs to a few, in turn. The daemon
// sends a terminal its next picture when the last was drawn, so none waits here
// but the newest.

import type { Terminal } from "@xterm/xterm";

/** Terminals that may paint in one frame. */
const PER_FRAME = 2;
const queue: Painter[] = [];
let frame = 0;

export class Painter {
  private pending: Uint8Array[] = [];

  constructor(
    private readonly terminal: Terminal,
    private readonly urgency: "now" | "in turn",
    /** Called when what was written is drawn. */
    private readonly drawn: () => void = () => {},
  ) {}

  write(bytes: Uint8Array): void {
    if (this.urgency === "now") {
      this.terminal.write(bytes, this.drawn);
      return;
    }
    if (this.pending.length === 0) queue.push(this);
    this.pending.push(bytes);
    if (frame === 0) frame = requestAnimationFrame(paint);
  }

  stop(): void {
    this.pending = [];
    const at = queue.indexOf(this);
    if (at >= 0) queue.splice(at, 1);
  }

  flush(): void {
    for (const bytes of this.pending) this.terminal.write(bytes, this.drawn);
    this.pending = [];
  }
}

function paint(): void {
  for (const painter of queue.splice(0, PER_FRAME)) painter.flush();
  frame = queue.length > 0 ? requestAnimationFrame(paint) : 0;
}
