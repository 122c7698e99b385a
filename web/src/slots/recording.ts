// A recording in asciicast v2, in a shape that can be sought in.

export interface Recording {
  columns: number;
  rows: number;
  /** When it began, in milliseconds since 1970. */
  began: number;
  /** In order; times in seconds since it began. */
  happened: Happened[];
  length: number;
}

export type Happened =
  | { at: number; kind: "output"; data: string }
  | { at: number; kind: "resize"; columns: number; rows: number };

export async function fetchRecording(slot: string, signal: AbortSignal): Promise<Recording> {
  const response = await fetch(`/api/v1/slots/${encodeURIComponent(slot)}/recording`, { signal });
  if (!response.ok) {
    throw new Error(response.status === 404 ? "There is no recording of this slot." : `The daemon answered ${response.status}.`);
  }
  return parseRecording(await response.text());
}

export function parseRecording(text: string): Recording {
  const [first, ...rest] = text.split("\n");
  const header = JSON.parse(first ?? "{}") as { width: number; height: number; timestamp?: number };
  const happened: Happened[] = [];
  for (const line of rest) {
    // The last line of a recording that is being written may be half there.
    const event = parseEvent(line);
    if (event) happened.push(event);
  }
  return {
    columns: header.width,
    rows: header.height,
    began: (header.timestamp ?? 0) * 1000,
    happened,
    length: happened.at(-1)?.at ?? 0,
  };
}

function parseEvent(line: string): Happened | undefined {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!Array.isArray(event)) return undefined;
  const [at, kind, data] = event as [number, string, string];
  if (kind === "o") return { at, kind: "output", data };
  const size = kind === "r" ? /^(\d+)x(\d+)$/.exec(data) : null;
  return size ? { at, kind: "resize", columns: Number(size[1]), rows: Number(size[2]) } : undefined;
}

/** The same with pauses no longer than this. */
export function withoutPauses(recording: Recording, most: number): Recording {
  let saved = 0;
  let before = 0;
  const happened = recording.happened.map((event) => {
    saved += Math.max(0, event.at - before - most);
    before = event.at;
    return { ...event, at: event.at - saved };
  });
  return { ...recording, happened, length: happened.at(-1)?.at ?? 0 };
}
