// Every page with what it is about. Those that are looked up by name are only named.

import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "wouter";

import type { DocsPages, DocSummary } from "../generated/operations";
import { Loaded } from "../parts/Loaded";
import { docsLink, isLookedUp, KINDS } from "./kinds";

export function AllPages({ list }: { list: UseQueryResult<DocsPages> }) {
  return (
    <div className="view" tabIndex={0}>
      <div className="docs-all">
        <header>
          <h1>Documentation</h1>
          <p>
            It is part of the program that runs here. <code>mission docs</code> shows the same in a terminal.
          </p>
        </header>
        <Loaded of={list} lines={16}>
          {({ pages }) =>
            KINDS.map(([kind, name]) => {
              const its = pages.filter((page) => page.kind === kind);
              if (its.length === 0) return null;
              return isLookedUp(kind) ? (
                <details key={kind} className="folds docs-group">
                  <summary>
                    <h2>{name}</h2>
                    <span className="quiet">{its.length}</span>
                  </summary>
                  <ul className="docs-names">
                    {its.map((page) => (
                      <li key={page.path}>
                        <Link href={docsLink(page.path)} className="mono" title={page.summary}>
                          {page.title}
                        </Link>
                      </li>
                    ))}
                  </ul>
                </details>
              ) : (
                <section key={kind} className="docs-group">
                  <h2>{name}</h2>
                  <Summaries pages={its} />
                </section>
              );
            })
          }
        </Loaded>
      </div>
    </div>
  );
}

function Summaries({ pages }: { pages: DocSummary[] }) {
  return (
    <ul className="docs-summaries">
      {pages.map((page) => (
        <li key={page.path}>
          <Link href={docsLink(page.path)}>
            <strong>{page.title}</strong>
            <span>{page.summary}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
