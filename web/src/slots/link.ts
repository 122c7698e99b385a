// The line to the terminal of one slot: what it shows, and, for whoever has
// taken it over, what is typed.

export type Taken = "you" | "somebody" | "nobody";

export interface LinkListener {
  size: (columns: number, rows: number) => void;
  bytes: (bytes: Uint8Array) => void;
  taken: (by: Taken) => void;
  refused: (message: string) => void;
  ended: () => void;
  connected: (connected: boolean) => void;
}

type Message =
  | { type: "size"; columns: number; rows: number }
  | { type: "taken"; by: Taken }
  | { type: "refused"; message: string }
  | { type: "ended" };

export class TerminalLink {
  private socket: WebSocket | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private over = false;
  private holding = false;

  constructor(
    private readonly slot: string,
    private readonly listener: LinkListener,
    /** Paced: the next picture comes when the last was said to be drawn. */
    private readonly pace: "free" | "paced" = "free",
  ) {
    this.connect();
  }

  /** The last picture is drawn. */
  drawn(): void {
    if (this.pace === "paced") this.send({ type: "ready" });
  }

  take(): void {
    this.holding = true;
    this.send({ type: "take" });
  }

  release(): void {
    this.holding = false;
    this.send({ type: "release" });
  }

  type(data: string): void {
    this.send({ type: "input", data });
  }

  resize(columns: number, rows: number): void {
    this.send({ type: "resize", columns, rows });
  }

  close(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  private send(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private connect(): void {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const paced = this.pace === "paced" ? "?paced" : "";
    const path = `/api/v1/slots/${encodeURIComponent(this.slot)}/terminal${paced}`;
    const socket = new WebSocket(`${scheme}://${location.host}${path}`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.attempt = 0;
      this.listener.connected(true);
      // Who had it before the connection was lost wants it still.
      if (this.holding) this.send({ type: "take" });
    };
    socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) this.listener.bytes(new Uint8Array(data));
      else this.hear(JSON.parse(data as string) as Message);
    };
    socket.onclose = () => {
      if (this.over) return;
      this.listener.connected(false);
      this.attempt += 1;
      this.timer = setTimeout(() => this.connect(), Math.min(300 * 2 ** (this.attempt - 1), 5000));
    };
  }

  private hear(message: Message): void {
    switch (message.type) {
      case "size":
        this.listener.size(message.columns, message.rows);
        break;
      case "taken":
        this.listener.taken(message.by);
        break;
      case "refused":
        this.holding = false;
        this.listener.refused(message.message);
        break;
      case "ended":
        this.over = true;
        this.listener.ended();
        this.socket?.close();
        break;
    }
  }
}
