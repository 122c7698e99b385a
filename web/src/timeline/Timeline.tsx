// What happened, newest first and live: the story of the day, or every event by
// category and kind; and for any event the whole chain it belongs to.

import { type FormEvent, Fragment, memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";

import { useNarrowed } from "../app/address";
import { Bar } from "../app/Menu";
import { isOfProject, ProjectSwitcher, useProject } from "../app/Project";
import { nameOf } from "../board/cards";
import { call } from "../daemon/call";
import { live } from "../daemon/live";
import { useAction, useOperation } from "../daemon/queries";
import type { Category, TimelineEvent } from "../generated/operations";
import { Lines, Nothing, Trouble } from "../parts/Loaded";
import { Prose } from "../parts/Prose";
import { clock, dayOf, exactly } from "../parts/time";
import { complain } from "../parts/toasts";
import { useNames } from "./names";
import { isStory, kindOf, STORY_KINDS, tell } from "./sentences";
import { Trace } from "./Trace";
import "./timeline.css";

const CATEGORIES: Category[] = ["board", "slot", "pty", "cli_engine", "message", "task", "system", "pipeline", "knowledge"];
const PAGE = 200;
/** What is on the page at most; older events are read again when asked for. */
const MOST = 500;
/** What comes within this time is shown together: events may come by the hundred. */
const TOGETHER_MS = 100;

export function Timeline() {
  const [search, narrow] = useNarrowed();
  const category = (search.get("category") ?? "") as Category | "";
  const kind = search.get("kind") ?? "";
  const trace = search.get("trace");
  const details = search.has("details") || Boolean(category || kind);
  const set = (name: string, value: string) => narrow({ [name]: value });
  return (
    <>
      <Bar title="Timeline">
        <ProjectSwitcher />
        {details ? (
          <>
            <select
              className="field"
              aria-label="Category"
              value={category}
              onChange={(event) => set("category", event.target.value)}
            >
              <option value="">All categories</option>
              {CATEGORIES.map((each) => (
                <option key={each} value={each}>
                  {each.replaceAll("_", " ")}
                </option>
              ))}
            </select>
            <Kinds value={kind} choose={(value) => set("kind", value)} />
          </>
        ) : null}
        <button
          type="button"
          className="button"
          aria-pressed={details}
          onClick={() => narrow(details ? { details: null, category: null, kind: null } : { details: "1" })}
        >
          Show details
        </button>
        <Remark />
      </Bar>
      <div className={trace ? "view flush timeline-view traced" : "view flush timeline-view"}>
        <Events
          key={`${details}/${category}/${kind}`}
          details={details}
          category={category}
          kind={kind}
          trace={trace}
          open={(id) => set("trace", id)}
        />
        {trace ? <Trace id={trace} close={() => set("trace", "")} /> : null}
      </div>
    </>
  );
}

function Kinds({ value, choose }: { value: string; choose: (value: string) => void }) {
  const activity = useOperation("timeline_activity", {});
  const kinds = useMemo(
    () => [...new Set([...(activity.data?.hours ?? []).map((hour) => hour.kind), ...(value ? [value] : [])])].sort(),
    [activity.data, value],
  );
  return (
    <select className="field" aria-label="Kind" value={value} onChange={(event) => choose(event.target.value)}>
      <option value="">All kinds</option>
      {kinds.map((kind) => (
        <option key={kind} value={kind}>
          {kind.replaceAll("_", " ")}
        </option>
      ))}
    </select>
  );
}

function Remark() {
  const [text, setText] = useState("");
  const note = useAction("timeline_note", () => setText(""));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) note.mutate({ text: text.trim(), author: "person" }, { onError: complain });
  };
  return (
    <form onSubmit={submit}>
      <input
        className="field"
        aria-label="Add a note"
        placeholder="Add a note…"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  );
}

interface EventsProps {
  details: boolean;
  category: Category | "";
  kind: string;
  trace: string | null;
  open: (trace: string) => void;
}

function Events({ details, category, kind, trace, open }: EventsProps) {
  const { events: all, more, older, error, loading } = useEvents(details, category, kind);
  const names = useNames();
  const project = useProject();
  const events = useMemo(
    () => (project ? all.filter(({ event }) => isOfProject(project, names.repository(event))) : all),
    [all, project, names],
  );
  // The same function all along, so that a line that did not change is left alone.
  const current = useRef(open);
  current.current = open;
  const opened = useCallback((id: string) => current.current(id), []);
  if (error) {
    return (
      <div className="view" tabIndex={0}>
        <Trouble error={error} />
      </div>
    );
  }
  if (loading || (project && !names.known)) {
    return (
      <div className="view" tabIndex={0}>
        <Lines count={14} />
      </div>
    );
  }
  if (events.length === 0) {
    return (
      <div className="view" tabIndex={0}>
        <Nothing title={project ? `No such event in ${nameOf(project)}` : details ? "No such event" : "Nothing has happened yet"}>
          <p>Whatever happens from now on shows up here at once.</p>
          {more ? (
            <button type="button" className="button" onClick={older}>
              Older events
            </button>
          ) : null}
        </Nothing>
      </div>
    );
  }
  return (
    <div className="events" role="region" aria-label="Events" tabIndex={0}>
      <ol>
        {events.map((event, index) => {
          const day = dayOf(event.at);
          const before = events[index - 1];
          return (
            <Fragment key={event.seq}>
              {before && dayOf(before.at) === day ? null : <li className="event-day">{day}</li>}
              <Line
                event={event}
                about={names.about(event.event)}
                sentence={names.said(event)}
                here={event.trace_id === trace}
                open={opened}
              />
            </Fragment>
          );
        })}
      </ol>
      {more ? (
        <button type="button" className="button plain" onClick={older}>
          Older events
        </button>
      ) : null}
    </div>
  );
}

interface LineProps {
  event: TimelineEvent;
  /** In words, so that a line whose names did not change is left alone. */
  about: string | undefined;
  sentence: string;
  here: boolean;
  open: (trace: string) => void;
}

const Line = memo(function Line({ event, about, sentence, here, open }: LineProps) {
  const told = tell(event);
  return (
    <li className={here ? "event here" : "event"} data-tone={told.tone} data-event={event.event.type}>
      <time dateTime={event.at} className="mono quiet" title={exactly(event.at)}>
        {clock(event.at)}
      </time>
      <span className="event-kind mark" data-tone={told.tone}>
        {kindOf(event.event)}
      </span>
      <span className="event-about one-line" title={about}>
        {about && told.href ? <Link href={told.href}>{about}</Link> : about}
      </span>
      <span className="event-words">
        {told.href && !about ? (
          <Link href={told.href}>
            <Prose text={sentence} />
          </Link>
        ) : (
          <Prose text={sentence} />
        )}
      </span>
      <button
        type="button"
        className="button plain small"
        aria-label={`What led to event ${event.seq}`}
        onClick={() => open(event.trace_id)}
      >
        Trace
      </button>
    </li>
  );
});

/** A page of stored events, and every newer one as it happens. */
function useEvents(details: boolean, category: Category | "", kind: string) {
  const [events, setEvents] = useState<TimelineEvent[]>([]);
  const [more, setMore] = useState(false);
  const [loading, setLoading] = useState(true);
  const [error, setError] = useState<Error>();
  // How far back was read; the story leaves events of its kinds out.
  const reached = useRef<number>(undefined);
  const filter = useMemo(
    () => ({
      ...(category ? { categories: [category] } : {}),
      ...(kind ? { kinds: [kind] } : details ? {} : { kinds: STORY_KINDS }),
    }),
    [details, category, kind],
  );

  useEffect(() => {
    let gone = false;
    const fits = (event: TimelineEvent) => (details ? !kind || event.event.type === kind : isStory(event));
    const load = () =>
      call("timeline_query", { ...filter, limit: PAGE })
        .then((page) => {
          if (gone) return;
          setEvents((before) => merge(before, page.events.filter(fits)));
          setMore(page.more);
          setLoading(false);
          reached.current = page.events.at(-1)?.seq ?? undefined;
          setError(undefined);
        })
        .catch((failed: Error) => {
          if (!gone) setError(failed);
        });
    void load();
    let waiting: TimelineEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = async () => {
      const news = waiting;
      waiting = [];
      // The category of a kind is the daemon's to say: with a filter on it the
      // newest page is read again.
      if (category) await load();
      else setEvents((before) => merge(before, news));
      timer = undefined;
      if (!gone && waiting.length > 0) timer = setTimeout(show, TOGETHER_MS);
    };
    const unlisten = live.listen({
      events: (news) => {
        const fit = news.filter(fits);
        // Of more than are ever shown, the newest.
        waiting = [...waiting, ...fit].slice(-MOST);
        if (waiting.length > 0) timer ??= setTimeout(show, TOGETHER_MS);
      },
      reset: () => {
        waiting = [];
        setEvents([]);
        void load();
      },
    });
    return () => {
      gone = true;
      clearTimeout(timer);
      unlisten();
    };
  }, [filter, details, category, kind]);

  const older = () => {
    const last = reached.current;
    if (!last) return;
    call("timeline_query", { ...filter, before: last, limit: PAGE })
      .then((page) => {
        const shown = details ? page.events : page.events.filter(isStory);
        setEvents((before) => merge(before, shown, MOST * 5));
        setMore(page.more);
        reached.current = page.events.at(-1)?.seq ?? last;
      })
      .catch(complain);
  };
  return { events, more, older, error: events.length === 0 ? error : undefined, loading };
}

/** Newest first, each once. */
function merge(before: TimelineEvent[], news: TimelineEvent[], most = MOST): TimelineEvent[] {
  const bySeq = new Map([...before, ...news].map((event) => [event.seq ?? 0, event]));
  return [...bySeq.values()].sort((a, b) => (b.seq ?? 0) - (a.seq ?? 0)).slice(0, most);
}
