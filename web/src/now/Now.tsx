// The first view: who needs you, who works on what, and what was finished since
// you looked. One line each, answered in place and by keys alone.

import { useCallback, useDeferredValue, useEffect, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";

import { Bar } from "../app/Menu";
import { ProjectSwitcher, useProject } from "../app/Project";
import { useShortcuts } from "../app/shortcuts";
import { nameOf } from "../board/cards";
import { call } from "../daemon/call";
import { useAction, useOperation } from "../daemon/queries";
import type { OverviewReport } from "../generated/operations";
import { Lines, Loaded, Nothing } from "../parts/Loaded";
import { Ago } from "../parts/time";
import { complain } from "../parts/toasts";
import { FirstSteps } from "../start/FirstSteps";
import { AutopilotSwitch } from "./AutopilotSwitch";
import { addressOf, type Entries, type Entry, NEEDS, useEntries, useOverview } from "./overview";
import { Row } from "./Row";
import { Today, Waiting } from "./Today";
import "./now.css";

/** So many lines of a group are drawn wherever they are; more only where one looks. */
const ALWAYS = 40;

export function Now() {
  const project = useProject();
  const overview = useOverview(project);
  // Hundreds of lines are drawn between frames, not in one of them.
  const newest = useEntries(overview.data);
  const entries = useDeferredValue(newest);
  // Who looks at one project has not seen what was finished in the others.
  useSeenOnLeaving(project ? undefined : overview.data);
  return (
    <>
      <Bar title="Now">
        <ProjectSwitcher forgets={{ at: null }} />
        {overview.data ? (
          <>
            <Waiting report={overview.data} />
            <Today report={overview.data} />
            <AutopilotSwitch
              mode={overview.data.autopilot}
              agents={overview.data.agents}
              most={overview.data.max_agents}
            />
          </>
        ) : null}
      </Bar>
      <div className="view now-view" tabIndex={0}>
        <Loaded of={overview} lines={10}>
          {(report) => {
            if (newest.all.length === 0) return <NothingGoesOn report={report} project={project} />;
            return entries.all.length === 0 ? <Lines count={10} /> : <Groups report={report} entries={entries} project={project} />;
          }}
        </Loaded>
      </div>
    </>
  );
}

/** Who goes elsewhere has seen what stood here. */
function useSeenOnLeaving(report: OverviewReport | undefined): void {
  const last = useRef(report);
  last.current = report;
  useEffect(
    () => () => {
      const { at, finished } = last.current ?? {};
      if (at && finished && finished.length > 0) void call("overview_seen", { until: at }).catch(() => {});
    },
    [],
  );
}

function Groups({ report, entries, project }: { report: OverviewReport; entries: Entries; project: string }) {
  const [search, setSearch] = useSearchParams();
  const [, navigate] = useLocation();
  const wanted = search.get("at");
  const [open, setOpen] = useState(wanted);
  const list = useRef<HTMLDivElement>(null);
  const { all } = entries;
  // Who steps from line to line opens none of them.
  const stepped = useRef(wanted);
  // When the selected one is gone, the one that took its place is selected.
  const last = useRef(0);
  const found = wanted ? all.findIndex((entry) => entry.key === wanted) : -1;
  const selected = found >= 0 ? found : Math.min(last.current, all.length - 1);
  last.current = selected;
  const here = all[selected];

  const select = (index: number) => {
    const entry = all[Math.max(0, Math.min(index, all.length - 1))];
    if (!entry) return;
    stepped.current = entry.key;
    setSearch({ ...(project ? { repo: project } : {}), at: entry.key }, { replace: true });
  };
  // The same function all along, so that a line that did not change is left alone.
  const toggle = useCallback((key: string) => setOpen((before) => (before === key ? null : key)), []);
  const go = () => {
    const address = here?.kind === "line" ? addressOf(here.line) : here ? "/system/incidents" : undefined;
    if (address) navigate(address);
  };
  useShortcuts({
    j: () => select(selected + 1),
    k: () => select(selected - 1),
    ArrowDown: () => select(selected + 1),
    ArrowUp: () => select(selected - 1),
    Enter: go,
    o: () => here && toggle(here.key),
  });
  // A link to one of them shows all of it, also one that is followed from here.
  useEffect(() => {
    if (wanted && wanted !== stepped.current) setOpen(wanted);
    stepped.current = wanted;
    if (wanted) list.current?.querySelector(`[data-row="${CSS.escape(wanted)}"]`)?.scrollIntoView({ block: "nearest" });
  }, [wanted]);

  const rows = (part: Entry[]) => (
    <ol className="now-rows">
      {part.map((entry, index) => (
        <Row
          key={`${entry.group} ${entry.key}`}
          entry={entry}
          selected={entry === here}
          open={entry.key === open}
          toggle={toggle}
          far={entry.group !== "needs" && index >= ALWAYS}
        />
      ))}
    </ol>
  );
  return (
    <div ref={list} className="now">
      <section className="now-group" aria-labelledby="now-needs" data-group="needs">
        <h2 id="now-needs">
          Needs you <span className="quiet">{entries.needs.length}</span>
        </h2>
        {entries.needs.length === 0 ? <p className="now-none">Nothing waits for you.</p> : null}
        {NEEDS.map(({ kinds, title }) => {
          const part = entries.needs.filter((entry) => kinds.includes(entry.kind === "incident" ? "incident" : entry.line.kind));
          if (part.length === 0) return null;
          return (
            <section key={title} aria-label={title}>
              <h3>{title}</h3>
              {rows(part)}
            </section>
          );
        })}
      </section>
      <section className="now-group" aria-labelledby="now-working" data-group="working">
        <h2 id="now-working">
          Working <span className="quiet">{entries.working.length}</span>
        </h2>
        {entries.working.length === 0 ? <NobodyWorks report={report} /> : rows(entries.working)}
      </section>
      {entries.idle.length > 0 ? (
        <section className="now-group" aria-labelledby="now-idle" data-group="idle">
          <h2 id="now-idle">
            Idle <span className="quiet">{entries.idle.length}</span>
          </h2>
          {rows(entries.idle)}
        </section>
      ) : null}
      {entries.finished.length > 0 ? (
        <section className="now-group" aria-labelledby="now-finished" data-group="finished">
          <h2 id="now-finished">
            Finished since you looked <span className="quiet">{entries.finished.length}</span>
            {project ? null : <Seen report={report} />}
          </h2>
          {rows(entries.finished)}
        </section>
      ) : null}
      {entries.terminals.length > 0 ? (
        <section className="now-group" aria-labelledby="now-terminals" data-group="terminals">
          <h2 id="now-terminals">
            Terminals <span className="quiet">{entries.terminals.length}</span>
          </h2>
          {rows(entries.terminals)}
        </section>
      ) : null}
      {report.left_out > 0 ? (
        <p className="quiet">
          {report.left_out} more are not shown here. <Link href="/executions">All runs</Link>
        </p>
      ) : null}
    </div>
  );
}

function Seen({ report }: { report: OverviewReport }) {
  const seen = useAction("overview_seen");
  return (
    <span className="now-seen">
      {report.seen_at ? (
        <span className="quiet now-since">
          you looked <Ago at={report.seen_at} />
        </span>
      ) : null}
      <button
        type="button"
        className="button small plain"
        disabled={seen.isPending}
        onClick={() => seen.mutate({ until: report.at }, { onError: complain })}
      >
        Mark as seen
      </button>
    </span>
  );
}

function NobodyWorks({ report }: { report: OverviewReport }) {
  const why =
    report.autopilot === "running"
      ? report.ready > 0
        ? "The autopilot is about to start the next task."
        : "No task is ready to start."
      : report.ready > 0
        ? `${report.ready} ${report.ready === 1 ? "task waits" : "tasks wait"} for an agent. Switch the autopilot on to start.`
        : "The autopilot is off.";
  return (
    <p className="now-none">
      No agent works right now. {why} <Link href="/board">Open the board</Link>
    </p>
  );
}

function NothingGoesOn({ report, project }: { report: OverviewReport; project: string }) {
  const [, navigate] = useLocation();
  const tasks = useOperation("board_list", { offset: 0, limit: 1 });
  if (tasks.data?.total === 0) return <FirstSteps newTask={() => navigate("/board?new=task")} />;
  return (
    <Nothing title={`No agent works${project ? ` in ${nameOf(project)}` : ""}, and nothing waits for you`}>
      <p>Agents show up here while they work: what each is doing, what it asks, and what it finished.</p>
      <NobodyWorks report={report} />
    </Nothing>
  );
}
