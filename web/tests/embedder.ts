// An embedding provider for tests: it speaks as Ollama does, and what it takes to
// mean alike is what shares words.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const DIMENSION = 96;

export class Embedder {
  private constructor(
    private readonly server: Server,
    private readonly url: string,
  ) {}

  static async start(): Promise<Embedder> {
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk));
      request.on("end", () => {
        const answer = request.url?.includes("/api/tags")
          ? { models: [{ name: "words:latest", digest: "sha256:0123456789ab" }] }
          : { embeddings: (JSON.parse(body) as { input: string[] }).input.map(vectorOf) };
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return new Embedder(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  /** What the daemon's configuration must say to use it. */
  get config(): string {
    return `[knowledge]\nembedding = "ollama"\nmodel = "words"\nurl = "${this.url}"\n`;
  }

  close(): void {
    this.server.close();
  }
}

function vectorOf(text: string): number[] {
  const vector = new Array<number>(DIMENSION).fill(0.05);
  for (const word of text.toLowerCase().split(/[^a-z0-9]+/).filter((each) => each.length > 3)) {
    let place = 7;
    for (const letter of word) place = (place * 31 + letter.charCodeAt(0)) % DIMENSION;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  return vector;
}
