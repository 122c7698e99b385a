import { useOperation } from "../daemon/queries";
import { CommandButton } from "../parts/command";
import { Loaded, Nothing } from "../parts/Loaded";
import { Mark } from "../parts/marks";
import { Prose } from "../parts/Prose";
import { Ago } from "../parts/time";
import { resolveIncident } from "./incidentCommands";

export function Incidents() {
  const incidents = useOperation("incident_list", {});
  return (
    <Loaded of={incidents}>
      {({ incidents: all }) =>
        all.length === 0 ? (
          <Nothing title="Nothing went wrong">
            <p>What the daemon could not deal with by itself is kept here, each with what to do about it.</p>
          </Nothing>
        ) : (
          <div className="scroll-x">
            <table className="table paragraphs system">
              <thead>
                <tr>
                  <th>State</th>
                  <th>What</th>
                  <th>About</th>
                  <th className="number">Times</th>
                  <th>Last</th>
                  <th>
                    <span className="visually-hidden">Resolve</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {all.map((incident) => (
                  <tr key={incident.id}>
                    <td>
                      <Mark
                        tone={incident.state === "resolved" ? "rest" : incident.severity === "info" ? "wait" : "bad"}
                        word={incident.state}
                      />
                    </td>
                    <td>
                      <Prose text={incident.summary} />
                    </td>
                    <td className="mono quiet">{incident.subject}</td>
                    <td className="number">{incident.occurrences}</td>
                    <td>
                      <Ago at={incident.last_seen_at} />
                    </td>
                    <td>
                      {incident.state === "resolved" ? null : (
                        <CommandButton command={resolveIncident(incident)} small />
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Loaded>
  );
}
