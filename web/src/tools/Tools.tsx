// Other people's MCP servers: how each is, what it offers, what is held until a
// person accepts it, and a place to try a tool.

import { type ReactNode, useState } from "react";

import { useNarrowed } from "../app/address";
import { Bar } from "../app/Menu";
import { useOperation } from "../daemon/queries";
import type { McpServer, McpServerState } from "../generated/operations";
import { CommandButton } from "../parts/command";
import { Loaded, Nothing } from "../parts/Loaded";
import { Mark, type Tone } from "../parts/marks";
import { AddServer } from "./AddServer";
import { controlCommands, removeServer } from "./serverCommands";
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
  return (
    <section className="stack" aria-label={server.name}>
      <header className="server-head">
        <h2>{server.name}</h2>
        <Mark tone={STATES[server.state]} word={server.state} />
        <span className="server-actions">
          {controlCommands(server).map(({ action, ...command }) => (
            <CommandButton
              key={action}
              command={{
                ...command,
                run: (words) => {
                  // Listing tools starts a server: what is to stay stopped is not listed.
                  if (action === "stop") setListed(false);
                  return command.run(words);
                },
              }}
              small
            />
          ))}
          <CommandButton command={removeServer(server)} small />
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
