// What was said, found by its words, each hit with the words marked and a way to
// its place in the conversation.

import { Link } from "wouter";

import { useOperation } from "../daemon/queries";
import type { ConversationHit } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { Pages } from "../parts/Pages";
import { Ago } from "../parts/time";
import { folderName, type Within } from "./Conversations";
import { type Part, readable } from "./readable";

const PAGE = 20;

interface Props {
  query: string;
  within: Within;
  from: number;
  go: (from: number) => void;
}

export function Found({ query, within, from, go }: Props) {
  const found = useOperation(
    "conversation_search",
    { query, ...within, limit: PAGE, offset: from },
    { placeholder: "keep" },
  );
  return (
    <Loaded of={found} lines={12}>
      {({ hits, more, searched, searched_since }) => (
        <>
          {searched_since ? (
            <p className="notice">
              What was said before {new Date(searched_since).toLocaleString()} is not searched:{" "}
              <code>conversations.index_mb</code> is used up.
            </p>
          ) : null}
          {hits.length === 0 ? (
            <Nothing title="Nothing found">
              <p>
                {searched.toLocaleString()} messages and tool calls were searched. Try other words; a
                phrase in quotes is found to the letter.
              </p>
            </Nothing>
          ) : (
            <section className="section">
              <h2>
                Results{" "}
                <span className="quiet">in {searched.toLocaleString()} messages and tool calls</span>
              </h2>
              <ol className="hits">
                {grouped(hits).map(({ hit, parts, again }) => (
                  <li key={`${hit.conversation}-${hit.place}`}>
                    <Hit hit={hit} parts={parts} again={again} />
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

interface Group {
  hit: ConversationHit;
  parts: Part[];
  /** The places of the same conversation where the same is said again. */
  again: ConversationHit[];
}

/** An edit that is tried, asked about and done again says the same each time: it is one hit. */
function grouped(hits: ConversationHit[]): Group[] {
  const groups = new Map<string, Group>();
  for (const hit of hits) {
    const parts = readable(hit.snippet, hit.highlights, Boolean(hit.tool));
    const said = parts.map((part) => part.text).join("").replace(/\s+/g, " ").trim();
    const key = `${hit.conversation} ${hit.role} ${hit.tool ?? ""} ${said}`;
    const known = groups.get(key);
    if (known) known.again.push(hit);
    else groups.set(key, { hit, parts, again: [] });
  }
  return [...groups.values()];
}

function Hit({ hit, parts, again }: Group) {
  const to = (each: ConversationHit) => `/conversations/${each.conversation}?at=${each.place}`;
  return (
    <article className="talk-hit">
      <p className="talk-said" data-role={hit.role}>
        {parts.map((part, index) => (part.marked ? <mark key={index}>{part.text}</mark> : part.text))}
      </p>
      <p className="talk-facts quiet">
        <span>
          {hit.role === "person" ? "a person" : hit.engine}
          {hit.tool ? (
            <>
              {" "}
              to <code>{hit.tool}</code>
            </>
          ) : null}
        </span>
        <span>
          in <Link href={to(hit)}>{hit.title || "a conversation"}</Link>, turn {hit.turn}
        </span>
        {again.length > 0 ? (
          <span>
            and {again.length === 1 ? "once" : `${again.length} times`} more:{" "}
            {again.map((each, index) => (
              <span key={each.place}>
                {index > 0 ? ", " : ""}
                <Link href={to(each)}>turn {each.turn}</Link>
              </span>
            ))}
          </span>
        ) : null}
        <span className="mono" title={hit.project}>
          {folderName(hit.project)}
        </span>
        <Ago at={hit.at} />
      </p>
    </article>
  );
}
