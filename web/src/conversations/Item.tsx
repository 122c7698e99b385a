// One thing in a conversation: words, a tool with what went in and came out, or
// something that happened to the conversation itself.

import { useState } from "react";

import type { ConversationItem } from "../generated/operations";
import { Mark, type Tone } from "../parts/marks";
import { clock, duration } from "../parts/time";

type Message = Extract<ConversationItem, { kind: "message" }>;
type Call = Extract<ConversationItem, { kind: "tool_call" }>;

export function Item({ item }: { item: ConversationItem }) {
  switch (item.kind) {
    case "message":
      return <MessageItem item={item} />;
    case "tool_call":
      return <CallItem item={item} />;
    case "event":
      return <p className="talk-event quiet">{EVENTS[item.event]}</p>;
  }
}

/** Whether there is something to show of it: that a turn ended is said at its head. */
export const isShown = (item: ConversationItem, noise: boolean): boolean =>
  item.kind === "event" ? item.event in EVENTS : noise || item.kind !== "message" || !item.noise;

const EVENTS: Record<string, string> = {
  interrupted: "It was interrupted.",
  compacted: "The program shortened what its model sees of the conversation.",
};

const NOISE: Record<string, [word: string, why: string]> = {
  command: ["command", "A command of the program, and what it printed"],
  program: ["by the program", "What the program tells its model by itself"],
  summary: ["summary", "Stands for a conversation that was shortened"],
  failure: ["failed", "The request to the model failed"],
  overlong: ["very long", "Longer than 8 KB"],
  binary: ["no text", "What came was no text"],
  empty: ["empty", "Nothing came"],
};

function Noise({ noise }: { noise: string }) {
  const [word, why] = NOISE[noise] ?? [noise, ""];
  return (
    <span className="tag" title={why}>
      {word}
    </span>
  );
}

const LONG = 2400;

function MessageItem({ item }: { item: Message }) {
  const [whole, setWhole] = useState(false);
  const long = item.text.length > LONG;
  return (
    <article className="message" data-role={item.role} data-noise={item.noise ? "" : undefined}>
      <p className="message-head quiet">
        <strong>{item.role === "person" ? "Person" : "Agent"}</strong>
        {item.model ? <span>{item.model}</span> : null}
        {item.noise ? <Noise noise={item.noise} /> : null}
        {item.cut ? (
          <span className="tag" title="A message is kept to 32 KB; the middle of this one is left out">
            shortened
          </span>
        ) : null}
        <time dateTime={item.at} title={new Date(item.at).toLocaleString()}>
          {clock(item.at)}
        </time>
      </p>
      <p className="message-text">{long && !whole ? `${item.text.slice(0, LONG)}…` : item.text}</p>
      {long ? (
        <button type="button" className="button plain small" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Show less" : "Show all"}
        </button>
      ) : null}
    </article>
  );
}

const OUTCOMES: Record<NonNullable<Call["outcome"]>, { tone: Tone; word: string }> = {
  succeeded: { tone: "good", word: "done" },
  failed: { tone: "bad", word: "failed" },
  denied: { tone: "wait", word: "denied" },
};

function CallItem({ item }: { item: Call }) {
  const [open, setOpen] = useState(false);
  const took = item.ended_at ? new Date(item.ended_at).getTime() - new Date(item.at).getTime() : undefined;
  return (
    <details className="call folds" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="call-tool">{item.tool}</span>
        <span className="call-what mono one-line">{gist(item.input)}</span>
        {item.outcome ? <Mark {...OUTCOMES[item.outcome]} /> : <Mark tone="rest" word="not ended" />}
        {took === undefined ? null : <span className="quiet">{duration(took)}</span>}
      </summary>
      {open ? (
        <div className="call-body">
          <h3>Input</h3>
          <pre className="output" tabIndex={0} role="region" aria-label={`Input of ${item.tool}`}>
            {pretty(item.input)}
          </pre>
          <h3>
            Output {item.noise ? <Noise noise={item.noise} /> : null}{" "}
            {item.cut ? (
              <span className="tag" title="An output is kept to 8 KB; the middle of this one is left out">
                shortened
              </span>
            ) : null}
          </h3>
          {item.output ? (
            <pre className="output" tabIndex={0} role="region" aria-label={`Output of ${item.tool}`}>
              {item.output}
            </pre>
          ) : (
            <p className="quiet">{item.outcome ? "Nothing." : "Nothing yet."}</p>
          )}
        </div>
      ) : null}
    </details>
  );
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return undefined;
  }
}

/** The input in one line: the words of its first field that has some. */
function gist(input: string): string {
  const value = parsed(input);
  const words =
    value && typeof value === "object"
      ? Object.values(value).map((each) => (Array.isArray(each) ? each.join(" ") : each))
      : [input];
  const first = words.find((each): each is string => typeof each === "string" && each.trim() !== "");
  return (first ?? (input === "{}" ? "" : input)).trim().split("\n")[0]?.slice(0, 200) ?? "";
}

function pretty(input: string): string {
  const value = parsed(input);
  return value === undefined ? input : JSON.stringify(value, null, 2);
}
