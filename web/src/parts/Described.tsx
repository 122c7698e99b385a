/** A sentence in which what stands in backticks is what one would write. */
export function Described({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={`${index}-${part}`}>{part}</code> : part));
}
