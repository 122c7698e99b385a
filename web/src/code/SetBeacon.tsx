import type { FormEvent } from "react";
import { useLocation } from "wouter";

import { useAction } from "../daemon/queries";
import { Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { say } from "../parts/toasts";

export function SetBeacon({ root, symbols, close }: { root: string; symbols: string[]; close: () => void }) {
  const [, navigate] = useLocation();
  const set = useAction("beacon_set", (beacon) => {
    say(`${beacon.name} follows its code from now on.`);
    close();
    navigate(`/code/beacons?${new URLSearchParams({ repo: root })}`);
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    set.mutate({
      path: root,
      name: text("name"),
      note: text("note"),
      symbols: text("symbols")
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean),
    });
  };
  return (
    <Sheet title="Set a beacon" close={close}>
      <form onSubmit={submit}>
        <label>
          Name
          <input className="field" name="name" required maxLength={100} autoFocus />
        </label>
        <label>
          Code, one per line: a name or path:line
          <textarea
            className="field mono"
            name="symbols"
            required
            rows={Math.max(2, symbols.length + 1)}
            placeholder={"src/auth.rs:check_token\nKeyStore"}
            defaultValue={symbols.join("\n")}
          />
        </label>
        <label>
          Note
          <textarea className="field" name="note" maxLength={2000} rows={2} />
        </label>
        {set.error ? <Trouble error={set.error} /> : null}
        <div className="actions">
          <button type="button" className="button plain" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={set.isPending}>
            Save
          </button>
        </div>
      </form>
    </Sheet>
  );
}
