// Starting an agent, or a bare terminal, in a folder: its run has a journal, and
// belongs to no task.

import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";

import { recall, remember } from "../app/remember";
import { useAction } from "../daemon/queries";
import type { Permission, RepositorySummary } from "../generated/operations";
import { Trouble } from "../parts/Loaded";
import { Sheet } from "../parts/Sheet";
import { say } from "../parts/toasts";
import { type AgentChoice, AgentFields } from "./AgentFields";
import { words } from "./engines";
import { RepositoryField } from "./RepositoryField";
import "./start.css";

interface Props {
  close: () => void;
  /** The folder that is proposed; the last one when left out. */
  folder?: string;
}

const USUAL: AgentChoice = { engine: "claude", model: "", permission: "ask", control: "", args: "" };

export function StartAgent({ close, folder }: Props) {
  const [, navigate] = useLocation();
  const [terminal, setTerminal] = useState(false);
  const [agent, setAgent] = useState<AgentChoice>(() => ({ ...USUAL, ...recall("start.agent", USUAL) }));
  const [path, setPath] = useState(() => folder ?? recall("repository", ""));
  const [found, setFound] = useState<RepositorySummary>();
  const [prompt, setPrompt] = useState("");
  const [name, setName] = useState("");
  const [command, setCommand] = useState("");
  const [trusted, setTrusted] = useState(false);
  const begun = (to: string, what: string) => {
    remember("start.agent", agent);
    remember("repository", found?.path ?? path);
    say(`${what} is started.`);
    close();
    navigate(to);
  };
  const start = useAction("execution_start", (run) => begun(`/executions/${run.execution}`, run.slot_name ?? run.engine));
  const spawn = useAction("slot_spawn", (slot) => begun(`/slots/${slot.slot}`, slot.name));
  const trouble = terminal ? spawn.error : start.error;

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const cwd = found?.path ?? path.trim();
    const slotName = name.trim() ? { name: name.trim() } : {};
    if (terminal) {
      spawn.mutate({ argv: words(command), cwd, ...slotName });
      return;
    }
    const args = words(agent.args);
    start.mutate({
      engine: agent.engine,
      cwd,
      permission: agent.permission as Permission,
      trust_folder: trusted,
      ...slotName,
      ...(prompt.trim() ? { prompt: prompt.trim() } : {}),
      ...(agent.control ? { control: agent.control } : {}),
      ...(agent.model.trim() ? { model: agent.model.trim() } : {}),
      ...(args.length > 0 ? { args } : {}),
    });
  };

  return (
    <Sheet title="Start an agent" close={close}>
      <form onSubmit={submit}>
        <fieldset className="choice">
          <legend className="visually-hidden">What to start</legend>
          <label>
            <input type="radio" name="what" checked={!terminal} onChange={() => setTerminal(false)} /> Agent
          </label>
          <label>
            <input type="radio" name="what" checked={terminal} onChange={() => setTerminal(true)} /> Terminal
          </label>
        </fieldset>
        {terminal ? (
          <label>
            Command
            <input
              className="field mono"
              required
              autoFocus
              value={command}
              placeholder="bash"
              spellCheck={false}
              onChange={(event) => setCommand(event.target.value)}
            />
          </label>
        ) : (
          <label>
            First prompt
            <textarea
              className="field"
              rows={4}
              autoFocus
              value={prompt}
              placeholder="What the agent is to do; it only starts when this is empty"
              onChange={(event) => setPrompt(event.target.value)}
            />
          </label>
        )}
        {terminal ? null : <AgentFields value={agent} change={setAgent} />}
        <RepositoryField label="Folder" value={path} change={setPath} found={setFound} />
        <div className="pair">
          <label>
            Name
            <input
              className="field"
              value={name}
              placeholder="Made up when empty"
              spellCheck={false}
              onChange={(event) => setName(event.target.value)}
            />
          </label>
          {terminal ? null : (
            <label className="tick">
              <input type="checkbox" checked={trusted} onChange={(event) => setTrusted(event.target.checked)} />
              Trust this folder when the agent asks
            </label>
          )}
        </div>
        {trouble ? <Trouble error={trouble} /> : null}
        <div className="actions">
          <button type="button" className="button plain" onClick={close}>
            Cancel
          </button>
          <button
            type="submit"
            className="button primary"
            disabled={start.isPending || spawn.isPending || path.trim() === ""}
          >
            Start
          </button>
        </div>
      </form>
    </Sheet>
  );
}
