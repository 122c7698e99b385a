// A message to a running agent, given to it when it waits for one, or while it works where
// it takes one then.

import { type FormEvent, useEffect, useRef, useState } from "react";

import { useOperation } from "../daemon/queries";
import type { ExecutionDetails } from "../generated/operations";
import { messageAgent } from "./runCommands";

interface Props {
  execution: string;
  rows?: number;
  /** Where it was opened by a press, it takes the focus and can be closed again. */
  close?: () => void;
}

export function MessageForm({ execution, rows = 3, close }: Props) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const opened = close !== undefined;
  useEffect(() => {
    if (opened) field.current?.focus();
  }, [opened]);
  const [sending, setSending] = useState(false);
  const [now, setNow] = useState(false);
  const whileWorking = takenAtWork(useOperation("execution_show", { execution }).data);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const message = text.trim();
    if (!message || sending) return;
    setSending(true);
    const sent = await messageAgent(execution, message, now && whileWorking ? "now" : "idle");
    setSending(false);
    // What was typed meanwhile is the next one.
    if (!sent || field.current?.value.trim() !== message) return;
    setText("");
    setNow(false);
    close?.();
  };
  return (
    <form className={opened ? "words row-message" : "words"} onSubmit={(event) => void submit(event)}>
      <textarea
        ref={field}
        className="field"
        rows={rows}
        aria-label="A message to the agent"
        placeholder="A message to the agent…"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey) void submit(event);
          else if (event.key === "Escape") close?.();
        }}
      />
      <span className="answer-buttons">
        <button type="submit" className="button primary" disabled={sending || !text.trim()}>
          Send
        </button>
        {whileWorking ? (
          <label className="tick" title={whileWorking}>
            <input type="checkbox" checked={now} onChange={(event) => setNow(event.target.checked)} />
            While it works
          </label>
        ) : null}
        {close ? (
          <button type="button" className="button plain" onClick={close}>
            Cancel
          </button>
        ) : null}
      </span>
    </form>
  );
}

/** What becomes of a message that does not wait for the end of the turn; nothing where it has to. */
function takenAtWork(run: ExecutionDetails | undefined): string | undefined {
  if (!run || run.ended_at) return undefined;
  if (run.control?.by === "terminal") return "It is typed at once: most programs queue it.";
  switch (run.agent?.while_working) {
    case "steers":
      return "The agent hears it in the running turn.";
    case "queues":
      return "The agent takes it at once and keeps it for its next turn.";
    default:
      return undefined;
  }
}
