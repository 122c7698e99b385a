// The values of settings as they are typed.

import type { ConfigKey } from "../../generated/operations";

export type Parsed = { value: unknown } | { wrong: string };

/** What the file will say; what waits for a restart is already said. */
export const written = (key: ConfigKey): unknown => key.waiting ?? key.data;

export const isChanged = (key: ConfigKey): boolean =>
  JSON.stringify(written(key)) !== JSON.stringify(key.default_data);

/** A value as one types it: a list one on each line, tables as JSON. */
export function typed(key: ConfigKey, value: unknown): string {
  if (key.kind === "list" && Array.isArray(value)) return value.join("\n");
  if (key.kind === "tables") return JSON.stringify(value, null, 2);
  return value === null || value === undefined ? "" : String(value);
}

/** What was typed as a value. What it means is the daemon's to check. */
export function parse(key: ConfigKey, text: string): Parsed {
  switch (key.kind) {
    case "integer":
    case "number": {
      const number = Number(text);
      return text.trim() === "" || Number.isNaN(number) ? { wrong: "This is a number." } : { value: number };
    }
    case "list": {
      const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
      const numbers = Array.isArray(key.default_data) && typeof key.default_data[0] === "number";
      return { value: numbers ? lines.map(Number) : lines };
    }
    case "tables":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch (error) {
        return { wrong: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
      }
    default:
      return { value: text };
  }
}
