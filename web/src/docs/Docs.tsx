// The documentation of the program, as it is in the program: the pages by what they
// are for, one of them open, and a search over all of their sections.

import { useEffect, useRef } from "react";
import { Link, useParams } from "wouter";

import { decoded, useNarrowed } from "../app/address";
import { useIsPhone } from "../app/phone";
import { useOperation } from "../daemon/queries";
import { AllPages } from "./AllPages";
import { Contents } from "./Contents";
import { DocPage } from "./DocPage";
import { kindName } from "./kinds";
import { SearchDocs } from "./SearchDocs";
import "./docs.css";

export function Docs() {
  const path = decoded(useParams<{ "*"?: string }>()["*"] ?? "");
  const field = useRef<HTMLInputElement>(null);
  const isPhone = useIsPhone();
  const list = useOperation("docs_list", {});
  const pages = list.data?.pages ?? [];
  const here = pages.find((page) => page.path === path);
  const [search, narrow] = useNarrowed();
  const sought = search.has("search");
  useEffect(() => {
    if (!sought) return;
    field.current?.focus();
    narrow({ search: null });
    // `narrow` is another one each time.
  }, [sought]);
  return (
    <>
      <div className="bar docs-bar">
        <p className="docs-where one-line">
          <Link href="/docs">Docs</Link>
          {here ? <span className="quiet"> / {kindName(here.kind)}</span> : null}
        </p>
        <SearchDocs field={field} />
      </div>
      <div className="docs">
        {isPhone ? (
          // Closed again by going somewhere.
          <details key={path} className="docs-menu folds">
            <summary>Pages</summary>
            <Contents pages={pages} path={path} />
          </details>
        ) : (
          <Contents pages={pages} path={path} />
        )}
        {path ? <DocPage path={path} /> : <AllPages list={list} />}
      </div>
    </>
  );
}
