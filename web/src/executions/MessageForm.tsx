// A message to a running agent, typed for it when it waits for one.

import { type FormEvent, useEffect, useRef, useState } from "react";

import { useAction } from "../daemon/queries";
import { complain, say } from "../parts/toasts";

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
  const send = useAction("execution_message", (_, sent) => {
    say("Sent: the agent gets it as soon as it waits for a message.");
    // What was typed meanwhile is the next one.
    if (field.current?.value.trim() !== sent.text) return;
    setText("");
    close?.();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() && !send.isPending) send.mutate({ execution, text: text.trim() }, { onError: complain });
  };
  return (
    <form className={opened ? "words row-message" : "words"} onSubmit={submit}>
      <textarea
        ref={field}
        className="field"
        rows={rows}
        aria-label="A message to the agent"
        placeholder="A message to the agent…"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey) submit(event);
          else if (event.key === "Escape") close?.();
        }}
      />
      <span className="answer-buttons">
        <button type="submit" className="button primary" disabled={send.isPending || !text.trim()}>
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
