// A comment on a line: written, and as it stands there until it is sent.

import { type FormEvent, useEffect, useRef, useState } from "react";

import type { DraftComment } from "./draft";

export function KeptComment({ comment, remove }: { comment: DraftComment; remove: (id: number) => void }) {
  return (
    <div className="said-inner">
      <p className="prose">{comment.text}</p>
      <button
        type="button"
        className="button plain small"
        aria-label={`Remove the comment on line ${comment.line}`}
        onClick={() => remove(comment.id)}
      >
        Remove
      </button>
    </div>
  );
}

export function WriteComment({ label, cancel, save }: { label: string; cancel: () => void; save: (text: string) => void }) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (text.trim()) save(text.trim());
  };
  return (
    <form className="said-inner" onSubmit={submit}>
      <textarea
        ref={field}
        className="field"
        rows={3}
        aria-label={label}
        placeholder="What should be different here?"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") cancel();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        }}
      />
      <span className="said-buttons">
        <button type="submit" className="button primary small" disabled={!text.trim()}>
          Add comment
        </button>
        <button type="button" className="button plain small" onClick={cancel}>
          Cancel
        </button>
      </span>
    </form>
  );
}
