// One entry: what it says, where that came from and how far it is believed, what
// it said before, and the entries related to it.

import { useEffect, useState } from "react";
import { Link, useParams } from "wouter";

import { Bar } from "../app/Menu";
import { useShortcuts } from "../app/shortcuts";
import { useAction, useOperation } from "../daemon/queries";
import type { AuthorTier, EdgeKind, KbEntry, KbEntryView, KbRevision } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { Ago } from "../parts/time";
import { complain, say } from "../parts/toasts";
import { Category } from "./category";
import { came } from "./came";
import { Remember } from "./Remember";
import "./knowledge.css";

export function EntryPage() {
  const { entry: id = "" } = useParams<{ entry: string }>();
  const [editing, setEditing] = useState(false);
  const view = useEntry(id);
  const entry = view.data?.entry;
  useShortcuts({ e: () => entry && setEditing(true) });
  return (
    <>
      <Bar
        title={
          <>
            <Link href="/knowledge">Knowledge</Link> <span className="quiet">/</span>{" "}
            <span className="mono entry-key">{entry?.key ?? "…"}</span>
          </>
        }
      >
        {entry ? <Actions entry={entry} edit={() => setEditing(true)} /> : null}
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={view}>{(whole) => <Entry view={whole} />}</Loaded>
      </div>
      {editing && entry ? <Remember entry={entry} close={() => setEditing(false)} /> : null}
    </>
  );
}

/**
 * An entry, read again when it was said anew. That counts as use and an event does
 * not say whose revision it tells of, so it is looked for in the list first, where
 * what was said last is at the top.
 */
function useEntry(id: string) {
  const view = useOperation("kb_get", { entry: id });
  const latest = useOperation("kb_list", { limit: 100 });
  const shown = view.data?.entry;
  const said = latest.data?.entries.find((entry) => entry.id === shown?.id)?.verified_at;
  const isOld = shown !== undefined && said !== undefined && said > shown.verified_at;
  const { refetch, dataUpdatedAt } = view;
  useEffect(() => {
    if (isOld) void refetch({ cancelRefetch: false });
  }, [isOld, refetch, dataUpdatedAt]);
  return view;
}

function Actions({ entry, edit }: { entry: KbEntry; edit: () => void }) {
  const forget = useAction("kb_forget", () => say("It is archived and not found any more. It can be restored.", "rest"));
  const back = useAction("kb_remember", (result) => say(came(result).words));
  if (entry.archived_at) {
    const { summary, detail, key, category, labels, scope, source } = entry;
    return (
      <button
        type="button"
        className="button"
        disabled={back.isPending}
        onClick={() =>
          back.mutate(
            { summary, detail, key, category, labels, source, tier: "person", ...(scope ? { scope } : {}) },
            { onError: complain },
          )
        }
      >
        Restore
      </button>
    );
  }
  return (
    <>
      <button type="button" className="button" onClick={edit}>
        Edit <kbd>e</kbd>
      </button>
      <button
        type="button"
        className="button plain danger"
        disabled={forget.isPending}
        onClick={() => forget.mutate({ entry: entry.id }, { onError: complain })}
      >
        Forget
      </button>
    </>
  );
}

function Entry({ view: { entry, history, edges, others } }: { view: KbEntryView }) {
  const names = new Map(others.map((other) => [other.id, other]));
  return (
    <article className="task">
      <header className="task-head">
        <h2 className="task-title">{entry.summary}</h2>
        <p className="hit-foot">
          <Category category={entry.category} />
          {entry.labels.map((label) => (
            <span key={label} className="tag">
              {label}
            </span>
          ))}
          {entry.archived_at ? (
            <span className="tag" data-tone="wait">
              archived: {entry.archived_why}
            </span>
          ) : null}
        </p>
      </header>
      <div className="task-body">
        <div className="stack">
          {entry.detail ? <p className="prose">{entry.detail}</p> : null}
          <section className="section">
            <h2>Related entries</h2>
            {edges.length === 0 ? <p className="quiet">Nothing repeats, refines or contradicts it.</p> : null}
            <ul className="edges">
              {edges.map((edge) => {
                const out = edge.from === entry.id;
                const other = names.get(out ? edge.to : edge.from);
                return (
                  <li key={`${edge.from}-${edge.to}-${edge.kind}`}>
                    <span className="tag" data-tone={edge.kind === "contradicts" && !edge.ended_at ? "wait" : undefined}>
                      {out ? OUT[edge.kind] : IN[edge.kind]}
                    </span>
                    <span>
                      <Link href={`/knowledge/entry/${out ? edge.to : edge.from}`}>
                        {other?.summary ?? "a deleted entry"}
                      </Link>
                      {other?.archived ? <span className="quiet"> (archived)</span> : null}
                      <br />
                      <span className="quiet">
                        {edge.reason}, <Ago at={edge.at} />
                        {edge.ended_at ? (
                          <>
                            ; ended <Ago at={edge.ended_at} />
                          </>
                        ) : null}
                      </span>
                    </span>
                  </li>
                );
              })}
            </ul>
          </section>
          <History history={history} />
        </div>
        <Provenance entry={entry} />
      </div>
    </article>
  );
}

const OUT: Record<EdgeKind, string> = {
  prerequisite: "requires",
  supersedes: "supersedes",
  contradicts: "contradicts",
  refines: "refines",
  duplicate: "duplicates",
};

const IN: Record<EdgeKind, string> = {
  prerequisite: "required by",
  supersedes: "superseded by",
  contradicts: "contradicted by",
  refines: "refined by",
  duplicate: "duplicated by",
};

const TRUST: Record<AuthorTier, string> = {
  machine: "a program: trusted least",
  agent: "an agent",
  person: "a person: trusted most",
};

function Provenance({ entry }: { entry: KbEntry }) {
  return (
    <aside className="task-side" aria-label="Where it comes from">
      <Share name="Trust" share={entry.trust} says="how far its author is trusted" />
      <Share name="Confidence" share={entry.confidence} says="what the entries around it leave of that" />
      <Share name="Utility" share={entry.utility} says="grows when it is fetched, cited, led to success" />
      <dl className="facts">
        <dt>Author</dt>
        <dd>
          {entry.author === entry.tier ? "" : `${entry.author}, `}
          {TRUST[entry.tier]}
        </dd>
        <dt>Source</dt>
        <dd>{entry.source}</dd>
        {entry.conversation ? (
          <>
            <dt>Conversation</dt>
            <dd className="mono">
              {entry.conversation}
              {typeof entry.turn === "number" ? `, turn ${entry.turn}` : ""}
            </dd>
          </>
        ) : null}
        <dt>Project</dt>
        <dd>{entry.scope ?? "all"}</dd>
        <dt>Created</dt>
        <dd>
          <Ago at={entry.created_at} />
        </dd>
        <dt>Last verified</dt>
        <dd>
          <Ago at={entry.verified_at} />
        </dd>
        <dt>Last used</dt>
        <dd>{entry.used_at ? <Ago at={entry.used_at} /> : "never"}</dd>
        <dt>Key</dt>
        <dd className="mono">{entry.key}</dd>
      </dl>
    </aside>
  );
}

function Share({ name, share, says }: { name: string; share: number; says: string }) {
  return (
    <div className="belief" title={says}>
      <span className="quiet">{name}</span>
      <span>{Math.round(share * 100)} %</span>
      <span className="score" aria-hidden="true">
        <span style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }} />
      </span>
    </div>
  );
}

function History({ history }: { history: KbRevision[] }) {
  const latest = history.toReversed();
  return (
    <section className="section">
      <h2>
        Revisions <span className="quiet">{history.length}</span>
      </h2>
      <ol className="revisions">
        {latest.map((revision, index) => (
          <li key={revision.revision}>
            <details open={index === 0 && history.length > 1}>
              <summary>
                <span className="number">{revision.revision}</span>
                <span className="one-line">{revision.summary}</span>
                <span className="quiet revision-by">
                  {revision.author}, <Ago at={revision.at} />
                </span>
              </summary>
              <Changes revision={revision} before={latest[index + 1]} />
            </details>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What a revision says otherwise than the one before it. */
function Changes({ revision, before }: { revision: KbRevision; before: KbRevision | undefined }) {
  if (!before) {
    return <p className="prose revision-words">{revision.detail || "No details."}</p>;
  }
  const changed = (["summary", "detail", "category"] as const).filter((part) => before[part] !== revision[part]);
  if (changed.length === 0) return <p className="quiet revision-words">The same words, verified again.</p>;
  return (
    <div className="revision-words">
      {changed.map((part) => (
        <p key={part} className="prose">
          <span className="visually-hidden">{part} before: </span>
          {before[part] ? <del>{before[part]}</del> : <em className="quiet">nothing</em>}
          {"\n"}
          <span className="visually-hidden">{part} now: </span>
          {revision[part] ? <ins>{revision[part]}</ins> : <em className="quiet">nothing in its place</em>}
        </p>
      ))}
    </div>
  );
}
