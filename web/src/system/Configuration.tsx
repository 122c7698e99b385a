import { useState } from "react";

import { useAction, useOperation } from "../daemon/queries";
import { Loaded } from "../parts/Loaded";
import { complain, say } from "../parts/toasts";

export function Configuration() {
  const config = useOperation("config_show", {});
  const [words, setWords] = useState("");
  const reload = useAction("daemon_control", ({ applied, needs_restart }) => {
    const said = applied.length > 0 ? `In force: ${applied.join(", ")}.` : "Nothing has changed.";
    say(needs_restart.length > 0 ? `${said} After a restart: ${needs_restart.join(", ")}.` : said);
  });
  return (
    <Loaded of={config} lines={12}>
      {(report) => {
        const shown = report.keys.filter((key) => `${key.key} ${key.description}`.toLowerCase().includes(words.toLowerCase()));
        return (
          <div className="stack system">
            <p className="config-head">
              <span>
                <code>{report.file}</code>
                {report.file_exists ? "" : " is not there: everything is as usual."}
              </span>
              <input
                className="field"
                type="search"
                aria-label="Filter the keys"
                placeholder="Filter"
                value={words}
                onChange={(event) => setWords(event.target.value)}
              />
              <button
                type="button"
                className="button"
                disabled={reload.isPending}
                onClick={() => reload.mutate({ action: "reload_config" }, { onError: complain })}
              >
                Read it again
              </button>
            </p>
            <div className="scroll-x" role="region" aria-label="Keys" tabIndex={0}>
              <table className="table paragraphs">
                <thead>
                  <tr>
                    <th>Key</th>
                    <th>Value</th>
                    <th>What it means</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map((key) => (
                    <tr key={key.key}>
                      <td className="mono">{key.key}</td>
                      <td className="mono">
                        {key.value === key.default ? (
                          <span className="quiet">{key.value}</span>
                        ) : (
                          <>
                            {key.value}
                            <br />
                            <span className="quiet">usually {key.default}</span>
                          </>
                        )}
                      </td>
                      <td>
                        <Described text={key.description} />
                        {key.reloads ? null : <span className="quiet"> Needs a restart.</span>}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </div>
        );
      }}
    </Loaded>
  );
}

/** What stands in backticks is what one would write. */
function Described({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={`${index}-${part}`}>{part}</code> : part));
}
