// The tools of a server, with what holds some of them back, and a form to try one.

import { useState } from "react";

import { useAction, useOperation } from "../daemon/queries";
import type { McpServer, McpTool } from "../generated/operations";
import { Loaded, Trouble } from "../parts/Loaded";
import { complain, say } from "../parts/toasts";

export function ToolList({ server }: { server: McpServer }) {
  const tools = useOperation("mcp_tool_list", { server: server.name, schemas: true });
  const pin = useAction("mcp_pin", ({ accepted }) =>
    say(`${accepted.length} ${accepted.length === 1 ? "tool" : "tools"} can be called now.`),
  );
  return (
    <section className="section">
      <h2>
        Tools{" "}
        {server.held > 0 ? (
          <button
            type="button"
            className="button small"
            disabled={pin.isPending}
            onClick={() => pin.mutate({ server: server.name }, { onError: complain })}
          >
            Accept all that are held
          </button>
        ) : null}
      </h2>
      <Loaded of={tools}>
        {(list) => (
          <>
            {list.failures.map((failure) => (
              <Trouble key={failure.server} error={new Error(failure.error)} />
            ))}
            <ul className="tool-list">
              {list.tools.map((tool) => (
                <li key={tool.name}>
                  <Tool
                    tool={tool}
                    accept={() => pin.mutate({ server: server.name, tool: shortName(tool) }, { onError: complain })}
                  />
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </section>
  );
}

const shortName = (tool: McpTool) => tool.name.slice(tool.server.length + 2);

function Tool({ tool, accept }: { tool: McpTool; accept: () => void }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="tool" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>{shortName(tool)}</code>
        {tool.held ? (
          <span className="tag" data-tone="wait">
            held
          </span>
        ) : null}
        {tool.claims_read_only ? <span className="tag">says it only reads</span> : null}
        <span className="quiet one-line">{tool.description}</span>
      </summary>
      <div className="tool-body">
        <p className="prose">{tool.description}</p>
        {tool.held ? (
          <p className="trouble">
            {tool.held}
            <button type="button" className="button small" onClick={accept}>
              Accept it as it is
            </button>
          </p>
        ) : null}
        {open ? <Try tool={tool} /> : null}
      </div>
    </details>
  );
}

interface Manifest {
  inputSchema?: { properties?: Record<string, { type?: string; default?: unknown }>; required?: string[] };
}

function Try({ tool }: { tool: McpTool }) {
  const [text, setText] = useState(() => JSON.stringify(begin(tool.manifest as Manifest | undefined), null, 2));
  const [bad, setBad] = useState<Error>();
  const run = useAction("mcp_tool_call");
  const submit = () => {
    try {
      setBad(undefined);
      run.mutate({ tool: tool.name, arguments: JSON.parse(text) as Record<string, unknown> });
    } catch {
      setBad(new Error("The arguments are not JSON."));
    }
  };
  return (
    <>
      <details>
        <summary className="quiet">What it says it takes</summary>
        <pre className="output">{JSON.stringify(tool.manifest, null, 2)}</pre>
      </details>
      <label className="try">
        Arguments
        <textarea
          className="field mono"
          rows={Math.min(12, text.split("\n").length + 1)}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <p>
        <button type="button" className="button primary" disabled={run.isPending || Boolean(tool.held)} onClick={submit}>
          {run.isPending ? "Calling…" : "Call it"}
        </button>
      </p>
      {bad ? <Trouble error={bad} /> : null}
      {run.error ? <Trouble error={run.error} /> : null}
      {run.data ? (
        <figure>
          <figcaption className={run.data.is_error ? "trouble" : "quiet"}>
            {run.data.is_error ? "The tool says that it failed" : "It answered"} after {run.data.duration_ms.toFixed(0)} ms
          </figcaption>
          <pre className="output" tabIndex={0} role="region" aria-label="Result">
            {shown(run.data.result)}
          </pre>
        </figure>
      ) : null}
    </>
  );
}

/** Arguments to begin with: what is required, empty. */
function begin(manifest: Manifest | undefined): Record<string, unknown> {
  const schema = manifest?.inputSchema;
  const empty: Record<string, unknown> = { string: "", number: 0, integer: 0, boolean: false, array: [], object: {} };
  return Object.fromEntries(
    (schema?.required ?? []).map((name) => {
      const property = schema?.properties?.[name];
      return [name, property?.default ?? empty[property?.type ?? "string"] ?? null];
    }),
  );
}

/** Text content as text, anything else as it came. */
function shown(result: unknown): string {
  const content = (result as { content?: { type: string; text?: string }[] }).content;
  if (Array.isArray(content) && content.length > 0 && content.every((part) => part.type === "text")) {
    return content.map((part) => part.text).join("\n");
  }
  return JSON.stringify(result, null, 2);
}
