// The daemon's numbers over time, as small lines.

import { type ReactNode, useMemo } from "react";

import { useRemembered } from "../app/remember";
import { useOperation } from "../daemon/queries";
import type { StatsHistoryReport } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { minuteOf } from "../parts/time";

const SPANS = { "1 h": 1, "6 h": 6, "1 d": 24, "14 d": 14 * 24 };
type Span = keyof typeof SPANS;
/** A later beginning than the one asked for would give another question each second. */
const STEP_MS = 60_000;

interface Plot {
  name: string;
  /** The series it adds up, or one. */
  of: (name: string) => boolean;
  unit: string;
}

const PLOTS: Plot[] = [
  { name: "Calls", of: (name) => name === "calls", unit: "a minute" },
  { name: "Calls that failed", of: (name) => name === "calls_failed", unit: "a minute" },
  { name: "Time of a call", of: (name) => name === "response_ms", unit: "ms" },
  { name: "Events stored", of: (name) => name === "events_stored", unit: "a minute" },
  { name: "Open slots", of: (name) => name === "slots", unit: "" },
  {
    name: "Slots at work",
    of: (name) => ["slots.thinking", "slots.responding", "slots.tool_running"].includes(name),
    unit: "",
  },
  { name: "Runs", of: (name) => name === "runs", unit: "" },
  { name: "Tasks open", of: (name) => name === "tasks.open", unit: "" },
  { name: "Tasks running", of: (name) => name === "tasks.running", unit: "" },
  { name: "Tasks done", of: (name) => name === "tasks.done", unit: "" },
  { name: "Tasks blocked or failed", of: (name) => name === "tasks.blocked" || name === "tasks.failed", unit: "" },
  { name: "Questions", of: (name) => name === "questions", unit: "" },
  { name: "Memory", of: (name) => name === "memory_mb", unit: "MB" },
  { name: "Database", of: (name) => name === "database_mb", unit: "MB" },
];

export function Plots() {
  const [span, setSpan] = useRemembered<Span>("plots.span", "1 h");
  const hours = SPANS[span] ?? 1;
  const from = Math.floor(Date.now() / STEP_MS) * STEP_MS - hours * 3_600_000;
  const since = new Date(from).toISOString();
  const history = useOperation(
    "stats_history",
    { since, points: 160 },
    { refetchInterval: 10_000, placeholder: "keep", fresh: true },
  );
  return (
    <section className="section">
      <h2>
        Over time{" "}
        {history.data?.at[0] ? <span className="quiet">since {minuteOf(history.data.at[0])}</span> : null}
        <select
          className="field plot-span"
          aria-label="How far back"
          value={span}
          onChange={(event) => setSpan(event.target.value as Span)}
        >
          {Object.keys(SPANS).map((each) => (
            <option key={each} value={each}>
              the last {each}
            </option>
          ))}
        </select>
      </h2>
      <Loaded of={history} lines={8}>
        {(report) =>
          report.at.length === 0 ? (
            <Nothing title="No numbers yet">
              <p>They are taken every {report.every_secs} s, from the start of the daemon on.</p>
            </Nothing>
          ) : (
            <div className="plots">
              {PLOTS.map((plot) => (
                <Line key={plot.name} plot={plot} report={report} from={Math.max(from, new Date(report.at[0] ?? 0).getTime())} />
              ))}
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

interface Point {
  at: number;
  value: number;
}

function Line({ plot, report, from }: { plot: Plot; report: StatsHistoryReport; from: number }) {
  const points = useMemo(() => pointsOf(plot, report), [plot, report]);
  const values = points.map((point) => point.value);
  const last = values.at(-1);
  const most = Math.max(...values, 0);
  const to = Math.max(Date.now(), points.at(-1)?.at ?? 0);
  const x = (at: number) => (Math.max(0, at - from) / (to - from)) * 200;
  const y = (value: number) => 48 - (most === 0 ? 0 : (value / most) * 44);
  const line = points.map((point) => `${x(point.at).toFixed(1)},${y(point.value).toFixed(1)}`);
  const first = points[0];
  const now: ReactNode = last === undefined ? "not known" : `${short(last)} ${plot.unit}`;
  return (
    <figure className="plot">
      <figcaption>
        <span>{plot.name}</span>
        <strong>{now}</strong>
        <span className="quiet plot-most">at most {short(most)}</span>
      </figcaption>
      <svg
        viewBox="0 0 200 50"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${plot.name}: ${last === undefined ? "not known" : short(last)} now, at most ${short(most)}`}
      >
        {first && points.length > 1 ? (
          <polygon points={`${x(first.at)},50 ${line.join(" ")} ${x(points.at(-1)?.at ?? 0)},50`} />
        ) : null}
        {points.length > 1 ? (
          <polyline points={line.join(" ")} />
        ) : first ? (
          <polyline points={`${x(first.at) - 1},${y(first.value)} ${x(first.at) + 1},${y(first.value)}`} />
        ) : null}
      </svg>
    </figure>
  );
}

/** What is known of a plot at each moment; series of one plot are added up. */
function pointsOf(plot: Plot, report: StatsHistoryReport): Point[] {
  const series = report.series.filter((each) => plot.of(each.name));
  return report.at.flatMap((at, index) => {
    const values = series.map((each) => each.values[index]).filter((value) => value != null);
    // A level that nobody told of was nothing then; a rate was not known.
    if (values.length === 0 && plot.unit !== "" && plot.unit !== "MB") return [];
    return [{ at: new Date(at).getTime(), value: values.reduce((sum, value) => sum + value, 0) }];
  });
}

const short = (value: number): string =>
  value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 });
