// Entries found by meaning and by words, each with what every stage of the search
// gave it; without a question, those that were verified last.

import { Link } from "wouter";

import { useNarrowed } from "../app/address";
import { useRemembered } from "../app/remember";
import { SearchBox } from "../app/SearchBox";
import { useOperation } from "../daemon/queries";
import type { EntryCategory, KbHit, KbListed, KbStatsReport } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { Marked } from "../parts/Marked";
import { Pages } from "../parts/Pages";
import { Ago } from "../parts/time";
import { Scores } from "./Scores";
import { CATEGORIES, Category } from "./category";

const PAGE = 20;

export function Find() {
  const [search, narrow] = useNarrowed();
  const query = search.get("q") ?? "";
  const category = (search.get("category") ?? "") as EntryCategory | "";
  const explore = search.has("explore");
  const from = Number(search.get("from") ?? 0) || 0;
  const archived = search.has("archived");
  const page = { from, go: (to: number) => narrow({ from: to > 0 ? String(to) : null }) };
  return (
    <div className="stack knowledge">
      <SearchBox
        query={query}
        ask={(text) => narrow({ q: text })}
        label="Search knowledge"
        placeholder={'Words, an identifier, or a "phrase"'}
      >
        <select
          className="field"
          aria-label="Category"
          value={category}
          onChange={(event) => narrow({ category: event.target.value })}
        >
          <option value="">Every category</option>
          {CATEGORIES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        {query ? (
          <button
            type="button"
            className="button"
            aria-pressed={explore}
            title="Hits that are unlike each other rather than the nearest ones"
            onClick={() => narrow({ explore: explore ? null : "yes" })}
          >
            Explore
          </button>
        ) : (
          <button
            type="button"
            className="button"
            aria-pressed={archived}
            onClick={() => narrow({ archived: archived ? null : "yes" })}
          >
            Archived
          </button>
        )}
      </SearchBox>
      {query ? (
        <Hits query={query} category={category} explore={explore} {...page} />
      ) : (
        <Latest category={category} archived={archived} {...page} />
      )}
    </div>
  );
}

interface Paged {
  from: number;
  go: (from: number) => void;
}

function Hits({ query, category, explore, from, go }: { query: string; category: EntryCategory | ""; explore: boolean } & Paged) {
  const [why, setWhy] = useRemembered("knowledge.why", false);
  const found = useOperation(
    "kb_search",
    { query, explore, limit: PAGE, offset: from, ...(category ? { categories: [category] } : {}) },
    { placeholder: "keep" },
  );
  return (
    <Loaded of={found} lines={12}>
      {({ hits, more, notice }) => (
        <>
          {notice ? <p className="notice">{sentence(notice)}</p> : null}
          {hits.length === 0 ? (
            <Nothing title="Nothing found">
              <p>Other words may find it: names of files and functions are found to the letter.</p>
            </Nothing>
          ) : (
            <section className="section">
              <h2>
                Results
                <button type="button" className="button plain small" aria-pressed={why} onClick={() => setWhy(!why)}>
                  {why ? "Hide scores" : "Show scores"}
                </button>
              </h2>
              <ol className="hits">
                {hits.map((hit, index) => (
                  <li key={hit.id}>
                    <Hit hit={hit} place={from + index + 1} why={why} />
                  </li>
                ))}
              </ol>
            </section>
          )}
          <Pages from={from} shown={hits.length} page={PAGE} more={more} go={go} />
        </>
      )}
    </Loaded>
  );
}

function Hit({ hit, place, why }: { hit: KbHit; place: number; why: boolean }) {
  return (
    <article className="hit">
      <p className="hit-head">
        <span className="number">{place}</span>
        <Link href={`/knowledge/entry/${hit.id}`}>{hit.summary}</Link>
      </p>
      {hit.snippet && hit.snippet !== hit.summary ? (
        <p className="hit-words">
          <Marked text={hit.snippet} ranges={hit.highlights} />
        </p>
      ) : null}
      <p className="hit-foot">
        <Category category={hit.category} />
        {hit.superseded_by ? (
          <Link className="tag" data-tone="wait" href={`/knowledge/entry/${hit.superseded_by}`}>
            superseded
          </Link>
        ) : null}
        <span className="quiet">
          from {hit.source}, {Math.round(hit.confidence * 100)} % sure, verified <Ago at={hit.verified_at} />
        </span>
      </p>
      {why ? <Scores scores={hit.scores} /> : null}
    </article>
  );
}

function Latest({ category, archived, from, go }: { category: EntryCategory | ""; archived: boolean } & Paged) {
  const stats = useOperation("kb_stats", {});
  const list = useOperation(
    "kb_list",
    { archived, limit: PAGE, offset: from, ...(category ? { category } : {}) },
    { placeholder: "keep" },
  );
  return (
    <Loaded of={list} lines={10}>
      {({ entries, more }) => (
        <>
          {stats.data ? <Counts stats={stats.data} /> : null}
          {entries.length === 0 ? (
            <NothingKnown archived={archived} filtered={Boolean(category)} />
          ) : (
            <section className="section">
              <h2>{archived ? "Archived" : "Recently verified"}</h2>
              <ul className="entries">
                {entries.map((entry) => (
                  <li key={entry.id}>
                    <Line entry={entry} />
                  </li>
                ))}
              </ul>
            </section>
          )}
          <Pages from={from} shown={entries.length} page={PAGE} more={more} go={go} />
        </>
      )}
    </Loaded>
  );
}

function Line({ entry }: { entry: KbListed }) {
  return (
    <Link href={`/knowledge/entry/${entry.id}`} className="entry-line">
      <span className="entry-words">{entry.summary}</span>
      <Category category={entry.category} />
      <span className="quiet entry-source one-line">{entry.archived_why ?? entry.source}</span>
      <Ago at={entry.verified_at} />
    </Link>
  );
}

function Counts({ stats }: { stats: KbStatsReport }) {
  const { embedding } = stats;
  const rest = stats.entries - embedding.embedded;
  return (
    <p className="quiet">
      {stats.entries} {stats.entries === 1 ? "entry" : "entries"} in use, {stats.archived} archived.{" "}
      {embedding.notice
        ? `Found by words alone: ${embedding.notice}.`
        : embedding.serving
          ? rest > 0
            ? `${rest} have no vector yet.`
            : "Found by words and by meaning."
          : null}
    </p>
  );
}

function NothingKnown({ archived, filtered }: { archived: boolean; filtered: boolean }) {
  if (filtered) return <Nothing title="Nothing of that category" />;
  if (archived) return <Nothing title="Nothing is archived" />;
  return (
    <Nothing title="No knowledge yet">
      <p>
        What agents and people learn is kept here with where it came from, and given to those who need it. Add an
        entry with <kbd>n</kbd>, or import notes from files:
      </p>
      <pre className="output">mission kb import docs/</pre>
    </Nothing>
  );
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
