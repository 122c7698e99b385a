// Code found by name or in plain words.

import { Link } from "wouter";

import { useNarrowed } from "../app/address";
import { SearchBox } from "../app/SearchBox";
import { useOperation } from "../daemon/queries";
import type { CodeHit, SymbolKind } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { BeaconLine } from "./Beacons";
import { Fresh, isWholeFile, Place, symbolAddress } from "./place";

const KINDS: SymbolKind[] = ["function", "method", "struct", "class", "enum", "trait", "interface", "type", "module", "macro", "constant"];

export function CodeSearch({ root }: { root: string }) {
  const [search, narrow] = useNarrowed();
  const query = search.get("q") ?? "";
  const kind = KINDS.find((each) => each === search.get("kind"));
  return (
    <div className="stack code">
      <SearchBox
        query={query}
        ask={(text) => narrow({ repo: root, q: text })}
        label="Search code"
        placeholder="A name, or where something is done"
      >
        <select
          className="field"
          aria-label="Kind"
          value={kind ?? ""}
          onChange={(event) => narrow({ repo: root, kind: event.target.value })}
        >
          <option value="">All kinds</option>
          {KINDS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </SearchBox>
      {query ? (
        <Hits root={root} query={query} kind={kind} />
      ) : (
        <Nothing title="Search by name or in plain words">
          <p>
            A name as the code writes it comes first: <code>renew_lease</code>, <code>Store.open</code>,{" "}
            <code>src/main.rs:12</code>. Anything else is found by words, such as “where are expired leases collected”.
          </p>
        </Nothing>
      )}
    </div>
  );
}

function Hits({ root, query, kind }: { root: string; query: string; kind: SymbolKind | undefined }) {
  const found = useOperation(
    "code_search",
    { path: root, query, limit: 30, ...(kind ? { kind } : {}) },
    { placeholder: "keep" },
  );
  return (
    <Loaded of={found} lines={10}>
      {({ hits, beacons, freshness }) => (
        <>
          <Fresh of={freshness} />
          {beacons.length > 0 ? (
            <section className="section">
              <h2>Beacons</h2>
              <ul className="beacons">
                {beacons.map((beacon) => (
                  <li key={beacon.name}>
                    <BeaconLine root={root} beacon={beacon} />
                  </li>
                ))}
              </ul>
            </section>
          ) : null}
          {hits.length === 0 ? (
            <Nothing title="Nothing found">
              <p>Plain words are looked for in names, signatures, comments and bodies.</p>
            </Nothing>
          ) : (
            <ol className="hits" aria-label="Found">
              {hits.map((hit) => (
                <li key={`${hit.path}-${hit.first_line}-${hit.name}`}>
                  <Hit root={root} hit={hit} />
                </li>
              ))}
            </ol>
          )}
        </>
      )}
    </Loaded>
  );
}

function Hit({ root, hit }: { root: string; hit: CodeHit }) {
  const isFile = isWholeFile(hit);
  return (
    <article className="code-hit">
      <p className="code-hit-head">
        <span className="tag">{isFile ? "file" : hit.kind}</span>
        <Link
          href={symbolAddress(root, isFile ? hit.path : `${hit.path}:${hit.first_line}`)}
          className="mono code-name"
        >
          {hit.name}
        </Link>
        {hit.matched === "words" ? null : (
          <span className="quiet">{hit.matched === "meaning" ? "by meaning" : "by name"}</span>
        )}
        <span className="code-place">
          <Place root={root} path={hit.path} line={hit.first_line} />
        </span>
      </p>
      {isFile ? null : <pre className="signature">{hit.signature}</pre>}
      {hit.doc ? <p className="quiet code-doc">{hit.doc}</p> : null}
    </article>
  );
}
