// Why a slot is taken to be doing what it is: the rule that decided, those that
// nearly did and what they missed, and where on the screen each region was found.

import { useEffect } from "react";

import { useOperation } from "../daemon/queries";
import { Loaded } from "../parts/Loaded";

interface Rule {
  rule: string;
  state: string;
  line?: number;
  missing?: string;
  evidence?: { row: number | null; text: string }[];
}

interface Region {
  name: string;
  rows: { start: number; end: number } | null;
  known_as: string | null;
}

interface Explanation {
  decided: Rule | null;
  also: Rule[];
  near: Rule[];
  pending: unknown;
  regions: Region[];
  dialog: { question?: string; options?: unknown[] } | null;
}

export function Explain({ slot, state }: { slot: string; state: string }) {
  const explained = useOperation("slot_explain", { slot }, { placeholder: "keep" });
  const { refetch } = explained;
  useEffect(() => {
    void refetch();
  }, [state, refetch]);
  return (
    <section className="section">
      <h2>Why</h2>
      <Loaded of={explained} lines={5}>
        {({ manifest, explanation }) => <Told manifest={manifest} told={explanation as Explanation} />}
      </Loaded>
    </section>
  );
}

function Told({ manifest, told }: { manifest: string; told: Explanation }) {
  const found = told.regions.filter((region) => region.rows);
  return (
    <div className="explain">
      <p className="quiet">
        read by <code>{manifest}</code>
      </p>
      {told.decided ? (
        <>
          <p>
            <strong>{told.decided.rule}</strong> says {told.decided.state.replaceAll("_", " ")}
          </p>
          {(told.decided.evidence ?? []).map((seen) => (
            <p key={`${seen.row}-${seen.text}`} className="quiet">
              {seen.row === null ? "" : `row ${seen.row + 1}: `}
              <code>{seen.text}</code>
            </p>
          ))}
        </>
      ) : (
        <p className="quiet">No rule has decided.</p>
      )}
      {told.also.length > 0 ? (
        <p className="quiet">also true: {told.also.map((rule) => rule.rule).join(", ")}</p>
      ) : null}
      {told.near.length > 0 ? (
        <details>
          <summary>Nearly, {told.near.length}</summary>
          <ul>
            {told.near.map((rule) => (
              <li key={`${rule.rule}-${rule.state}`}>
                <strong>{rule.rule}</strong> <span className="quiet">{rule.state.replaceAll("_", " ")}</span>
                <br />
                <span className="quiet">missing: {rule.missing}</span>
              </li>
            ))}
          </ul>
        </details>
      ) : null}
      {found.length > 0 ? (
        <details>
          <summary>Regions on the screen, {found.length}</summary>
          <ul>
            {found.map((region) => (
              <li key={region.name}>
                {region.name}{" "}
                <span className="quiet">
                  rows {region.rows ? `${region.rows.start + 1} to ${region.rows.end}` : ""}
                  {region.known_as ? `, known as ${region.known_as}` : ""}
                </span>
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </div>
  );
}
