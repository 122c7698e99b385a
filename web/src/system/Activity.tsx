// How much happened in each hour of the last day, as bars.

import { useMemo } from "react";

import { useOperation } from "../daemon/queries";
import type { ActivityReport } from "../generated/operations";
import { Loaded } from "../parts/Loaded";

const HOURS = 24;

export function Activity() {
  const activity = useOperation("timeline_activity", {}, { refetchInterval: 30_000 });
  return (
    <section className="section">
      <h2>The last day</h2>
      <Loaded of={activity} lines={4}>
        {(report) => <Bars report={report} />}
      </Loaded>
    </section>
  );
}

function Bars({ report }: { report: ActivityReport }) {
  const hours = useMemo(() => perHour(report), [report]);
  const most = Math.max(1, ...hours.map((hour) => hour.count));
  const kinds = useMemo(() => perKind(report), [report]);
  return (
    <div className="activity">
      <figure>
        <svg viewBox={`0 0 ${HOURS * 20} 80`} role="img" aria-label={`Events per hour, ${most} at most`} preserveAspectRatio="none">
          {hours.map((hour, index) => {
            const height = hour.count === 0 ? 0 : Math.max(1.5, (hour.count / most) * 76);
            return (
              <rect key={hour.from} x={index * 20 + 2} y={80 - height} width={16} height={height}>
                <title>
                  {new Date(hour.from).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}: {hour.count} events
                </title>
              </rect>
            );
          })}
        </svg>
        <figcaption className="quiet">
          <span>{HOURS} h ago</span>
          <span>at most {most.toLocaleString()} events an hour</span>
          <span>now</span>
        </figcaption>
      </figure>
      <ol className="kinds">
        {kinds.slice(0, 8).map(([kind, count]) => (
          <li key={kind}>
            <span>{kind.replaceAll("_", " ")}</span>
            <span className="number">{count.toLocaleString()}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function perHour(report: ActivityReport) {
  const hour = 3_600_000;
  const last = Math.floor(Date.now() / hour) * hour;
  const counts = new Map<number, number>();
  for (const each of report.hours) {
    const from = new Date(each.hour).getTime();
    counts.set(from, (counts.get(from) ?? 0) + each.count);
  }
  return Array.from({ length: HOURS }, (_, index) => {
    const from = last - (HOURS - 1 - index) * hour;
    return { from, count: counts.get(from) ?? 0 };
  });
}

function perKind(report: ActivityReport): [string, number][] {
  const counts = new Map<string, number>();
  for (const each of report.hours) counts.set(each.kind, (counts.get(each.kind) ?? 0) + each.count);
  return [...counts].sort((a, b) => b[1] - a[1]);
}
