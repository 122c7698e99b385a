// Further agents for the same task: each gets a card of its own, and one is kept.

import { EngineField, ModelField } from "../start/EngineFields";

/** An agent that tries the task too. */
export interface Also {
  engine: string;
  model: string;
}

/** As many may try it beside the first. */
const MOST = 3;

interface Props {
  value: Also[];
  change: (value: Also[]) => void;
  /** Whether the task has a script that they could follow too. */
  scripted: boolean;
}

export function AlsoTry({ value, change, scripted }: Props) {
  const set = (at: number, also: Also) =>
    change([...value.slice(0, at), ...(also.engine ? [also] : []), ...value.slice(at + 1)]);
  // The last one is empty: choosing in it makes it one more.
  const rows = value.length < MOST ? [...value, { engine: "", model: "" }] : value;
  return (
    <>
      {rows.map((row, at) => (
        <div key={at} className="pair">
          <EngineField
            label={at === 0 ? "Also try with" : "And with"}
            value={row.engine}
            none="No other agent"
            scripted={scripted}
            change={(engine) => set(at, { engine, model: "" })}
          />
          {row.engine ? <ModelField label="Its model" value={row.model} change={(model) => set(at, { ...row, model })} /> : null}
        </div>
      ))}
      {value.length > 0 ? (
        <p className="field-says">Each works in its own worktree. Nothing is merged until you keep one of them.</p>
      ) : null}
    </>
  );
}
