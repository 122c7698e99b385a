// Dots on a plane, painted: thousands of elements would be slow, and nobody could
// walk through them. One element has the focus, and arrow keys go from dot to dot.

import { type KeyboardEvent, type PointerEvent, useCallback, useEffect, useRef, useState } from "react";

import { watchTheme } from "../app/theme";
import type { EntryCategory, KbPoint } from "../generated/operations";
import { CATEGORIES } from "./category";

interface Props {
  points: KbPoint[];
  /** The ones that were asked for; all when nothing was. */
  lit: ReadonlySet<string> | undefined;
  at: KbPoint | undefined;
  look: (point: KbPoint | undefined) => void;
  open: (point: KbPoint) => void;
}

interface Sight {
  /** What is in the middle, and how many times the whole is enlarged. */
  x: number;
  y: number;
  zoom: number;
}

const WHOLE: Sight = { x: 0, y: 0, zoom: 1 };
const MARGIN = 24;
const REACH = 14;

export function Dots({ points, lit, at, look, open }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [sight, setSight] = useState(WHOLE);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [theme, setTheme] = useState(0);
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);

  useEffect(() => watchTheme(() => setTheme((before) => before + 1)), []);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const scale = (Math.min(size.width, size.height) / 2 - MARGIN) * sight.zoom;
  const place = useCallback(
    (point: KbPoint): [number, number] => [
      size.width / 2 + (point.x - sight.x) * scale,
      size.height / 2 - (point.y - sight.y) * scale,
    ],
    [size, sight, scale],
  );

  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (canvas.current) paint(canvas.current, size, points, lit, at, place);
    });
    return () => cancelAnimationFrame(frame);
  }, [points, lit, at, place, size, theme]);

  // React's own wheel handler is passive, and the page would scroll too.
  useEffect(() => {
    const element = canvas.current;
    if (!element || scale <= 0) return;
    const turned = (event: WheelEvent) => {
      event.preventDefault();
      const factor = Math.exp(-event.deltaY / 400);
      const box = element.getBoundingClientRect();
      const away = [event.clientX - box.left - box.width / 2, box.height / 2 - (event.clientY - box.top)] as const;
      setSight((before) => {
        const zoom = Math.min(40, Math.max(1, before.zoom * factor));
        // What is under the pointer stays there.
        const share = (1 / before.zoom - 1 / zoom) / (scale / before.zoom);
        return zoom === 1 ? WHOLE : { x: before.x + away[0] * share, y: before.y + away[1] * share, zoom };
      });
    };
    element.addEventListener("wheel", turned, { passive: false });
    return () => element.removeEventListener("wheel", turned);
  }, [scale]);

  const under = (event: PointerEvent): KbPoint | undefined => {
    const box = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [nearest, least] = [undefined as KbPoint | undefined, REACH];
    for (const point of points) {
      const [px, py] = place(point);
      const away = Math.hypot(px - x, py - y);
      if (away < least) [nearest, least] = [point, away];
    }
    return nearest;
  };

  const walk = (event: KeyboardEvent) => {
    if (event.key === "Enter" && at) open(at);
    else if (event.key === "Escape") {
      look(undefined);
      setSight(WHOLE);
    } else if (event.key === "+" || event.key === "-") {
      const factor = event.key === "+" ? 1.5 : 1 / 1.5;
      setSight((before) => {
        const zoom = Math.min(40, Math.max(1, before.zoom * factor));
        return zoom === 1 ? WHOLE : { x: at?.x ?? before.x, y: at?.y ?? before.y, zoom };
      });
    } else {
      const towards = DIRECTIONS[event.key];
      if (!towards) return;
      const among = lit ? points.filter((point) => lit.has(point.id)) : points;
      const next = neighbour(among, at, towards);
      if (next) look(next);
    }
    event.preventDefault();
  };

  return (
    <canvas
      ref={canvas}
      className="dots"
      tabIndex={0}
      role="application"
      aria-label={`Map of ${points.length} entries. Arrow keys go from one to the next, Enter opens it.`}
      onKeyDown={walk}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, y: event.clientY, moved: false };
      }}
      onPointerMove={(event) => {
        const from = drag.current;
        if (!from) return look(under(event));
        const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
        if (!from.moved && Math.hypot(dx, dy) < 4) return;
        drag.current = { x: event.clientX, y: event.clientY, moved: true };
        setSight((before) => ({ ...before, x: before.x - dx / scale, y: before.y + dy / scale }));
      }}
      onPointerUp={(event) => {
        const moved = drag.current?.moved;
        drag.current = null;
        const point = under(event);
        // With a finger the first touch says what it is, the second opens it.
        if (moved || !point) return;
        if (event.pointerType === "mouse" || point === at) open(point);
        else look(point);
      }}
      onPointerLeave={() => {
        if (!drag.current) look(undefined);
      }}
    />
  );
}

const DIRECTIONS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

/** The nearest point that way; from nowhere, the one nearest to the middle. */
function neighbour(points: KbPoint[], from: KbPoint | undefined, [dx, dy]: readonly [number, number]): KbPoint | undefined {
  let [best, least] = [undefined as KbPoint | undefined, Number.POSITIVE_INFINITY];
  for (const point of points) {
    const [x, y] = [point.x - (from?.x ?? 0), point.y - (from?.y ?? 0)];
    const along = x * dx + y * dy;
    if (from && (point.id === from.id || along <= 0)) continue;
    // What lies aside is farther than it is.
    const away = from ? Math.hypot(x, y) * (2 - along / Math.max(Math.hypot(x, y), 1e-9)) : Math.hypot(x, y);
    if (away < least) [best, least] = [point, away];
  }
  return best;
}

function paint(
  canvas: HTMLCanvasElement,
  size: { width: number; height: number },
  points: KbPoint[],
  lit: ReadonlySet<string> | undefined,
  at: KbPoint | undefined,
  place: (point: KbPoint) => [number, number],
): void {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  const style = getComputedStyle(canvas);
  const colours = Object.fromEntries(
    CATEGORIES.map((category) => [category, style.getPropertyValue(`--of-${category}`)]),
  ) as Record<EntryCategory, string>;
  const radius = points.length > 800 ? 3 : 4.5;
  const dot = (point: KbPoint, by: number) => {
    const [x, y] = place(point);
    if (x < -by || y < -by || x > size.width + by || y > size.height + by) return;
    context.beginPath();
    context.arc(x, y, by, 0, 2 * Math.PI);
    context.fill();
  };
  for (const point of points) {
    if (lit?.has(point.id)) continue;
    context.globalAlpha = lit ? 0.15 : 0.75;
    context.fillStyle = colours[point.category];
    dot(point, radius);
  }
  context.globalAlpha = 1;
  if (lit) {
    for (const point of points) {
      if (!lit.has(point.id)) continue;
      context.fillStyle = colours[point.category];
      dot(point, radius + 1.5);
    }
  }
  if (at) {
    const [x, y] = place(at);
    context.strokeStyle = style.color;
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(x, y, radius + 4, 0, 2 * Math.PI);
    context.stroke();
  }
}
