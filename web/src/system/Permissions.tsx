// What agents may do without asking, what would happen if one tried something, and
// what was decided.

import type { FormEvent } from "react";

import { useAction, useOperation } from "../daemon/queries";
import type { PermissionDecision, PermissionEffect, PermissionRule } from "../generated/operations";
import { Prose } from "../parts/Prose";
import { Loaded, Trouble } from "../parts/Loaded";
import { Mark, type Tone } from "../parts/marks";
import { Ago } from "../parts/time";
import { CommandButton } from "../parts/command";
import { addedWithUndo, removeRule, subjectOf } from "./rules";
import { WhatIf } from "./WhatIf";

export const TONES: Record<PermissionEffect, Tone> = { allow: "good", ask: "wait", deny: "bad" };

export function Permissions() {
  const permissions = useOperation("permission_list", { decisions: 50 });
  return (
    <div className="stack system">
      <WhatIf />
      <Loaded of={permissions}>
        {({ rules, decisions }) => {
          const builtIn = rules.filter((rule) => rule.source === "built_in");
          const yours = rules.filter((rule) => rule.source !== "built_in");
          return (
            <>
              <section className="section" aria-label="Your rules">
                <h2>
                  Your rules <span className="quiet">{yours.length}</span>
                </h2>
                <Add />
                {yours.length === 0 ? (
                  <p className="quiet">None yet. What no rule knows is asked of you.</p>
                ) : (
                  <Rules rules={yours} label="Your rules" />
                )}
              </section>
              <details className="section settings-section folds">
                <summary>
                  <h2>Built-in rules</h2>
                  <span className="quiet">{builtIn.length}</span>
                </summary>
                <Rules rules={builtIn} label="Built-in rules" />
              </details>
              <Decisions decisions={decisions} />
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

function Add() {
  const add = useAction("permission_add", ({ name }) => addedWithUndo(name));
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    const given = ["tool", "argument", "path"].filter((name) => text(name));
    const subject = Object.fromEntries(given.map((name) => [name, text(name)]));
    add.mutate({ effect: text("effect") as PermissionEffect, subject }, { onSuccess: () => form.reset() });
  };
  return (
    <>
      <form className="rule-form" aria-label="New rule" onSubmit={submit}>
        <select className="field" name="effect" aria-label="What the rule does" defaultValue="allow">
          <option>allow</option>
          <option>ask</option>
          <option>deny</option>
        </select>
        <input className="field mono" name="tool" aria-label="Tool" placeholder="Tool, like Bash" />
        <input className="field mono" name="argument" aria-label="Argument" placeholder="Argument, like git status*" />
        <input className="field mono" name="path" aria-label="File" placeholder="File, like src/**" />
        <button type="submit" className="button" disabled={add.isPending}>
          Add rule
        </button>
      </form>
      {add.error ? <Trouble error={add.error} /> : null}
    </>
  );
}

function Rules({ rules, label }: { rules: PermissionRule[]; label: string }) {
  return (
    <div className="scroll-x" role="region" aria-label={`List of ${label.toLowerCase()}`} tabIndex={0}>
      <table className="table paragraphs">
        <tbody>
          {rules.map((rule) => (
            <tr key={rule.name} className={rule.in_force ? undefined : "faded"}>
              <td>
                <Mark tone={TONES[rule.effect]} word={rule.effect} />
              </td>
              <td className="mono">{subjectOf(rule)}</td>
              <td className="quiet">{rule.name}</td>
              <td>
                {rule.expires_at ? (
                  <>
                    ends <Ago at={rule.expires_at} />
                  </>
                ) : null}
              </td>
              <td>
                {rule.source === "added" ? (
                  <CommandButton command={removeRule(rule)} small named />
                ) : rule.source === "configuration" ? (
                  <span className="quiet">in the settings</span>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Decisions({ decisions }: { decisions: PermissionDecision[] }) {
  return (
    <section className="section">
      <h2>Latest decisions</h2>
      {decisions.length === 0 ? <p className="quiet">No agent has asked for anything that a rule knows.</p> : null}
      <div className="scroll-x" role="region" aria-label="Latest decisions" tabIndex={0}>
        <table className="table paragraphs">
          <tbody>
            {decisions.map((decision) => (
              <tr key={`${decision.decided_at}-${decision.slot}`}>
                <td>
                  <Mark tone={TONES[decision.effect as PermissionEffect] ?? "rest"} word={decision.effect} />
                </td>
                <td className="mono">
                  {[decision.asked.tool, decision.asked.command ?? decision.asked.argument ?? decision.asked.path]
                    .filter(Boolean)
                    .join(" ")}
                </td>
                <td className="quiet">
                  <Prose text={decision.reason} />
                </td>
                <td>
                  <Ago at={decision.decided_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
