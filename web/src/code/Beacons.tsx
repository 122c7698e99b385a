// The beacons of a repository: where the code of each is now, how it got there,
// and which are lost.

import { useState } from "react";
import { Link } from "wouter";

import { useAction, useOperation } from "../daemon/queries";
import type { Beacon, BeaconPiece, BeaconStanding } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { Mark, type Tone } from "../parts/marks";
import { complain, say } from "../parts/toasts";
import { Fresh, Place, symbolAddress } from "./place";
import { SetBeacon } from "./SetBeacon";

export function Beacons({ root }: { root: string }) {
  const [setting, setSetting] = useState(false);
  const list = useOperation("beacon_list", { path: root });
  const remove = useAction("beacon_remove", ({ removed }) => say(`The beacon ${removed} is removed.`, "rest"));
  return (
    <div className="stack code">
      <p>
        <button type="button" className="button" onClick={() => setSetting(true)}>
          Set a beacon
        </button>
      </p>
      <Loaded of={list}>
        {({ beacons, freshness }) => (
          <>
            <Fresh of={freshness} />
            {beacons.length === 0 ? (
              <Nothing title="No beacons">
                <p>
                  A beacon is a name for pieces of code that follows them when they move, are renamed or edited. Agents
                  find code by it too.
                </p>
              </Nothing>
            ) : (
              <ul className="beacons">
                {beacons.map((beacon) => (
                  <li key={beacon.name}>
                    <BeaconLine
                      root={root}
                      beacon={beacon}
                      remove={() => {
                        if (window.confirm(`Remove the beacon ${beacon.name}? Its code is left alone.`)) {
                          remove.mutate({ path: root, name: beacon.name }, { onError: complain });
                        }
                      }}
                    />
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Loaded>
      {setting ? <SetBeacon root={root} symbols={[]} close={() => setSetting(false)} /> : null}
    </div>
  );
}

export function BeaconLine({ root, beacon, remove }: { root: string; beacon: Beacon; remove?: () => void }) {
  const found = beacon.pieces.some((piece) => piece.standing !== "lost");
  return (
    <article className="beacon">
      <header>
        <h2>{found ? <Link href={symbolAddress(root, beacon.name)}>{beacon.name}</Link> : beacon.name}</h2>
        {remove ? (
          <button
            type="button"
            className="button plain small"
            aria-label={`Remove the beacon ${beacon.name}`}
            onClick={remove}
          >
            Remove
          </button>
        ) : null}
      </header>
      {beacon.note ? <p className="prose">{beacon.note}</p> : null}
      <ul>
        {beacon.pieces.map((piece) => (
          <li key={`${piece.path}-${piece.name}`}>
            <Piece root={root} piece={piece} />
          </li>
        ))}
      </ul>
    </article>
  );
}

const STANDINGS: Record<BeaconStanding, { tone: Tone; word: string }> = {
  unchanged: { tone: "good", word: "unchanged" },
  edited: { tone: "good", word: "edited" },
  moved: { tone: "work", word: "moved" },
  renamed: { tone: "work", word: "renamed" },
  alike: { tone: "wait", word: "similar code" },
  lost: { tone: "bad", word: "lost" },
};

function Piece({ root, piece }: { root: string; piece: BeaconPiece }) {
  return (
    <div className="piece">
      <span className="tag">{piece.kind}</span>
      <code>{piece.name}</code>
      {piece.standing === "lost" ? (
        <span className="quiet mono">
          was at {piece.path}:{piece.line}
        </span>
      ) : (
        <Place root={root} path={piece.path} line={piece.line} />
      )}
      <Mark {...STANDINGS[piece.standing]} />
      {piece.moved_from ? <span className="quiet">from {piece.moved_from}</span> : null}
      {piece.suggestions && piece.suggestions.length > 0 ? (
        <span className="quiet">
          might be{" "}
          {piece.suggestions.map((each) => (
            <Link key={each} href={symbolAddress(root, each.split(" ")[0] ?? each)} className="mono">
              {each}{" "}
            </Link>
          ))}
        </span>
      ) : null}
    </div>
  );
}
