// A live terminal in a tile, as wide as the tile, or as its letters must be to be
// read. It paints in turn with the others, and only while it can be seen.

import { useEffect, useRef, useState } from "react";

import { isPhone } from "../app/phone";
import { useNear } from "../parts/useNear";
import { TerminalLink } from "./link";
import { Painter } from "./paint";
import type { Terminal } from "./xterm";

interface Props {
  slot: string;
  label: string;
}

/** How often the words of a tile are written down for whoever looks for them. */
const WORDS_MS = 1000;

export function Screen({ slot, label }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const seen = useNear(frame, 120);
  const [state, setState] = useState<"waiting" | "live" | "lost" | "ended">("waiting");

  useEffect(() => {
    const [outside, inside] = [frame.current, canvas.current];
    if (!seen || !outside || !inside) return;
    let gone = false;
    let end = () => {};
    void Promise.all([import("./xterm"), import("./picture")]).then(([{ makeTerminal }, { Picture }]) => {
      if (gone) return;
      const terminal = makeTerminal(120, 40);
      const picture = new Picture(inside, terminal);
      let words: ReturnType<typeof setTimeout> | undefined;
      const painter = new Painter(terminal, () => {
        picture.draw();
        follow();
        link.drawn();
        setState((now) => (now === "waiting" ? "live" : now));
        words ??= setTimeout(() => {
          words = undefined;
          inside.textContent = picture.text();
        }, WORDS_MS);
      });
      let hidden = 0;
      // Of a picture that is higher than its tile the part around the cursor is seen.
      const follow = () => {
        const above = Math.max(0, Math.min(hidden, picture.used() - LEAST_HEIGHT + 2 * MARGIN));
        inside.style.top = `${MARGIN - above}px`;
      };
      const fit = () => {
        const narrow = isPhone();
        const least = narrow ? terminal.cols * LEAST_CELL : 0;
        const height = picture.fit(Math.max(outside.clientWidth - 2 * MARGIN, least));
        if (height <= 0) return;
        const shown = narrow ? Math.min(height + 2 * MARGIN, LEAST_HEIGHT) : height + 2 * MARGIN;
        hidden = Math.max(0, height + 2 * MARGIN - shown);
        outside.style.height = `${Math.round(shown)}px`;
        follow();
      };
      const resized = new ResizeObserver(fit);
      resized.observe(outside);
      const link = new TerminalLink(
        slot,
        {
          size: (columns, rows) => {
            terminal.resize(columns, rows);
            fit();
          },
          bytes: (bytes) => painter.write(bytes),
          taken: () => {},
          refused: () => {},
          ended: () => setState("ended"),
          // Live only when something of it is drawn.
          connected: (connected) => setState(connected ? "waiting" : "lost"),
        },
        "paced",
      );
      end = () => {
        link.close();
        painter.stop();
        clearTimeout(words);
        resized.disconnect();
        terminal.dispose();
      };
    });
    return () => {
      gone = true;
      end();
    };
  }, [slot, seen]);

  return (
    <div ref={frame} className="screen" data-state={state} role="img" aria-label={label}>
      <canvas ref={canvas} className="screen-picture" />
    </div>
  );
}

const MARGIN = 6;

/** On a phone a tile shows a part of its terminal, in letters that can be read. */
const LEAST_CELL = 6.25;
const LEAST_HEIGHT = 200;

/** Shows the whole terminal in the width there is. */
export function scale(outside: HTMLElement, inside: HTMLElement, terminal: Terminal): void {
  const drawn = terminal.element?.querySelector<HTMLElement>(".xterm-screen");
  if (!drawn || drawn.offsetWidth === 0) return;
  const factor = (outside.clientWidth - 2 * MARGIN) / drawn.offsetWidth;
  inside.style.transform = `translate(${MARGIN}px, ${MARGIN}px) scale(${factor})`;
  outside.style.height = `${Math.round(drawn.offsetHeight * factor + 2 * MARGIN)}px`;
}
