// Which agent program, as a small mark with its name.

const LETTERS: Record<string, string> = { claude: "C", codex: "X", gemini: "G", opencode: "O", rehearsal: "R", generic: "›" };

/** Which program, and with which model. */
export const agentOf = ({ engine, model }: Pick<Props, "engine" | "model">): string => (model ? `${engine}, ${model}` : engine);

interface Props {
  engine: string;
  model?: string | null | undefined;
  /** Without the name beside it, where there is no room. */
  bare?: boolean;
}

export function EngineMark({ engine, model, bare = false }: Props) {
  const title = agentOf({ engine, model });
  return (
    <span className="engine" data-engine={engine} title={title}>
      <span className="engine-letter" aria-hidden="true">
        {LETTERS[engine] ?? engine.slice(0, 1).toUpperCase()}
      </span>
      <span className={bare ? "visually-hidden" : "engine-name"}>{engine}</span>
    </span>
  );
}
