// A message to a running agent, typed for it when it waits for one.

import { type FormEvent, useEffect, useRef, useState } from "react";

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
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const message = text.trim();
    if (!message || sending) return;
    setSending(true);
    const sent = await messageAgent(execution, message);
    setSending(false);
    // What was typed meanwhile is the next one.
    if (!sent || field.current?.value.trim() !== message) return;
    setText("");
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
        {close ? (
          <button type="button" className="button plain" onClick={close}>
            Cancel
          </button>
        ) : null}
      </span>
    </form>
  );
}
