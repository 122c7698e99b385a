// Everything of one name: its source as it is on the disk now, with its lines. A
// file is shown by what it defines.

import { Fragment, useState } from "react";
import { Link, useSearchParams } from "wouter";

import { useOperation } from "../daemon/queries";
import type { ShownSymbol } from "../generated/operations";
import { languageCalled } from "../highlight/languages";
import { Highlighted, useHighlighted } from "../highlight/useHighlighted";
import { Loaded } from "../parts/Loaded";
import { Fresh, isWholeFile, Place, symbolAddress } from "./place";
import { SetBeacon } from "./SetBeacon";

export function SymbolPage({ root }: { root: string }) {
  const [search] = useSearchParams();
  const wanted = search.get("symbol") ?? "";
  const shown = useOperation("code_show", { path: root, symbol: wanted });
  return (
    <div className="stack code">
      <Loaded of={shown} lines={14}>
        {({ found, count, freshness }) => (
          <>
            <Fresh of={freshness} />
            {count > 1 ? (
              <p className="quiet">
                {count} symbols are named <code>{wanted}</code>
                {count > found.length ? `; the first ${found.length} are shown` : ""}.
              </p>
            ) : null}
            {found.map((symbol) => (
              <Shown key={`${symbol.path}-${symbol.first_line}-${symbol.name}`} root={root} symbol={symbol} />
            ))}
          </>
        )}
      </Loaded>
    </div>
  );
}

function Shown({ root, symbol }: { root: string; symbol: ShownSymbol }) {
  const [marking, setMarking] = useState(false);
  const isFile = isWholeFile(symbol);
  return (
    <article className="section">
      <header className="symbol-head">
        <h2 className="mono">{isFile ? symbol.path : symbol.name}</h2>
        <span className="tag">{isFile ? "file" : symbol.kind}</span>
        <span className="quiet">{symbol.language}</span>
        <span className="code-place">
          {isFile ? null : (
            <Link href={symbolAddress(root, symbol.path)} className="mono">
              {symbol.path}
            </Link>
          )}
          <button type="button" className="button small" onClick={() => setMarking(true)}>
            Set a beacon
          </button>
        </span>
      </header>
      {symbol.doc ? <p className="prose symbol-doc">{symbol.doc}</p> : null}
      {isFile ? <Outline root={root} symbol={symbol} /> : <Source symbol={symbol} />}
      {symbol.cut ? <p className="quiet">It is longer; the rest is not shown.</p> : null}
      {marking ? (
        <SetBeacon
          root={root}
          symbols={[isFile ? symbol.path : `${symbol.path}:${symbol.first_line}`]}
          close={() => setMarking(false)}
        />
      ) : null}
    </article>
  );
}

function Source({ symbol }: { symbol: ShownSymbol }) {
  const lines = symbol.source.split("\n");
  const runs = useHighlighted(languageCalled(symbol.language), symbol, () => [symbol.source])?.[0];
  return (
    <div className="source" role="region" aria-label={`Source of ${symbol.name}`} tabIndex={0}>
      <pre aria-hidden="true" className="line-numbers">
        {lines.map((_, index) => symbol.first_line + index).join("\n")}
      </pre>
      <pre>
        {runs
          ? lines.map((line, index) => (
              <Fragment key={index}>
                {index > 0 ? "\n" : null}
                <Highlighted text={line} runs={runs[index]} />
              </Fragment>
            ))
          : symbol.source}
      </pre>
    </div>
  );
}

/** The lines of an outline are `   12  signature`, indented by what they are in. */
function Outline({ root, symbol }: { root: string; symbol: ShownSymbol }) {
  const lines = symbol.source.split("\n").filter((line) => line.trim());
  if (lines.length === 0) return <p className="quiet">It defines no symbols.</p>;
  return (
    <ul className="outline">
      {lines.map((line) => {
        const [, number, words] = /^\s*(\d+) {2}(.*)$/.exec(line) ?? [];
        return number ? (
          <li key={line}>
            <Place root={root} path={symbol.path} line={Number(number)} />
            <code>{words}</code>
          </li>
        ) : (
          <li key={line}>
            <code>{line}</code>
          </li>
        );
      })}
    </ul>
  );
}
