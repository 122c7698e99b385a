// What was learned, one part at a time: found again, waiting to be accepted, in
// conflict, laid out by meaning, unused.

import { useParams } from "wouter";

import { useNarrowed } from "../app/address";
import { Bar } from "../app/Menu";
import { Parts } from "../app/Parts";
import { useShortcuts } from "../app/shortcuts";
import { useOperation } from "../daemon/queries";
import { Conflicts } from "./Conflicts";
import { Find } from "./Find";
import { Inbox } from "./Inbox";
import { Plane } from "./Plane";
import { Remember } from "./Remember";
import { Unused } from "./Unused";
import "./knowledge.css";

const PARTS = [
  { path: "find", name: "Search", component: Find },
  { path: "inbox", name: "Inbox", component: Inbox },
  { path: "conflicts", name: "Conflicts", component: Conflicts },
  { path: "map", name: "Map", component: Plane },
  { path: "unused", name: "Unused", component: Unused },
];

export function Knowledge() {
  const { part } = useParams<{ part?: string }>();
  const [search, narrow] = useNarrowed();
  const write = () => narrow({ new: "entry" });
  const chosen = PARTS.find((each) => each.path === part) ?? PARTS[0];
  const stats = useOperation("kb_stats", {}, { refetchInterval: 15_000 });
  const proposals = stats.data?.proposals ?? 0;
  useShortcuts({ n: write });
  if (!chosen) return null;
  const Part = chosen.component;
  return (
    <>
      <Bar
        title="Knowledge"
        action={
          <button type="button" className="button primary" onClick={write}>
            New entry <kbd>n</kbd>
          </button>
        }
      >
        <Parts
          label="Parts of knowledge"
          parts={PARTS}
          chosen={chosen}
          to={(path) => `/knowledge/${path}`}
          after={({ path }) => (path === "inbox" && proposals > 0 ? <span className="count urgent">{proposals}</span> : null)}
        />
      </Bar>
      <div className="view" tabIndex={0}>
        <Part />
      </div>
      {search.has("new") ? <Remember close={() => narrow({ new: null })} /> : null}
    </>
  );
}
