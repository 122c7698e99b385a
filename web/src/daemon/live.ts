// The live connection: events of the timeline in order, resumed where it was
// lost. Whoever listens hears every stored event once; when too many were missed
// to be told one by one, it hears `reset` and loads everything afresh.

import type { TimelineEvent } from "../generated/operations";

export type Happened = TimelineEvent["event"];

export type LiveState =
  | { kind: "connecting" }
  | { kind: "live"; version: string }
  | { kind: "lost"; since: number; attempt: number };

type Hello = { type: "hello"; seq: number; daemon: string; instance: string };
type Message =
  | Hello
  | { type: "events"; seq: number; events: TimelineEvent[] }
  | { type: "ephemeral"; events: TimelineEvent[] }
  | { type: "reset"; seq: number };

export interface LiveListener {
  events?: (events: TimelineEvent[]) => void;
  ephemeral?: (events: TimelineEvent[]) => void;
  /** What was loaded may be stale altogether. */
  reset?: () => void;
}

/** The code a socket is closed with when the login is over. */
const SIGNED_OUT = 4401;

/** As long as two missed pings of the daemon and a little. */
const SILENCE_MS = 45_000;

class Live {
  private socket: WebSocket | undefined;
  private seq: number | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private readonly listeners = new Set<LiveListener>();
  private readonly watchers = new Set<() => void>();
  private current: LiveState = { kind: "connecting" };
  private wanted = false;
  private heard: (() => void)[] = [];

  get state(): LiveState {
    return this.current;
  }

  /** The newest event we know of. */
  get position(): number | undefined {
    return this.seq;
  }

  /** Called when the daemon ends the connection because the login is over. */
  signedOut: () => void = () => {};

  /** Resolves once the daemon has said hello: what is loaded after it misses nothing. */
  start(): Promise<void> {
    this.wanted = true;
    const greeted = new Promise<void>((resolve) => this.heard.push(resolve));
    this.connect();
    return greeted;
  }

  stop(): void {
    this.wanted = false;
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.socket?.close();
    this.socket = undefined;
    this.seq = undefined;
  }

  listen(listener: LiveListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  /** Tries again now instead of when the pause is over. */
  retry = (): void => {
    if (this.current.kind !== "live") this.connect();
  };

  private connect(): void {
    clearTimeout(this.timer);
    this.socket?.close();
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const after = this.seq === undefined ? "" : `?after=${this.seq}`;
    const socket = new WebSocket(`${scheme}://${location.host}/api/v1/live${after}`);
    this.socket = socket;
    this.listenForSilence();
    socket.onmessage = (message) => {
      if (this.socket === socket) this.take(JSON.parse(message.data as string) as Message);
    };
    socket.onclose = ({ code }) => {
      if (this.socket !== socket || !this.wanted) return;
      if (code === SIGNED_OUT) this.signedOut();
      else this.lost();
    };
  }

  private take(message: Message): void {
    this.listenForSilence();
    switch (message.type) {
      case "hello":
        this.attempt = 0;
        // Without a place to resume from, events begin after the head.
        this.seq ??= message.seq;
        this.become({ kind: "live", version: message.daemon });
        for (const resolve of this.heard.splice(0)) resolve();
        break;
      case "events": {
        // A resumed connection may tell again what was on its way.
        const fresh = message.events.filter((event) => (event.seq ?? 0) > (this.seq ?? 0));
        this.seq = Math.max(this.seq ?? 0, message.seq);
        if (fresh.length > 0) for (const listener of this.listeners) listener.events?.(fresh);
        break;
      }
      case "ephemeral":
        for (const listener of this.listeners) listener.ephemeral?.(message.events);
        break;
      case "reset":
        this.seq = message.seq;
        for (const listener of this.listeners) listener.reset?.();
        break;
    }
  }

  private listenForSilence(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      // A sleeping laptop leaves sockets behind that look open. An idle daemon is
      // silent too, so a new connection is made, and nothing is missed by it.
      if (this.wanted) this.connect();
    }, SILENCE_MS);
  }

  private lost(): void {
    this.socket = undefined;
    this.attempt += 1;
    const since = this.current.kind === "lost" ? this.current.since : Date.now();
    this.become({ kind: "lost", since, attempt: this.attempt });
    const pause = Math.min(250 * 2 ** (this.attempt - 1), 5000);
    this.timer = setTimeout(() => this.connect(), pause);
  }

  private become(state: LiveState): void {
    this.current = state;
    for (const watcher of this.watchers) watcher();
  }
}

export const live = new Live();
