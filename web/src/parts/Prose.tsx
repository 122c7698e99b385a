// A sentence in which what stands between backticks is code.

export function Prose({ text }: { text: string }) {
  if (!text.includes("`")) return <>{text}</>;
  return (
    <>
      {text.split(/`([^`\n]+)`/).map((part, index) =>
        // Every second part stood between backticks.
        index % 2 === 1 ? <code key={index}>{part}</code> : part,
      )}
    </>
  );
}
