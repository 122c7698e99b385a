// A form for a new MCP server: a program that is started, or an address.

import { type FormEvent, useState } from "react";

import { useAction } from "../daemon/queries";
import { Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { say } from "../parts/toasts";
import { undoChange } from "../system/settings/changes";

export function AddServer({ close, added }: { close: () => void; added: (name: string) => void }) {
  const [kind, setKind] = useState<"program" | "address">("program");
  const add = useAction("mcp_server_add", ({ change }, { name }) => {
    say(`${name} is added.`, "good", { word: "Undo", act: () => undoChange(change.change) });
    added(name);
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    const lines = (name: string) => text(name).split("\n").map((line) => line.trim()).filter(Boolean);
    add.mutate(
      kind === "address"
        ? { name: text("name"), url: text("url") }
        : { name: text("name"), command: text("command"), args: lines("args"), env: text("env").split(/[\s,]+/).filter(Boolean) },
    );
  };
  return (
    <Sheet title="Add an MCP server" close={close}>
      <form onSubmit={submit}>
        <label>
          Name
          <input className="field mono" name="name" required maxLength={40} placeholder="files" />
        </label>
        <label>
          What it is
          <select className="field" value={kind} onChange={(event) => setKind(event.target.value as typeof kind)}>
            <option value="program">A program that is started here</option>
            <option value="address">An address (streamable HTTP)</option>
          </select>
        </label>
        {kind === "program" ? (
          <>
            <label>
              Command
              <input className="field mono" name="command" required placeholder="npx" />
            </label>
            <label>
              Arguments, one on each line
              <textarea className="field mono" name="args" rows={3} spellCheck={false} placeholder={"-y\n@modelcontextprotocol/server-filesystem"} />
            </label>
            <label>
              Names of variables it is given
              <input className="field mono" name="env" placeholder="GITHUB_TOKEN" />
            </label>
            <p className="quiet">The variables are those of the daemon; their values are not written into the file.</p>
          </>
        ) : (
          <label>
            Address
            <input className="field mono" name="url" type="url" required placeholder="https://example.com/mcp" />
          </label>
        )}
        {add.error ? <Trouble error={add.error} /> : null}
        <p className="actions">
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={add.isPending}>
            Add
          </button>
        </p>
      </form>
    </Sheet>
  );
}
