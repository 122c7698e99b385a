// What was said, found by its words, each hit with the words marked and a way to
// its place in the conversation.

import { Link } from "wouter";

import { useOperation } from "../daemon/queries";
import type { ConversationHit } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { Marked } from "../parts/Marked";
import { Pages } from "../parts/Pages";
import { Ago } from "../parts/time";
import { folderName, type Within } from "./Conversations";

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
                {hits.map((hit) => (
                  <li key={`${hit.conversation}-${hit.place}`}>
                    <Hit hit={hit} />
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

function Hit({ hit }: { hit: ConversationHit }) {
  return (
    <article className="talk-hit">
      <p className="talk-said" data-role={hit.role}>
        <Marked text={hit.snippet} ranges={hit.highlights} />
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
          in <Link href={`/conversations/${hit.conversation}?at=${hit.place}`}>{hit.title || "a conversation"}</Link>, turn {hit.turn}
        </span>
        <span className="mono" title={hit.project}>
          {folderName(hit.project)}
        </span>
        <Ago at={hit.at} />
      </p>
    </article>
  );
}
