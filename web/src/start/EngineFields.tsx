// An agent CLI and its model: the two fields of every form that chooses an agent.

import { useEngines } from "./Agents";
import { REHEARSAL } from "./engines";

interface EngineProps {
  label: string;
  value: string;
  change: (engine: string) => void;
  /** What it is called to choose none; one must be chosen when left out. */
  none?: string;
  /** Whether there is a script, or a field for one: a rehearsal cannot run without. */
  scripted?: boolean;
}

export function EngineField({ label, value, change, none, scripted = true }: EngineProps) {
  const found = useEngines().data?.engines ?? [];
  const listed = value === "" || value === REHEARSAL || found.some(({ engine }) => engine === value);
  return (
    <label>
      {label}
      <select className="field" value={value} required={none === undefined} onChange={(event) => change(event.target.value)}>
        {none === undefined && value !== "" ? null : <option value="">{none ?? "Choose one"}</option>}
        {listed ? null : <option value={value}>{value}</option>}
        {found.map(({ engine, installed }) => (
          <option key={engine} value={engine}>
            {installed ? engine : `${engine} (not installed)`}
          </option>
        ))}
        {scripted || value === REHEARSAL ? <option value={REHEARSAL}>{REHEARSAL}</option> : null}
      </select>
    </label>
  );
}

export function ModelField({ label = "Model", value, change }: { label?: string; value: string; change: (model: string) => void }) {
  return (
    <label>
      {label}
      <input
        className="field"
        value={value}
        placeholder="The agent's default"
        spellCheck={false}
        onChange={(event) => change(event.target.value)}
      />
    </label>
  );
}
