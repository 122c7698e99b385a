import { useOperation } from "../daemon/queries";
import type { StatsReport, StatusReport } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { Mark } from "../parts/marks";
import { dayOf, duration } from "../parts/time";
import { Activity } from "./Activity";
import { Plots } from "./Plots";

/** Numbers that no event announces are read this often while they are looked at. */
const LOOK_MS = 5000;

export function Health() {
  const status = useOperation("daemon_status", {}, { refetchInterval: LOOK_MS });
  const stats = useOperation("daemon_stats", {}, { refetchInterval: LOOK_MS });
  return (
    <div className="stack system">
      <Loaded of={status}>{(report) => <Status report={report} />}</Loaded>
      {/* Each part when those above it have their height, so that nothing is pushed down. */}
      {status.isPending ? null : (
        <Loaded of={stats} lines={4}>
          {(report) => <Numbers report={report} />}
        </Loaded>
      )}
      {status.isPending || stats.isPending ? null : (
        <>
          <Plots />
          <Activity />
        </>
      )}
    </div>
  );
}

function Status({ report }: { report: StatusReport }) {
  return (
    <section className="section">
      <h2>
        <Mark tone={report.state === "running" ? "good" : "wait"} word={report.state} />
        <span className="quiet">
          version {report.version}, for {duration(report.uptime_secs * 1000)}
        </span>
      </h2>
      <dl className="facts">
        <dt>Machine</dt>
        <dd>
          {report.host}, process {report.pid}
        </dd>
        {report.availability && (
          <>
            <dt>Uptime</dt>
            <dd>
              {report.availability.up_percent} % since {dayOf(report.availability.since)}, {report.availability.crashes}{" "}
              {report.availability.crashes === 1 ? "crash" : "crashes"}
            </dd>
          </>
        )}
        <dt>Database</dt>
        <dd>
          {report.database.engine} <span className="mono quiet">{report.database.url}</span>
        </dd>
        <dt>Socket</dt>
        <dd className="mono">{report.socket}</dd>
        <dt>Page</dt>
        <dd className="mono">{report.http ?? "switched off"}</dd>
        <dt>Log</dt>
        <dd className="mono">{report.log_file}</dd>
        <dt>Timeline</dt>
        <dd>{report.database.timeline_head.toLocaleString()} events</dd>
      </dl>
      <h3 className="after">Followers of the timeline</h3>
      <table className="table">
        <thead>
          <tr>
            <th>Name</th>
            <th className="number">At</th>
            <th className="number">Behind</th>
            <th>State</th>
          </tr>
        </thead>
        <tbody>
          {report.consumers.map((consumer) => (
            <tr key={consumer.name}>
              <td>{consumer.name}</td>
              <td className="number">{consumer.cursor.toLocaleString()}</td>
              <td className="number">{consumer.behind.toLocaleString()}</td>
              <td>
                {consumer.failures > 0 ? (
                  <Mark tone="bad" word={`failed ${consumer.failures} times in a row`} />
                ) : (
                  <Mark tone="good" word="well" />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Those that nobody has started yet are neither well nor ill. */
function servers({ servers_healthy: well, servers_connected: connected }: StatsReport): string {
  return connected === 0 ? "none started" : `${well} of ${connected} well`;
}

function Numbers({ report }: { report: StatsReport }) {
  const numbers: [string, string][] = [
    ["Requests", report.requests_total.toLocaleString()],
    ["Failed", report.requests_failed.toLocaleString()],
    ["Under way", report.requests_in_flight.toLocaleString()],
    ["Mean time", `${report.avg_response_time_ms.toFixed(2)} ms`],
    ["Connections", report.active_connections.toLocaleString()],
    ["Refused", report.connections_refused.toLocaleString()],
    ["Memory", `${report.memory_usage_mb.toFixed(0)} MB`],
    ["Events stored", report.events_stored.toLocaleString()],
    ["Events passed on", report.events_ephemeral.toLocaleString()],
    ["MCP servers", servers(report)],
  ];
  return (
    <section className="section">
      <h2>Since it started</h2>
      <dl className="numbers">
        {numbers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
