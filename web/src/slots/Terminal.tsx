// The terminal of a slot, alone: watched at first, and typed into by whoever
// takes it over, until it is handed back.

import { type FormEvent, useEffect, useRef, useState } from "react";

import type { SlotSummary } from "../generated/operations";
import { say } from "../parts/toasts";
import { TerminalLink, type Taken } from "./link";
import { scale } from "./Screen";
import { tellSlot } from "./slotCommands";
import { makeTerminal, type Terminal as Xterm } from "./xterm";

interface Props {
  slot: SlotSummary;
  /** Off where there is another way to tell the agent something. */
  talk?: boolean;
  /** It is to be taken over at once; called when that was asked for. */
  take?: (() => void) | undefined;
}

export function Terminal({ slot, talk = true, take }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const held = useRef<{ link: TerminalLink; terminal: Xterm } | null>(null);
  const [taken, setTaken] = useState<Taken>("nobody");
  const [state, setState] = useState<"waiting" | "live" | "lost" | "ended">("waiting");

  useEffect(() => {
    const [outside, inside] = [frame.current, inner.current];
    if (!outside || !inside) return;
    const terminal = makeTerminal(120, 40);
    terminal.open(inside);
    const show = () => scale(outside, inside, terminal);
    const resized = new ResizeObserver(show);
    resized.observe(outside);
    const link = new TerminalLink(slot.slot, {
      size: (columns, rows) => {
        terminal.resize(columns, rows);
        show();
      },
      bytes: (bytes) => terminal.write(bytes),
      taken: (by) => {
        setTaken(by);
        terminal.options.disableStdin = by !== "you";
      },
      refused: (message) => say(message, "wait"),
      ended: () => setState("ended"),
      connected: (connected) => setState(connected ? "live" : "lost"),
    });
    terminal.onData((data) => link.type(data));
    held.current = { link, terminal };
    return () => {
      held.current = null;
      link.close();
      resized.disconnect();
      terminal.dispose();
    };
  }, [slot.slot]);

  const mine = taken === "you";
  useEffect(() => {
    // Only now: what is inert cannot have the focus.
    if (mine) held.current?.terminal.focus();
  }, [mine]);

  useEffect(() => {
    if (!take || state !== "live") return;
    held.current?.link.take();
    take();
  }, [take, state]);

  return (
    <>
      <div className="terminal-bar">
        <span className="mark" data-tone={state === "live" ? "good" : state === "lost" ? "wait" : "rest"}>
          {state === "live"
            ? mine
              ? "you have the keyboard"
              : taken === "somebody"
                ? "somebody else has the keyboard"
                : "watching"
            : state === "lost"
              ? "connection lost"
              : state === "ended"
                ? "ended"
                : "connecting"}
        </span>
        {mine ? (
          <>
            <button type="button" className="button small spread" onClick={() => fitWindow(frame.current, held.current)}>
              Fit to this window
            </button>
            <button type="button" className="button small primary" onClick={() => held.current?.link.release()}>
              Hand back
            </button>
          </>
        ) : (
          <button
            type="button"
            className="button small spread"
            disabled={state !== "live"}
            onClick={() => held.current?.link.take()}
          >
            Take over
          </button>
        )}
      </div>
      <div
        ref={frame}
        className={mine ? "screen alone taken" : "screen alone"}
        data-state={state}
        role="region"
        aria-label={`Terminal of ${slot.name}`}
      >
        <div ref={inner} className="screen-inner" inert={!mine} />
      </div>
      {mine || !talk ? null : <Say slot={slot} />}
    </>
  );
}

/** As many columns and rows as are readable here without being scaled. */
function fitWindow(frame: HTMLElement | null, held: { link: TerminalLink; terminal: Xterm } | null): void {
  const drawn = held?.terminal.element?.querySelector<HTMLElement>(".xterm-screen");
  if (!frame || !held || !drawn) return;
  const cell = { width: drawn.offsetWidth / held.terminal.cols, height: drawn.offsetHeight / held.terminal.rows };
  const room = window.innerHeight - frame.getBoundingClientRect().top - 24;
  held.link.resize(
    Math.max(20, Math.floor(frame.clientWidth / cell.width)),
    Math.max(8, Math.floor(room / cell.height)),
  );
  held.terminal.focus();
}

/** Text for an agent nobody has taken over: typed when its prompt is free. */
function Say({ slot }: { slot: SlotSummary }) {
  const [text, setText] = useState("");
  const [sending, setSending] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!text.trim()) return;
    setSending(true);
    if (await tellSlot(slot.slot, text)) setText("");
    setSending(false);
  };
  return (
    <form className="words" onSubmit={(event) => void submit(event)}>
      <textarea
        className="field"
        rows={2}
        aria-label={`Tell ${slot.name}`}
        placeholder="Tell it something; it is typed when the prompt is free…"
        value={text}
        disabled={sending}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey) void submit(event);
        }}
      />
      <button type="submit" className="button" disabled={sending || !text.trim()}>
        {sending ? "Waiting for the prompt…" : "Send"}
      </button>
    </form>
  );
}
