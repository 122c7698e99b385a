// What was said to a tool is JSON, and a snippet is cut out of its middle. For a
// person it is read as text: quotes and braces go, escapes become what they mean.

/** A part of a text, and whether it answers the question. */
export interface Part {
  text: string;
  marked: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
// Around what is marked while the text is changed; they stand in no text.
const [OPEN, CLOSE] = ["\u0001", "\u0002"];

/** The snippet as text, in parts; its ranges are counted in bytes. */
export function readable(snippet: string, ranges: [number, number][], isJson: boolean): Part[] {
  const bytes = encoder.encode(snippet);
  const cut = (from: number, to: number) => decoder.decode(bytes.subarray(from, to));
  let text = "";
  let at = 0;
  for (const [from, to] of ranges) {
    if (from < at || to > bytes.length) continue;
    text += cut(at, from) + OPEN + cut(from, to) + CLOSE;
    at = to;
  }
  text += cut(at, bytes.length);
  const parts = (isJson ? plain(text) : text).split(/([\u0001\u0002])/);
  const found: Part[] = [];
  let marked = false;
  for (const part of parts) {
    if (part === OPEN || part === CLOSE) marked = part === OPEN;
    else if (part) found.push({ text: part, marked });
  }
  return found;
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "", b: "", f: "" };

/** JSON, or a piece of it, without its signs. */
function plain(json: string): string {
  return (
    json
      // An escaped quote is one of the text's own: it is kept aside while the others go.
      .replaceAll("\\\\", "\u0003")
      .replaceAll('\\"', "\u0004")
      .replace(/"\s*:\s*[[{]*\s*"?/g, ": ")
      .replace(/"?\s*[\]}]*\s*,\s*[[{]*\s*"/g, ", ")
      .replace(/^(…?)\s*[[{]+\s*"?/, "$1")
      .replace(/"?\s*[\]}]+\s*(…?)$/, "$1")
      .replace(/^(…?)"|"(…?)$/g, "$1$2")
      .replace(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
      .replace(/\\([ntrbf/])/g, (_, sign: string) => ESCAPES[sign] ?? sign)
      .replaceAll("\u0004", '"')
      .replaceAll("\u0003", "\\")
  );
}
