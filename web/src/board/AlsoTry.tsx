// Further agents for the same task: each gets a card of its own, and one is kept.

import { useEngines } from "../start/Agents";
import { REHEARSAL } from "../start/engines";

/** An agent that tries the task too. */
export interface Also {
  engine: string;
  model: string;
}

/** As many may try it beside the first. */
const MOST = 3;

export function AlsoTry({ value, change }: { value: Also[]; change: (value: Also[]) => void }) {
  const engines = [...(useEngines().data?.engines ?? []).map((each) => each.engine), REHEARSAL];
  const set = (at: number, also: Also) =>
    change([...value.slice(0, at), ...(also.engine ? [also] : []), ...value.slice(at + 1)]);
  // The last one is empty: choosing in it makes it one more.
  const rows = value.length < MOST ? [...value, { engine: "", model: "" }] : value;
  return (
    <>
      {rows.map((row, at) => (
        <div key={at} className="pair">
          <label>
            {at === 0 ? "Also try with" : "And with"}
            <select className="field" value={row.engine} onChange={(event) => set(at, { ...row, engine: event.target.value })}>
              <option value="">No other agent</option>
              {engines.map((engine) => (
                <option key={engine}>{engine}</option>
              ))}
            </select>
          </label>
          {row.engine ? (
            <label>
              Its model
              <input
                className="field"
                value={row.model}
                placeholder="The agent's default"
                spellCheck={false}
                onChange={(event) => set(at, { ...row, model: event.target.value })}
              />
            </label>
          ) : null}
        </div>
      ))}
      {value.length > 0 ? (
        <p className="field-says">Each works in its own worktree. Nothing is merged until you keep one of them.</p>
      ) : null}
    </>
  );
}
