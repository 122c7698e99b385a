// The pages of what was found.

interface PagesProps {
  from: number;
  /** How many are shown, and on a full page. */
  shown: number;
  page: number;
  more: boolean;
  go: (from: number) => void;
}

export function Pages({ from, shown, page, more, go }: PagesProps) {
  if (from === 0 && !more) return null;
  return (
    <p className="pages">
      <button type="button" className="button small" disabled={from === 0} onClick={() => go(from - page)}>
        Before
      </button>
      <span className="quiet">
        {from + 1} to {from + shown}
      </span>
      <button type="button" className="button small" disabled={!more} onClick={() => go(from + page)}>
        After
      </button>
    </p>
  );
}
