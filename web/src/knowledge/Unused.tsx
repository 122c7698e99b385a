// What has aged without being used, before anything is done about it.

import { useState } from "react";
import { Link } from "wouter";

import { useAction, useOperation } from "../daemon/queries";
import { Loaded, Nothing } from "../parts/Loaded";
import { complain, say } from "../parts/toasts";

const AHEAD = [0, 30, 90, 365];

export function Unused() {
  const [days, setDays] = useState(0);
  const aged = useOperation("kb_gc", { action: "preview", in_days: days }, { placeholder: "keep" });
  const collect = useAction("kb_gc", ({ action, entries }) =>
    say(
      action === "undo"
        ? `${entries.length} restored.`
        : `${entries.length} archived; they can be restored.`,
      "rest",
    ),
  );
  const count = aged.data?.entries.length ?? 0;
  return (
    <div className="stack knowledge">
      <p className="ask">
        <label>
          As of
          <select className="field" value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {AHEAD.map((each) => (
              <option key={each} value={each}>
                {each === 0 ? "now" : `in ${each} days, if nothing is used`}
              </option>
            ))}
          </select>
        </label>
        {days === 0 && count > 0 ? (
          <button
            type="button"
            className="button"
            disabled={collect.isPending}
            onClick={() => collect.mutate({ action: "archive" }, { onError: complain })}
          >
            Archive these {count}
          </button>
        ) : null}
        <button
          type="button"
          className="button plain"
          disabled={collect.isPending}
          onClick={() => collect.mutate({ action: "undo" }, { onError: complain })}
        >
          Undo the last archive
        </button>
      </p>
      <Loaded of={aged}>
        {({ entries }) =>
          entries.length === 0 ? (
            <Nothing title={days === 0 ? "Nothing is unused" : "Nothing will be unused by then"}>
              <p>Entries that nobody fetches or cites lose their worth with time; those that lost it are listed here.</p>
            </Nothing>
          ) : (
            <ul className="entries" aria-label="Unused">
              {entries.map((entry) => (
                <li key={entry.id}>
                  <Link href={`/knowledge/entry/${entry.id}`} className="entry-line">
                    <span className="entry-words">{entry.summary}</span>
                    <span className="quiet">{entry.why}</span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}
