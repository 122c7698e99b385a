// One setting: what it is, a field of its kind, its default, and what the daemon has
// against a value, in place.

import { type FormEvent, useEffect, useId, useState } from "react";
import { Link } from "wouter";

import { docsLink } from "../../docs/kinds";
import type { ConfigKey } from "../../generated/operations";
import { Prose } from "../../parts/Prose";
import { Prices } from "./Prices";
import { useSet } from "./changes";
import { isChanged, parse, typed, written } from "./values";

/** A name for those that are looked for most; the key itself for the others. */
export function Setting({ setting, name }: { setting: ConfigKey; name?: string }) {
  const id = useId();
  const set = useSet();
  const [wrong, setWrong] = useState<string>();
  const save = (value: unknown) => {
    setWrong(undefined);
    set.mutate({ key: setting.key, value }, { onError: (error) => setWrong(error.message) });
  };
  const changed = isChanged(setting);
  return (
    <div className="setting" data-changed={changed || undefined}>
      <div className="setting-name">
        {/* A table of prices has many fields, each with a name of its own. */}
        {setting.key === "usage.prices" ? (
          <span className="setting-title">{name ?? setting.key}</span>
        ) : (
          <label className="setting-title" htmlFor={id}>
            {name ?? setting.key}
          </label>
        )}
        {name ? <code className="quiet">{setting.key}</code> : null}
        {changed ? <span className="tag">changed</span> : null}
        <Link href={docsLink(`key/${setting.key}`)} className="setting-docs">
          Docs<span className="visually-hidden"> of {setting.key}</span>
        </Link>
      </div>
      <Input id={id} setting={setting} save={save} pending={set.isPending} said={wrong} setWrong={setWrong} />
      {wrong ? (
        <p className="trouble" role="alert" id={`${id}-wrong`}>
          <span>
            <Prose text={wrong} />
          </span>
        </p>
      ) : null}
      <p className="setting-about quiet" id={`${id}-about`}>
        <Prose text={setting.description} />{" "}
        {setting.kind === "tables" ? null : (
          <>
            Default: <code>{setting.default}</code>.{" "}
          </>
        )}
        {setting.waiting !== undefined && setting.waiting !== null ? (
          <strong>Takes effect after a restart; in force is {setting.value}.</strong>
        ) : setting.reloads ? null : (
          "Takes effect after a restart."
        )}{" "}
        {changed ? (
          <button type="button" className="button plain small" disabled={set.isPending} onClick={() => save(null)}>
            Reset to default<span className="visually-hidden"> {setting.key}</span>
          </button>
        ) : null}
      </p>
    </div>
  );
}

interface InputProps {
  id: string;
  setting: ConfigKey;
  save: (value: unknown) => void;
  pending: boolean;
  said: string | undefined;
  setWrong: (wrong: string | undefined) => void;
}

function Input({ id, setting, save, pending, said, setWrong }: InputProps) {
  const now = written(setting);
  const [text, setText] = useState(() => typed(setting, now));
  const stands = typed(setting, now);
  // A switch stands where it was put while the daemon is asked.
  const [chosen, setChosen] = useState<unknown>();
  const choose = (value: unknown) => {
    setChosen(value);
    save(value);
  };
  const shown = chosen ?? now;
  // What the file says changes under our hands when somebody else sets it.
  useEffect(() => {
    setText(stands);
    setChosen(undefined);
  }, [stands]);
  useEffect(() => {
    if (said) setChosen(undefined);
  }, [said]);
  const about = {
    id,
    "aria-describedby": `${id}-about${said ? ` ${id}-wrong` : ""}`,
    "aria-invalid": said ? true : undefined,
  };
  if (setting.kind === "boolean") {
    return (
      <input
        {...about}
        type="checkbox"
        role="switch"
        className="setting-switch"
        checked={shown === true}
        disabled={pending}
        onChange={(event) => choose(event.target.checked)}
      />
    );
  }
  if (setting.choices && setting.choices.length > 0) {
    return (
      <select {...about} className="field" value={String(shown)} disabled={pending} onChange={(event) => choose(event.target.value)}>
        {setting.choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  if (setting.key === "usage.prices") return <Prices prices={now} save={save} pending={pending} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = parse(setting, text);
    if ("wrong" in parsed) setWrong(parsed.wrong);
    else save(parsed.value);
  };
  const edited = text !== stands;
  const numeric = setting.kind === "integer" || setting.kind === "number";
  return (
    <form className="setting-form" onSubmit={submit}>
      {setting.kind === "list" || setting.kind === "tables" ? (
        <textarea
          {...about}
          className="field mono"
          rows={Math.min(10, Math.max(2, text.split("\n").length))}
          spellCheck={false}
          placeholder={setting.kind === "list" ? "One on each line" : "[]"}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      ) : (
        <input
          {...about}
          className="field mono"
          type={numeric ? "number" : "text"}
          step={setting.kind === "integer" ? 1 : "any"}
          min={numeric ? (setting.min ?? undefined) : undefined}
          max={numeric ? (setting.max ?? undefined) : undefined}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      {edited ? (
        <span className="setting-actions">
          <button type="submit" className="button primary small" disabled={pending} formNoValidate>
            Save
          </button>
          <button
            type="button"
            className="button small"
            onClick={() => {
              setText(stands);
              setWrong(undefined);
            }}
          >
            Cancel
          </button>
        </span>
      ) : null}
    </form>
  );
}
