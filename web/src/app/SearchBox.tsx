// A box to ask in; `f` goes there.

import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";

import { useShortcuts } from "./shortcuts";

interface SearchBoxProps {
  /** What is asked for now. */
  query: string;
  ask: (text: string) => void;
  label: string;
  placeholder: string;
  /** What narrows the answer, behind the box. */
  children?: ReactNode;
}

export function SearchBox({ query, ask, label, placeholder, children }: SearchBoxProps) {
  const [text, setText] = useState(query);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setText(query), [query]);
  useShortcuts({ f: () => field.current?.focus() });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask(text.trim());
  };
  return (
    <form className="ask" role="search" onSubmit={submit}>
      <input
        ref={field}
        className="field"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        maxLength={500}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          // Emptied by its own cross: back to what is there without a question.
          if (!event.target.value && query) ask("");
        }}
      />
      <button type="submit" className="button">
        Find
      </button>
      {children}
    </form>
  );
}
