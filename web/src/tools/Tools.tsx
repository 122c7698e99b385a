// Other people's MCP servers: how each is, what it offers, what is held until a
// person accepts it, and a place to try a tool.

import { type ReactNode, useState } from "react";

import { useNarrowed } from "../app/address";
import { Bar } from "../app/Menu";
import { useAction, useOperation } from "../daemon/queries";
import type { McpServer, McpServerAction, McpServerState } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { Mark, type Tone } from "../parts/marks";
import { complain, say } from "../parts/toasts";
import { undoChange } from "../system/settings/changes";
import { AddServer } from "./AddServer";
import { ToolList } from "./ToolList";
import "./tools.css";

const STATES: Record<McpServerState, Tone> = {
  disabled: "rest",
  stopped: "rest",
  starting: "work",
  ready: "good",
  unwell: "bad",
  waiting: "wait",
  parked: "bad",
};

const ACTIONS: Record<McpServerAction, string> = { start: "Start", stop: "Stop", restart: "Restart", ping: "Ping" };

export function Tools() {
  const servers = useOperation("mcp_server_list", {});
  const [search, narrow] = useNarrowed();
  const add = (
    <button type="button" className="button" onClick={() => narrow({ new: "server" })}>
      Add server
    </button>
  );
  return (
    <>
      <Bar title="Tools" action={add} />
      {search.has("new") ? (
        <AddServer
          close={() => narrow({ new: null })}
          added={(name) => narrow({ new: null, server: name })}
        />
      ) : null}
      <div className="view" tabIndex={0}>
        <Loaded of={servers}>
          {({ servers: all }) => {
            const chosen = all.find((server) => server.name === search.get("server")) ?? all[0];
            if (!chosen) return <NoServers add={add} />;
            return (
              <div className="tools">
                <ul className="servers" aria-label="Servers">
                  {all.map((server) => (
                    <li key={server.name}>
                      <button
                        type="button"
                        className="server-line"
                        aria-current={server.name === chosen.name}
                        onClick={() => narrow({ server: server.name })}
                      >
                        <span className="one-line">{server.name}</span>
                        {server.held > 0 ? (
                          <span className="tag" data-tone="wait">
                            {server.held} held
                          </span>
                        ) : null}
                        <Mark tone={STATES[server.state]} word={server.state} />
                      </button>
                    </li>
                  ))}
                </ul>
                <Server key={chosen.name} server={chosen} />
              </div>
            );
          }}
        </Loaded>
      </div>
    </>
  );
}

function NoServers({ add }: { add: ReactNode }) {
  return (
    <Nothing title="No MCP server is listed">
      <p>
        The daemon keeps connections to other people's MCP servers, so that agents call their tools without starting
        them. Only you can add one, here or from a terminal:
      </p>
      <pre className="output">
        mission mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/work{"\n"}mission mcp import
      </pre>
      <p>{add}</p>
    </Nothing>
  );
}

function Server({ server }: { server: McpServer }) {
  const [listed, setListed] = useState(server.state === "ready");
  const control = useAction("mcp_server_control", ({ server: now, answered_ms }) => {
    const ping = typeof answered_ms === "number" ? ` It answered in ${answered_ms.toFixed(1)} ms.` : "";
    say(`${now.name} is ${now.state}.${ping}`, now.state === "unwell" || now.state === "parked" ? "bad" : "good");
  });
  const press = (action: McpServerAction) => {
    // Listing tools starts a server: what is to stay stopped is not listed.
    if (action === "stop") setListed(false);
    control.mutate({ server: server.name, action }, { onError: complain });
  };
  const remove = useAction("mcp_server_remove", ({ change }) =>
    say(`${server.name} is removed.`, "rest", { word: "Undo", act: () => undoChange(change.change) }),
  );
  const runs = server.state === "ready" || server.state === "unwell";
  const actions: McpServerAction[] = runs ? ["ping", "restart", "stop"] : ["start"];
  return (
    <section className="stack" aria-label={server.name}>
      <header className="server-head">
        <h2>{server.name}</h2>
        <Mark tone={STATES[server.state]} word={server.state} />
        <span className="server-actions">
          {server.state === "disabled"
            ? null
            : actions.map((action) => (
                <button
                  key={action}
                  type="button"
                  className="button small"
                  disabled={control.isPending}
                  onClick={() => press(action)}
                >
                  {ACTIONS[action]}
                </button>
              ))}
          <button
            type="button"
            className="button small danger"
            disabled={remove.isPending}
            onClick={() => {
              if (window.confirm(`Remove ${server.name} from the list?`)) {
                remove.mutate({ server: server.name }, { onError: complain });
              }
            }}
          >
            Remove
          </button>
        </span>
      </header>
      {server.reason ? <p>{server.reason}</p> : null}
      <dl className="facts">
        <dt>Runs</dt>
        <dd className="mono">{server.target}</dd>
        {server.software ? (
          <>
            <dt>Says it is</dt>
            <dd>
              {server.software}
              {server.protocol ? `, protocol ${server.protocol}` : ""}
            </dd>
          </>
        ) : null}
        <dt>Listed in</dt>
        <dd className="mono">{server.file}</dd>
        <dt>Process</dt>
        <dd>
          {server.pid ?? "none"}, started {server.starts} {server.starts === 1 ? "time" : "times"}, {server.in_flight}{" "}
          calls under way
        </dd>
      </dl>
      {server.stderr.length > 0 ? (
        <details>
          <summary>What it wrote to standard error</summary>
          <pre className="output">{server.stderr.join("\n")}</pre>
        </details>
      ) : null}
      {listed ? (
        <ToolList server={server} />
      ) : server.state === "disabled" ? null : (
        <button type="button" className="button" onClick={() => setListed(true)}>
          Start it and list its tools
        </button>
      )}
    </section>
  );
}
