// The map of what is known: each entry a dot, those that mean alike near each
// other. Dragged and zoomed like any map; the words typed above light up what has
// them, and what is under the pointer or next in line says what it is.

import { useMemo, useState } from "react";
import { useLocation } from "wouter";

import { useOperation } from "../daemon/queries";
import type { EntryCategory, KbMapResult, KbPoint } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { CATEGORIES, Category } from "./category";
import { Dots } from "./Dots";

export function Plane() {
  const map = useOperation("kb_map", { limit: 3000 }, { placeholder: "keep" });
  return (
    <div className="knowledge-map">
      <Loaded of={map} lines={14}>
        {(whole) => (whole.points.length === 0 ? <NoMap notice={whole.notice} /> : <Laid whole={whole} />)}
      </Loaded>
    </div>
  );
}

function NoMap({ notice }: { notice?: string | null | undefined }) {
  return (
    <Nothing title="There is no map yet">
      <p>Entries are laid out by their vectors, which an embedding model makes: {notice ?? "none was made"}.</p>
      <pre className="output">mission model install</pre>
    </Nothing>
  );
}

function Laid({ whole }: { whole: KbMapResult }) {
  const [, navigate] = useLocation();
  const [words, setWords] = useState("");
  const [hidden, setHidden] = useState<ReadonlySet<EntryCategory>>(new Set());
  const [at, setAt] = useState<KbPoint>();
  const points = useMemo(() => whole.points.filter((point) => !hidden.has(point.category)), [whole, hidden]);
  const lit = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    if (wanted.length === 0) return undefined;
    const has = (point: KbPoint) => wanted.every((word) => point.title.toLowerCase().includes(word));
    return new Set(points.filter(has).map((point) => point.id));
  }, [points, words]);
  const counts = useMemo(() => {
    const tally = new Map<EntryCategory, number>();
    for (const point of whole.points) tally.set(point.category, (tally.get(point.category) ?? 0) + 1);
    return tally;
  }, [whole]);
  const toggle = (category: EntryCategory) => {
    const next = new Set(hidden);
    if (!next.delete(category)) next.add(category);
    setHidden(next);
  };
  return (
    <>
      <div className="ask">
        <input
          className="field"
          type="search"
          aria-label="Highlight entries with these words"
          placeholder="Highlight words"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        {CATEGORIES.filter((category) => counts.has(category)).map((category) => (
          <button
            key={category}
            type="button"
            className="button small legend"
            aria-pressed={!hidden.has(category)}
            onClick={() => toggle(category)}
          >
            <Category category={category} /> <span className="quiet">{counts.get(category)}</span>
          </button>
        ))}
      </div>
      <Dots points={points} lit={lit} at={at} look={setAt} open={(point) => navigate(`/knowledge/entry/${point.id}`)} />
      <p className="map-foot" aria-live="polite">
        {at ? (
          <>
            <Category category={at.category} /> <span className="one-line">{at.title}</span>
          </>
        ) : (
          <span className="quiet">
            {whole.points.length < whole.embedded ? `${whole.points.length} of ${whole.embedded}` : whole.points.length}{" "}
            entries, drawn in the two directions they differ most; these show {Math.round(whole.shown * 100)} % of the
            differences. Drag to move, scroll to zoom, arrow keys to go from dot to dot.
          </span>
        )}
      </p>
    </>
  );
}
