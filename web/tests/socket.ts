// The daemon's own socket: operations without the page and without a process for
// each, for tests that make much happen.

import { connect, type Socket } from "node:net";

export class DaemonSocket {
  private readonly waiting = new Map<number, { done: (result: unknown) => void; failed: (error: Error) => void }>();
  private next = 1;
  private rest = "";

  private constructor(private readonly socket: Socket) {
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => this.hear(text));
    socket.on("close", () => {
      for (const { failed } of this.waiting.values()) failed(new Error("the daemon closed the connection"));
    });
    socket.on("error", () => {});
  }

  static async open(path: string): Promise<DaemonSocket> {
    const socket = await new Promise<Socket>((done, failed) => {
      const made = connect(path, () => done(made));
      made.on("error", failed);
    });
    const opened = new DaemonSocket(socket);
    await opened.call("hello", { protocol: 1, client: "web tests" });
    return opened;
  }

  call(method: string, params: unknown): Promise<unknown> {
    const id = this.next++;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed });
      this.socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private hear(text: string): void {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = JSON.parse(line) as { id?: number; result?: unknown; error?: { message: string } };
      const waits = message.id === undefined ? undefined : this.waiting.get(message.id);
      if (!waits || message.id === undefined) continue;
      this.waiting.delete(message.id);
      if (message.error) waits.failed(new Error(message.error.message));
      else waits.done(message.result);
    }
  }
}
