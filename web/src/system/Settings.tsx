// The configuration, to be changed: what people look for most first, then every key
// by section, then what was changed and a way back.

import { useState } from "react";

import { useOperation } from "../daemon/queries";
import type { ConfigKey, ConfigReport } from "../generated/operations";
import { CommandButton } from "../parts/command";
import { Loaded } from "../parts/Loaded";
import { reloadConfiguration } from "./reloadConfiguration";
import { History } from "./settings/History";
import { Setting } from "./settings/Setting";
import { isChanged } from "./settings/values";
import "./settings.css";

/** What people look for most, by names they know. */
const FIRST: [string, string][] = [
  ["autopilot.max_agents", "Agents at once"],
  ["autopilot.engine", "Agent of tasks that name none"],
  ["notifications.desktop", "Desktop notifications"],
  ["notifications.webhook_url", "Send notifications to"],
  ["notifications.dwell_secs", "Notify after (seconds)"],
  ["autopilot.tokens_per_day", "Token budget of a day"],
  ["autopilot.quiet_hours", "Quiet hours"],
  ["usage.prices", "Your own prices"],
];

const TITLES: Record<string, string> = {
  "": "General",
  http: "HTTP",
  ipc: "Connections",
  mcp: "MCP",
  otlp: "Metrics export",
};

export function Settings() {
  const config = useOperation("config_show", {});
  return (
    <div className="stack system settings">
      <Loaded of={config} lines={12}>
        {(report) => (
          <>
            <p className="config-head">
              <span>
                <code>{report.file}</code>
                {report.file_exists ? "" : " does not exist yet: every setting has its default."}
              </span>
              <CommandButton command={reloadConfiguration} />
            </p>
            <Keys report={report} />
          </>
        )}
      </Loaded>
      {config.isPending ? null : <History />}
    </div>
  );
}

function Keys({ report }: { report: ConfigReport }) {
  const [words, setWords] = useState("");
  const [changedOnly, setChangedOnly] = useState(false);
  const sought = words.trim().toLowerCase();
  const fits = (key: ConfigKey) =>
    (!sought || `${key.key} ${nameOf(key.key) ?? ""} ${key.description}`.toLowerCase().includes(sought)) &&
    (!changedOnly || isChanged(key));
  const shown = report.keys.filter(fits);
  const filtered = sought !== "" || changedOnly;
  const first = FIRST.flatMap(([name]) => report.keys.filter((key) => key.key === name));
  const sections = bySection(shown);
  return (
    <>
      <p className="config-head">
        <input
          className="field"
          type="search"
          aria-label="Search settings"
          placeholder="Search settings"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <label className="settings-tick">
          <input type="checkbox" checked={changedOnly} onChange={(event) => setChangedOnly(event.target.checked)} />
          Changed only
        </label>
      </p>
      {filtered ? null : (
        <section className="section" aria-label="Most used">
          <h2>Most used</h2>
          {first.map((key) => (
            <Setting key={key.key} setting={key} name={nameOf(key.key) ?? key.key} />
          ))}
        </section>
      )}
      {filtered && shown.length === 0 ? <p className="quiet">No setting has these words.</p> : null}
      {[...sections].map(([section, keys]) => (
        <details key={`${section} ${filtered}`} className="section settings-section folds" open={filtered}>
          <summary>
            <h2>{TITLES[section] ?? titled(section)}</h2>
            <span className="quiet">{keys.length}</span>
            {keys.some(isChanged) ? <span className="tag">changed</span> : null}
          </summary>
          {keys.map((key) => (
            <Setting key={key.key} setting={key} />
          ))}
        </details>
      ))}
    </>
  );
}

function bySection(keys: ConfigKey[]): Map<string, ConfigKey[]> {
  const sections = new Map<string, ConfigKey[]>();
  for (const key of keys) {
    const section = key.key.split(".").slice(0, -1).join(".");
    sections.set(section, [...(sections.get(section) ?? []), key]);
  }
  return sections;
}

const nameOf = (key: string): string | undefined => FIRST.find(([name]) => name === key)?.[1];

const titled = (section: string): string => {
  const words = section.replaceAll(".", " ").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};
