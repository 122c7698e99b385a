// The browsers that are signed in and the tokens of programs: made, and ended.

import { type FormEvent, useState } from "react";

import { useNarrowed } from "../app/address";
import { useAction, useOperation } from "../daemon/queries";
import type { TokenCreated } from "../generated/operations";
import { CommandButton } from "../parts/command";
import { Loaded, Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { Ago } from "../parts/time";
import { say } from "../parts/toasts";
import { revokeAccess } from "./accessCommands";
import { Pairing } from "./Pairing";

export function Access() {
  const [search, narrow] = useNarrowed();
  return (
    <div className="stack system">
      <section className="section">
        <h2>Another device</h2>
        <p className="config-head">
          <span className="quiet">Sign in on your phone or another browser with a code that works once, within two minutes.</span>
          <button type="button" className="button primary" onClick={() => narrow({ new: "device" })}>
            Pair a phone
          </button>
        </p>
      </section>
      {search.has("new") ? <Pairing close={() => narrow({ new: null })} /> : null}
      <NewToken />
      <Signed />
    </div>
  );
}

const LIFETIMES: [string, number | undefined][] = [
  ["30 days", 30 * 86_400],
  ["1 day", 86_400],
  ["1 year", 365 * 86_400],
  ["until revoked", undefined],
];

function NewToken() {
  const [made, setMade] = useState<TokenCreated>();
  const create = useAction("token_create", setMade);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const seconds = LIFETIMES[Number(data.get("lifetime"))]?.[1];
    create.mutate(
      { name: String(data.get("name") ?? ""), ...(seconds ? { seconds } : {}) },
      { onSuccess: () => form.reset() },
    );
  };
  return (
    <section className="section">
      <h2>New token</h2>
      <p className="quiet">For a program that uses the daemon over HTTP. Settings, tokens and MCP servers stay yours to change.</p>
      <form className="rule-form" onSubmit={submit}>
        <input className="field" name="name" required maxLength={100} aria-label="What the token is for" placeholder="What it is for" />
        <select className="field" name="lifetime" aria-label="How long the token works" defaultValue="0">
          {LIFETIMES.map(([name], index) => (
            <option key={name} value={index}>
              {name}
            </option>
          ))}
        </select>
        <button type="submit" className="button" disabled={create.isPending}>
          Create
        </button>
      </form>
      {create.error ? <Trouble error={create.error} /> : null}
      {made ? <Secret made={made} close={() => setMade(undefined)} /> : null}
    </section>
  );
}

function Secret({ made, close }: { made: TokenCreated; close: () => void }) {
  const copy = () =>
    navigator.clipboard.writeText(made.token).then(
      () => say("The token is copied.", "rest"),
      () => say("The browser does not allow copying; select the token instead.", "bad"),
    );
  return (
    <Sheet title={`Token ${made.access.name}`} close={close}>
      <p>Copy it now: it is shown this once, and the daemon keeps only its fingerprint.</p>
      <pre className="output" tabIndex={0} role="region" aria-label="The token">
        {made.token}
      </pre>
      <p className="actions">
        <button type="button" className="button" onClick={close}>
          Done
        </button>
        <button type="button" className="button primary" onClick={copy}>
          Copy
        </button>
      </p>
    </Sheet>
  );
}

function Signed() {
  const list = useOperation("token_list", {});
  return (
    <section className="section">
      <h2>Browsers and tokens</h2>
      <Loaded of={list}>
        {({ access }) => (
          <div className="scroll-x" role="region" aria-label="Browsers and tokens" tabIndex={0}>
            <table className="table paragraphs">
              <thead>
                <tr>
                  <th>Kind</th>
                  <th>Name</th>
                  <th>Created</th>
                  <th>Last used</th>
                  <th>Expires</th>
                  <th>
                    <span className="visually-hidden">Revoke</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {access.map((each) => (
                  <tr key={each.id}>
                    <td>{each.kind === "session" ? "browser" : "token"}</td>
                    <td>{each.name}</td>
                    <td data-name="created">
                      <Ago at={each.created_at} />
                    </td>
                    <td data-name="last used">{each.last_used_at ? <Ago at={each.last_used_at} /> : null}</td>
                    <td data-name="expires">{each.expires_at ? <Ago at={each.expires_at} /> : "when revoked"}</td>
                    <td>
                      <CommandButton command={revokeAccess(each)} small named />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
    </section>
  );
}
