// Which agent: its CLI, model and what it may do without asking. The same in
// every form that starts one.

import { useEngines } from "./Agents";
import { PERMISSIONS, REHEARSAL } from "./engines";

export interface AgentChoice {
  engine: string;
  model: string;
  permission: string;
  /** More arguments for the program, as a line; the script of a rehearsal. */
  args: string;
}

interface Props {
  value: AgentChoice;
  change: (value: AgentChoice) => void;
  /** What it is called to leave the engine open; it must be said when left out. */
  any?: string;
  /** What it is called to leave the permission open. */
  usual?: string;
}

export function AgentFields({ value, change, any, usual }: Props) {
  const set = (part: Partial<AgentChoice>) => change({ ...value, ...part });
  const found = useEngines().data?.engines ?? [];
  const listed = value.engine === REHEARSAL || found.some((engine) => engine.engine === value.engine);
  const permission = PERMISSIONS.find((each) => each.value === value.permission);
  return (
    <>
      <div className="triple">
        <label>
          Agent
          <select
            className="field"
            value={value.engine}
            required={any === undefined}
            // What another program is started with is not for this one.
            onChange={(event) => set({ engine: event.target.value, args: "" })}
          >
            {any === undefined ? null : <option value="">{any}</option>}
            {value.engine && !listed ? <option value={value.engine}>{value.engine}</option> : null}
            {found.map((engine) => (
              <option key={engine.engine} value={engine.engine}>
                {engine.installed ? engine.engine : `${engine.engine} (not installed)`}
              </option>
            ))}
            <option value={REHEARSAL}>{REHEARSAL}</option>
          </select>
        </label>
        <label>
          Model
          <input
            className="field"
            value={value.model}
            placeholder="The agent's default"
            spellCheck={false}
            onChange={(event) => set({ model: event.target.value })}
          />
        </label>
        <label>
          Permission
          <select
            className="field"
            value={value.permission}
            onChange={(event) => set({ permission: event.target.value })}
          >
            {usual === undefined ? null : <option value="">{usual}</option>}
            {PERMISSIONS.map((each) => (
              <option key={each.value} value={each.value}>
                {each.name}
              </option>
            ))}
          </select>
        </label>
      </div>
      {permission ? <p className={permission.value === "bypass" ? "field-says bad" : "field-says"}>{permission.says}</p> : null}
      {value.engine === REHEARSAL || value.args ? (
        <label>
          {value.engine === REHEARSAL ? "Script of the rehearsal" : "More arguments for its program"}
          <input
            className="field mono"
            value={value.args}
            required={value.engine === REHEARSAL}
            placeholder={value.engine === REHEARSAL ? "hello, edit, permission, fail-then-fix or a file" : "--flag value"}
            spellCheck={false}
            onChange={(event) => set({ args: event.target.value })}
          />
        </label>
      ) : null}
    </>
  );
}
