// What the repositories define: searched, mapped within a budget, and the
// beacons that follow their code. Every part is about one repository, which is
// in the address and otherwise the one looked at last.

import { useEffect } from "react";
import { useParams, useSearchParams } from "wouter";

import { Bar } from "../app/Menu";
import { Parts } from "../app/Parts";
import { recall, remember } from "../app/remember";
import { useOperation } from "../daemon/queries";
import { Loaded } from "../parts/Loaded";
import { Beacons } from "./Beacons";
import { CodeMap } from "./CodeMap";
import { CodeSearch } from "./CodeSearch";
import { NewRepository, Repository } from "./Repository";
import { SymbolPage } from "./SymbolPage";
import "./code.css";

const PARTS = [
  { path: "search", name: "Search", component: CodeSearch },
  { path: "map", name: "Map", component: CodeMap },
  { path: "beacons", name: "Beacons", component: Beacons },
  { path: "repository", name: "Repository", component: Repository },
];

const ANOTHER = "another";

export function Code() {
  const { part } = useParams<{ part?: string }>();
  const [search, setSearch] = useSearchParams();
  const known = useOperation("code_list", {});
  const all = known.data?.repositories ?? [];
  const wanted = search.get("repo") ?? recall("code.repo", "");
  const here = all.find((each) => each.root === wanted) ?? (search.has("repo") ? undefined : all[0]);
  const root = here?.root ?? search.get("repo") ?? "";
  useEffect(() => {
    if (here) remember("code.repo", here.root);
  }, [here]);
  const chosen = PARTS.find((each) => each.path === part) ?? PARTS[0];
  const adding = search.has("add") || (known.data !== undefined && !root);
  const to = (path: string) => `/code/${path}?${new URLSearchParams(root ? { repo: root } : {})}`;
  if (!chosen) return null;
  const Part = part === "symbol" ? SymbolPage : chosen.component;
  return (
    <>
      <Bar
        title="Code"
        action={
          all.length > 0 ? (
            <select
              className="field code-repository"
              aria-label="Repository"
              value={adding ? ANOTHER : root}
              onChange={(event) =>
                setSearch(event.target.value === ANOTHER ? { add: "" } : { repo: event.target.value })
              }
            >
              {all.map((each) => (
                <option key={each.root} value={each.root}>
                  {nameOf(each.root)}
                  {each.exists ? "" : " (gone)"}
                </option>
              ))}
              {root && !here ? <option value={root}>{nameOf(root)}</option> : null}
              <option value={ANOTHER}>Another…</option>
            </select>
          ) : null
        }
      >
        {adding ? null : (
          <Parts
            label="Parts of the code map"
            parts={PARTS}
            chosen={part === "symbol" ? undefined : chosen}
            to={to}
          />
        )}
      </Bar>
      <div className="view" tabIndex={0}>
        <Loaded of={known}>
          {() => (adding ? <NewRepository first={all.length === 0} /> : <Part key={root} root={root} />)}
        </Loaded>
      </div>
    </>
  );
}

/** A folder by its own name and that of the one it is in. */
function nameOf(root: string): string {
  return root.split("/").filter(Boolean).slice(-2).join("/");
}
