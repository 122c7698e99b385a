// Entries that cannot both hold, side by side, to be settled by letting one go.

import { Link } from "wouter";

import { useAction, useOperation } from "../daemon/queries";
import type { KbConflict } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { Ago } from "../parts/time";
import { complain, say } from "../parts/toasts";

export function Conflicts() {
  const conflicts = useOperation("kb_conflicts", {});
  return (
    <div className="stack knowledge">
      <Loaded of={conflicts}>
        {({ conflicts: all }) =>
          all.length === 0 ? (
            <Nothing title="No conflicts">
              <p>What is remembered is compared with what is known; two that cannot both hold are shown here.</p>
            </Nothing>
          ) : (
            <ol className="proposals" aria-label="Conflicts">
              {all.map((conflict) => (
                <li key={`${conflict.edge.from}-${conflict.edge.to}`}>
                  <Conflict conflict={conflict} />
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </div>
  );
}

function Conflict({ conflict: { edge, newer, older } }: { conflict: KbConflict }) {
  const forget = useAction("kb_forget", ({ summary }) => say(`Archived: ${summary}`, "rest"));
  const side = (name: string, id: string, words: string) => (
    <section>
      <h2 className="side-name">The {name}</h2>
      <p>
        <Link href={`/knowledge/entry/${id}`}>{words}</Link>
      </p>
      <p>
        <button
          type="button"
          className="button small"
          disabled={forget.isPending}
          onClick={() => forget.mutate({ entry: id }, { onError: complain })}
        >
          Forget the {name}
        </button>
      </p>
    </section>
  );
  return (
    <article className="panel">
      <p className="conflict-head">
        <span className="mark" data-tone="wait">
          {edge.reason}
        </span>
        <Ago at={edge.at} />
      </p>
      <div className="claim-outcome">
        {side("newer", edge.from, newer)}
        {side("older", edge.to, older)}
      </div>
    </article>
  );
}
