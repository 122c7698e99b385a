// What the rest of a repository leans on most, as much as fits a budget: what an
// agent that is new here is given to read.

import { type FormEvent, useState } from "react";
import { Link, useSearchParams } from "wouter";

import { useOperation } from "../daemon/queries";
import { Loaded, Nothing } from "../parts/Loaded";
import { say } from "../parts/toasts";
import { Fresh, symbolAddress } from "./place";

const BUDGETS = [1000, 2000, 4000, 8000, 16_000, 32_000];

export function CodeMap({ root }: { root: string }) {
  const [search, setSearch] = useSearchParams();
  const tokens = Number(search.get("tokens") ?? 2000) || 2000;
  const focus = search.get("focus") ?? "";
  const [text, setText] = useState(focus);
  const set = (budget: number, from: string) =>
    setSearch(
      { repo: root, ...(budget === 2000 ? {} : { tokens: String(budget) }), ...(from ? { focus: from } : {}) },
      { replace: true },
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set(tokens, text.trim());
  };
  const map = useOperation(
    "code_map",
    { path: root, tokens, focus: focus.split(/[\s,]+/).filter(Boolean) },
    { placeholder: "keep" },
  );
  return (
    <div className="stack code">
      <form className="ask" onSubmit={submit}>
        <label>
          Budget
          <select className="field" value={tokens} onChange={(event) => set(Number(event.target.value), focus)}>
            {[...new Set([...BUDGETS, tokens])]
              .sort((a, b) => a - b)
              .map((each) => (
                <option key={each} value={each}>
                  {each.toLocaleString("en")} tokens
                </option>
              ))}
          </select>
        </label>
        <input
          className="field mono"
          type="search"
          aria-label="Focus on files or folders"
          placeholder="Focus on files or folders, like src/store"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button">
          Show
        </button>
        {map.data?.text ? (
          <button
            type="button"
            className="button plain"
            onClick={() =>
              void navigator.clipboard.writeText(map.data.text).then(
                () => say("The map is on the clipboard."),
                () => say("The browser does not let this page use the clipboard.", "wait"),
              )
            }
          >
            Copy as text
          </button>
        ) : null}
      </form>
      <Loaded of={map} lines={14}>
        {(drawn) => (
          <>
            <Fresh of={drawn.freshness} />
            {drawn.unknown_focus && drawn.unknown_focus.length > 0 ? (
              <p className="notice">No file matches {drawn.unknown_focus.join(", ")}.</p>
            ) : null}
            {drawn.text ? (
              <>
                <p className="quiet">
                  {drawn.symbols_shown} of {drawn.symbols} symbols in {drawn.files_shown} of {drawn.files} files, about{" "}
                  {drawn.tokens.toLocaleString("en")} tokens.
                </p>
                <Drawn root={root} text={drawn.text} />
              </>
            ) : (
              <Nothing title="There is nothing to map">
                <p>No symbol was read in this repository, or none fits the budget.</p>
              </Nothing>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}

interface File {
  path: string;
  about: string;
  lines: { line: string; words: string }[];
}

/** The text is a path with a sentence, then `  12 signature` for each symbol. */
function read(text: string): File[] {
  const files: File[] = [];
  for (const line of text.split("\n")) {
    const symbol = /^ {2}(\d+) (.*)$/.exec(line);
    if (symbol) files.at(-1)?.lines.push({ line: symbol[1] ?? "", words: symbol[2] ?? "" });
    else if (line && !line.startsWith(" ")) {
      const end = line.indexOf(": ");
      files.push({
        path: end < 0 ? line : line.slice(0, end),
        about: end < 0 ? "" : line.slice(end + 2),
        lines: [],
      });
    } else {
      // A signature that goes on.
      const last = files.at(-1)?.lines.at(-1);
      if (last && line) last.words += `\n${line}`;
    }
  }
  return files;
}

function Drawn({ root, text }: { root: string; text: string }) {
  return (
    <ul className="topology" aria-label="Map">
      {read(text).map((file) => (
        <li key={file.path}>
          <p>
            <Link href={symbolAddress(root, file.path)} className="mono">
              {file.path}
            </Link>{" "}
            <span className="quiet">{file.about}</span>
          </p>
          <ul>
            {file.lines.map((symbol) => (
              <li key={symbol.line + symbol.words}>
                <Link href={symbolAddress(root, `${file.path}:${symbol.line}`)} className="number">
                  {symbol.line}
                </Link>
                <code>{symbol.words}</code>
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
