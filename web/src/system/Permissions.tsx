// What agents may do without asking, and what was decided by that.

import type { FormEvent } from "react";

import { useAction, useOperation } from "../daemon/queries";
import type { PermissionDecision, PermissionEffect, PermissionRule } from "../generated/operations";
import { Loaded, Trouble } from "../parts/Loaded";
import { Mark, type Tone } from "../parts/marks";
import { Ago } from "../parts/time";
import { complain, say } from "../parts/toasts";

const TONES: Record<PermissionEffect, Tone> = { allow: "good", ask: "wait", deny: "bad" };

export function Permissions() {
  const permissions = useOperation("permission_list", { decisions: 50 });
  return (
    <div className="stack system">
      <Add />
      <Loaded of={permissions}>
        {({ rules, decisions }) => (
          <>
            <Rules rules={rules} />
            <Decisions decisions={decisions} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function Add() {
  const add = useAction("permission_add", () => say("The rule is in force."));
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    const given = ["tool", "argument", "path"].filter((name) => text(name));
    add.mutate(
      { effect: text("effect") as PermissionEffect, ...Object.fromEntries(given.map((name) => [name, text(name)])) },
      { onSuccess: () => form.reset() },
    );
  };
  return (
    <section className="section">
      <h2>New rule</h2>
      <form className="rule-form" onSubmit={submit}>
        <select className="field" name="effect" aria-label="What the rule does" defaultValue="allow">
          <option>allow</option>
          <option>ask</option>
          <option>deny</option>
        </select>
        <input className="field mono" name="tool" aria-label="Tool" placeholder="Tool, like Bash" />
        <input className="field mono" name="argument" aria-label="Argument" placeholder="Argument, like git status*" />
        <input className="field mono" name="path" aria-label="File" placeholder="File, like src/**" />
        <button type="submit" className="button" disabled={add.isPending}>
          Add
        </button>
      </form>
      {add.error ? <Trouble error={add.error} /> : null}
    </section>
  );
}

function Rules({ rules }: { rules: PermissionRule[] }) {
  const remove = useAction("permission_remove", ({ name }) => say(`${name} is gone.`, "rest"));
  return (
    <section className="section">
      <h2>
        Rules <span className="quiet">{rules.length}</span>
      </h2>
      <div className="scroll-x">
        <table className="table">
          <tbody>
            {rules.map((rule) => (
              <tr key={rule.name} className={rule.in_force ? undefined : "faded"}>
                <td>
                  <Mark tone={TONES[rule.effect]} word={rule.effect} />
                </td>
                <td className="mono">{subject(rule)}</td>
                <td className="quiet">{rule.name}</td>
                <td>{rule.expires_at ? <>until {new Date(rule.expires_at).toLocaleTimeString()}</> : null}</td>
                <td>
                  {rule.name.startsWith("P-") ? (
                    <button
                      type="button"
                      className="button plain small"
                      aria-label={`Remove ${rule.name}`}
                      onClick={() => remove.mutate({ rule: rule.name }, { onError: complain })}
                    >
                      Remove
                    </button>
                  ) : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function subject(rule: PermissionRule): string {
  const parts = [rule.tool ?? "*", rule.argument, rule.path, rule.server, rule.engine, rule.slot, rule.task];
  return parts.filter(Boolean).join("  ");
}

function Decisions({ decisions }: { decisions: PermissionDecision[] }) {
  return (
    <section className="section">
      <h2>Decided last</h2>
      {decisions.length === 0 ? <p className="quiet">Nothing was asked yet that a rule knew.</p> : null}
      <div className="scroll-x">
        <table className="table">
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
                <td className="quiet">{decision.reason}</td>
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
