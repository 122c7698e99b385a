// What was changed, the newest first, each with a way back.

import { useOperation } from "../../daemon/queries";
import type { ConfigChange } from "../../generated/operations";
import { Loaded } from "../../parts/Loaded";
import { Ago } from "../../parts/time";
import { undoChange } from "./changes";

export function History() {
  const history = useOperation("config_history", { limit: 50 });
  return (
    <section className="section" aria-label="Changes">
      <h2>Changes</h2>
      <Loaded of={history} lines={3}>
        {({ changes }) =>
          changes.length === 0 ? (
            <p className="quiet">What you change here or with <code>mission config set</code> is listed, and can be undone.</p>
          ) : (
            <div className="scroll-x" role="region" aria-label="List of changes" tabIndex={0}>
              <table className="table paragraphs">
                <thead>
                  <tr>
                    <th>When</th>
                    <th>Setting</th>
                    <th>Before</th>
                    <th>After</th>
                    <th>
                      <span className="visually-hidden">Undo</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {changes.map((change) => (
                    <Change key={change.change} change={change} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

function Change({ change }: { change: ConfigChange }) {
  const value = (text: string | null | undefined) => (text ? <code>{text}</code> : <span className="quiet">not set</span>);
  return (
    <tr className={change.undone ? "faded" : undefined}>
      <td>
        <Ago at={change.at} />
      </td>
      <td className="mono">
        {change.key}
        {change.repository ? <span className="quiet"> in {change.repository}</span> : null}
      </td>
      <td data-name="before">{value(change.old)}</td>
      <td data-name="after">{value(change.new)}</td>
      <td>
        {change.undone ? (
          <span className="quiet">undone</span>
        ) : (
          <button
            type="button"
            className="button small"
            aria-label={`Undo the change of ${change.key}`}
            onClick={() => undoChange(change.change)}
          >
            Undo
          </button>
        )}
      </td>
    </tr>
  );
}
