// A live terminal that fills the width it is given. As a tile it paints in turn
// with the others and only while it can be seen; alone it paints at once.

import { useEffect, useRef, useState } from "react";

import { TerminalLink } from "./link";
import { Painter } from "./paint";
import type { Terminal } from "./xterm";

interface Props {
  slot: string;
  label: string;
  tile?: boolean;
}

export function Screen({ slot, label, tile = true }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const seen = useSeen(frame);
  const [state, setState] = useState<"waiting" | "live" | "lost" | "ended">("waiting");

  useEffect(() => {
    const [outside, inside] = [frame.current, inner.current];
    if (!seen || !outside || !inside) return;
    let gone = false;
    let end = () => {};
    void import("./xterm").then(({ makeTerminal }) => {
      if (gone) return;
      const terminal = makeTerminal(120, 40);
      terminal.open(inside);
      const painter = new Painter(terminal, tile ? "in turn" : "now", () => link.drawn());
      const fit = () => scale(outside, inside, terminal);
      const resized = new ResizeObserver(fit);
      resized.observe(outside);
      const link = new TerminalLink(slot, {
        size: (columns, rows) => {
          terminal.resize(columns, rows);
          fit();
        },
        bytes: (bytes) => painter.write(bytes),
        taken: () => {},
        refused: () => {},
        ended: () => setState("ended"),
        connected: (connected) => setState(connected ? "live" : "lost"),
      }, "paced");
      end = () => {
        link.close();
        painter.stop();
        resized.disconnect();
        terminal.dispose();
      };
    });
    return () => {
      gone = true;
      end();
    };
  }, [slot, seen, tile]);

  return (
    <div ref={frame} className="screen" data-state={state} role="img" aria-label={label}>
      <div ref={inner} className="screen-inner" inert />
    </div>
  );
}

const MARGIN = 6;

/** Shows the whole terminal in the width there is. */
export function scale(outside: HTMLElement, inside: HTMLElement, terminal: Terminal): void {
  const drawn = terminal.element?.querySelector<HTMLElement>(".xterm-screen");
  if (!drawn || drawn.offsetWidth === 0) return;
  const factor = (outside.clientWidth - 2 * MARGIN) / drawn.offsetWidth;
  inside.style.transform = `translate(${MARGIN}px, ${MARGIN}px) scale(${factor})`;
  outside.style.height = `${Math.round(drawn.offsetHeight * factor + 2 * MARGIN)}px`;
}

function useSeen(frame: React.RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!frame.current) return;
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting ?? false), {
      rootMargin: "120px",
    });
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, [frame]);
  return seen;
}
