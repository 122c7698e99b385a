// Text with the parts that answer a question. The daemon counts bytes, the page
// letters, so the ranges are cut where the text is still bytes.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function Marked({ text, ranges }: { text: string; ranges: [number, number][] }) {
  const bytes = encoder.encode(text);
  const cut = (from: number, to: number) => decoder.decode(bytes.subarray(from, to));
  const parts: React.ReactNode[] = [];
  let at = 0;
  for (const [from, to] of ranges) {
    if (from < at || to > bytes.length) continue;
    parts.push(cut(at, from), <mark key={from}>{cut(from, to)}</mark>);
    at = to;
  }
  parts.push(cut(at, bytes.length));
  return <>{parts}</>;
}
