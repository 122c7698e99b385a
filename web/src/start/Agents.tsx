// The agent CLIs of this machine: which are there, which are logged in, and how
// to get the others.

import { useOperation } from "../daemon/queries";
import type { EngineSummary } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { Mark } from "../parts/marks";

export const useEngines = () => useOperation("engine_list", {});

/** Whether there is one that could work. */
export function useAgentsFound(): boolean {
  const found = useEngines();
  return found.data?.engines.some((engine) => engine.installed && engine.login !== "absent") ?? false;
}

export function Agents() {
  const found = useEngines();
  return (
    <Loaded of={found} lines={4}>
      {({ engines }) => (
        <>
          {engines.some((engine) => engine.installed) ? null : (
            <p>No agent CLI was found on this machine. Install one, or play the demo, which needs none.</p>
          )}
          <ul className="agents-found">
            {engines.map((engine) => (
              <li key={engine.engine}>
                <strong>{engine.engine}</strong>
                <Found engine={engine} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Loaded>
  );
}

function Found({ engine }: { engine: EngineSummary }) {
  const { installed } = engine;
  if (!installed) {
    return (
      <>
        <Mark tone="rest" word="not installed" />
        {engine.install ? <code>{engine.install}</code> : null}
      </>
    );
  }
  if (installed.trouble) return <Mark tone="bad" word={installed.trouble} />;
  return (
    <>
      <Login engine={engine} />
      {installed.version ? <span className="quiet">{installed.version}</span> : null}
    </>
  );
}

function Login({ engine }: { engine: EngineSummary }) {
  switch (engine.login) {
    case "known":
      return <Mark tone="good" word="logged in" />;
    case "absent":
      return <Mark tone="wait" word="not logged in" title={`Run ${engine.engine} once in a terminal and log in`} />;
    default:
      return <Mark tone="good" word="installed" />;
  }
}
