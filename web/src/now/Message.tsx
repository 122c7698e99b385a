// A message to a running agent, typed when it waits for one.

import { type FormEvent, useEffect, useRef, useState } from "react";

import { useAction } from "../daemon/queries";
import { complain, say } from "../parts/toasts";

export function Message({ execution, close }: { execution: string; close: () => void }) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = useAction("execution_message", () => {
    say("Sent: the agent gets it as soon as it waits for a message.");
    close();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() && !send.isPending) send.mutate({ execution, text: text.trim() }, { onError: complain });
  };
  return (
    <form className="words row-message" onSubmit={submit}>
      <textarea
        ref={field}
        className="field"
        rows={2}
        aria-label="Message to the agent"
        placeholder="Message to the agent…"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey) submit(event);
          else if (event.key === "Escape") close();
        }}
      />
      <span className="answer-buttons">
        <button type="submit" className="button primary" disabled={send.isPending || !text.trim()}>
          Send
        </button>
        <button type="button" className="button plain" onClick={close}>
          Cancel
        </button>
      </span>
    </form>
  );
}
