// What would happen if an agent tried something: which rule decides, and what each
// part of a command comes to.

import { type FormEvent } from "react";

import { useAction } from "../daemon/queries";
import type { PermissionEffect, PermissionVerdict } from "../generated/operations";
import { Prose } from "../parts/Prose";
import { Trouble } from "../parts/Loaded";
import { Mark } from "../parts/marks";
import { TONES } from "./Permissions";

const WORDS: Record<PermissionEffect, string> = {
  allow: "It would be allowed",
  ask: "You would be asked",
  deny: "It would be denied",
};

export function WhatIf() {
  const test = useAction("permission_test");
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    const given = ["argument", "path"].filter((name) => text(name));
    test.mutate({ tool: text("tool"), ...Object.fromEntries(given.map((name) => [name, text(name)])) });
  };
  return (
    <section className="section">
      <h2>What would happen if…</h2>
      <form className="rule-form" aria-label="What would happen if" onSubmit={submit}>
        <input className="field mono" name="tool" aria-label="Tool it would use" placeholder="Tool" defaultValue="Bash" required />
        <input
          className="field mono wide"
          name="argument"
          aria-label="Command or argument"
          placeholder="Command, like cargo test && git push"
        />
        <input className="field mono" name="path" aria-label="File it would touch" placeholder="File, if any" />
        <button type="submit" className="button" disabled={test.isPending}>
          Check
        </button>
      </form>
      {test.error ? <Trouble error={test.error} /> : null}
      {test.data && !test.error ? <Verdict verdict={test.data} /> : null}
    </section>
  );
}

function Verdict({ verdict }: { verdict: PermissionVerdict }) {
  const parts = verdict.parts ?? [];
  return (
    <div className="what-if" role="status">
      <p>
        <Mark tone={TONES[verdict.effect]} word={WORDS[verdict.effect]} />{" "}
        {verdict.rules.length > 0 ? <span className="quiet">by {verdict.rules.join(", ")}</span> : null}
      </p>
      <p className="quiet">
        <Prose text={verdict.reason} />
      </p>
      {parts.length > 0 ? (
        <ul aria-label="Parts of the command">
          {parts.map((part, index) => (
            <li key={`${index} ${part.command}`}>
              <Mark tone={TONES[part.effect]} word={part.effect} /> <code>{part.command}</code>{" "}
              <span className="quiet">{part.rules.length > 0 ? `by ${part.rules.join(", ")}` : "no rule knows it"}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
