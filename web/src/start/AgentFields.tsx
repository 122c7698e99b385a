// Which agent: its CLI, model, what it may do without asking and what drives it. The
// same in every form that starts one.

import { type ControlChoice, ControlField, ControlSays } from "./ControlField";
import { EngineField, ModelField } from "./EngineFields";
import { PERMISSIONS, REHEARSAL } from "./engines";

export interface AgentChoice {
  engine: string;
  model: string;
  permission: string;
  control: ControlChoice;
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
  const permission = PERMISSIONS.find((each) => each.value === value.permission);
  return (
    <>
      <div className="pair">
        <EngineField
          label="Agent"
          value={value.engine}
          none={any}
          // What was chosen for another program is not for this one.
          change={(engine) => set({ engine, model: "", args: "", control: "" })}
        />
        <ModelField value={value.model} change={(model) => set({ model })} />
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
        <ControlField engine={value.engine} value={value.control} change={(control) => set({ control })} />
      </div>
      {permission ? <p className={permission.value === "bypass" ? "field-says bad" : "field-says"}>{permission.says}</p> : null}
      <ControlSays engine={value.engine} value={value.control} />
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
