// What is to drive an agent: its protocol or its terminal, of which only those are
// listed that it has.

import { driven, DRIVERS } from "../executions/control";
import type { Controller, EngineSummary } from "../generated/operations";
import { Prose } from "../parts/Prose";
import { useEngines } from "./Agents";

/** Empty where it is left to the daemon. */
export type ControlChoice = "" | Controller;

const NAMES: Record<Controller, string> = { structured: "Its protocol", terminal: "Its terminal" };

const SAYS: Record<Controller, string> = {
  structured: "Its protocol: what it does and asks is told exactly, and nothing is typed.",
  terminal: "Its terminal: keys are typed, and its screen is read.",
};

/** The engine that is meant; the usual one where none is named. */
function useEngine(name: string): EngineSummary | undefined {
  const page = useEngines().data;
  return page?.engines.find(({ engine }) => engine === (name || page.default));
}

interface Props {
  engine: string;
  value: ControlChoice;
  change: (value: ControlChoice) => void;
}

export function ControlField({ engine, value, change }: Props) {
  const control = useEngine(engine)?.control;
  const offered = control?.offered ?? (Object.keys(NAMES) as Controller[]);
  // What was chosen before is shown, also where it is no longer offered.
  const listed = value && !offered.includes(value) ? [...offered, value] : offered;
  return (
    <label>
      Driven by
      <select className="field" value={value} onChange={(event) => change(event.target.value as ControlChoice)}>
        <option value="">As usual{control ? ` (${DRIVERS[control.by]})` : ""}</option>
        {listed.map((each) => (
          <option key={each} value={each}>
            {NAMES[each]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What the choice means; where there is none, what it comes to and why. */
export function ControlSays({ engine, value }: Pick<Props, "engine" | "value">) {
  const control = useEngine(engine)?.control;
  if (value) return <p className="field-says">{SAYS[value]}</p>;
  if (!control) return null;
  return (
    <p className="field-says">
      <Prose text={`Usually driven by ${driven(control.by, control.why)}.`} />
    </p>
  );
}
