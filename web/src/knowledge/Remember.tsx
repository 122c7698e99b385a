// Something to remember, or another wording for what is remembered. What it turns
// out to contradict or repeat is said at once.

import type { FormEvent } from "react";
import { useLocation } from "wouter";

import { useAction } from "../daemon/queries";
import type { EntryCategory, KbEntry } from "../generated/operations";
import { Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { say } from "../parts/toasts";
import { came } from "./came";
import { CATEGORIES } from "./category";

export function Remember({ entry, close }: { entry?: KbEntry; close: () => void }) {
  const [, navigate] = useLocation();
  const remember = useAction("kb_remember", (result) => {
    const { words, tone } = came(result);
    say(words, tone);
    close();
    if (!entry) navigate(`/knowledge/entry/${result.entry.id}`);
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const [key, scope] = entry ? [entry.key, entry.scope ?? ""] : [text("key"), text("scope")];
    remember.mutate({
      summary: text("summary"),
      detail: text("detail"),
      category: text("category") as EntryCategory,
      labels: text("labels")
        .split(",")
        .map((label) => label.trim())
        .filter(Boolean),
      source: entry?.source ?? "web board",
      tier: "person",
      ...(key ? { key } : {}),
      ...(scope ? { scope } : {}),
    });
  };
  return (
    <Sheet title={entry ? "Edit entry" : "New entry"} close={close}>
      <form onSubmit={submit}>
        <label>
          Summary, in one sentence
          <textarea className="field" name="summary" required maxLength={4000} rows={2} defaultValue={entry?.summary} autoFocus />
        </label>
        <label>
          Details
          <textarea className="field" name="detail" rows={7} defaultValue={entry?.detail} />
        </label>
        <div className="pair">
          <label>
            Category
            <select className="field" name="category" defaultValue={entry?.category ?? "note"}>
              {CATEGORIES.map((category) => (
                <option key={category}>{category}</option>
              ))}
            </select>
          </label>
          <label>
            Labels, separated by commas
            <input className="field" name="labels" defaultValue={entry?.labels.join(", ")} />
          </label>
        </div>
        {entry ? null : (
          <div className="pair">
            <label>
              Key
              <input className="field mono" name="key" placeholder="made from the text" />
            </label>
            <label>
              Project
              <input className="field" name="scope" placeholder="all" />
            </label>
          </div>
        )}
        {remember.error ? <Trouble error={remember.error} /> : null}
        <div className="actions">
          <button type="button" className="button plain" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={remember.isPending}>
            Save
          </button>
        </div>
      </form>
    </Sheet>
  );
}
