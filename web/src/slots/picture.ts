// A terminal drawn small, on a canvas: twenty of them as elements of the page
// would be a hundred thousand letters for the browser to lay out. The terminal
// itself is never opened; it only keeps what is on its screen. Rows that did not
// change are left as they are.

import type { IBufferCell, Terminal } from "@xterm/xterm";

import { BACKGROUND, FOREGROUND, LINE_HEIGHT, PALETTE } from "./xterm";

/** Letters of one look that stand together. */
interface Run {
  column: number;
  columns: number;
  text: string;
  style: Style;
}

interface Style {
  key: string;
  ink: string;
  paper: string;
  bold: boolean;
  faint: boolean;
}

export class Picture {
  private readonly context: CanvasRenderingContext2D | null;
  private drawn: string[] = [];
  private cell = { width: 0, height: 0, size: 0 };
  private family = "monospace";

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly terminal: Terminal,
  ) {
    this.context = canvas.getContext("2d", { alpha: false });
  }

  /** Fills a width, in pixels of the page; how high it is then. */
  fit(width: number): number {
    const { cols, rows } = this.terminal;
    if (!this.context || width <= 0) return 0;
    this.family = getComputedStyle(document.documentElement).getPropertyValue("--mono") || "monospace";
    this.context.font = `100px ${this.family}`;
    const wide = this.context.measureText("W").width / 100;
    const sharp = window.devicePixelRatio || 1;
    const cell = (width * sharp) / cols;
    const size = cell / wide;
    const height = size * LINE_HEIGHT;
    if (cell !== this.cell.width || this.canvas.height !== Math.ceil(height * rows)) {
      this.cell = { width: cell, height, size };
      this.canvas.width = Math.round(width * sharp);
      this.canvas.height = Math.ceil(height * rows);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${this.canvas.height / sharp}px`;
      this.drawn = [];
      this.draw();
    }
    return this.canvas.height / sharp;
  }

  draw(): void {
    const { context, terminal } = this;
    if (!context || this.cell.width === 0) return;
    const buffer = terminal.buffer.active;
    const spare = buffer.getNullCell();
    for (let row = 0; row < terminal.rows; row++) {
      const line = buffer.getLine(buffer.viewportY + row);
      const runs = line ? runsOf(line, terminal.cols, spare) : [];
      const now = runs.map((run) => `${run.column} ${run.style.key} ${run.text}`).join("\n");
      if (now === this.drawn[row]) continue;
      this.drawn[row] = now;
      this.drawRow(context, row, runs);
    }
  }

  /** How far down the screen is in use, in pixels of the page: a line below the cursor. */
  used(): number {
    const { cursorY } = this.terminal.buffer.active;
    const sharp = window.devicePixelRatio || 1;
    return (Math.min(cursorY + 2, this.terminal.rows) * this.cell.height) / sharp;
  }

  /** What can be read on it, for whoever looks for words on the page. */
  text(): string {
    const buffer = this.terminal.buffer.active;
    const lines = Array.from({ length: this.terminal.rows }, (_, row) =>
      buffer.getLine(buffer.viewportY + row)?.translateToString(true),
    );
    return lines.join("\n").trimEnd();
  }

  private drawRow(context: CanvasRenderingContext2D, row: number, runs: Run[]): void {
    const { width, height, size } = this.cell;
    const top = Math.floor(row * height);
    const high = Math.floor((row + 1) * height) - top;
    context.fillStyle = BACKGROUND;
    context.fillRect(0, top, this.canvas.width, high);
    context.textBaseline = "middle";
    for (const { column, columns, text, style } of runs) {
      const left = column * width;
      if (style.paper !== BACKGROUND) {
        context.fillStyle = style.paper;
        context.fillRect(Math.floor(left), top, Math.ceil(columns * width), high);
      }
      if (text.trim() === "") continue;
      context.font = `${style.bold ? "bold " : ""}${size}px ${this.family}`;
      context.globalAlpha = style.faint ? 0.55 : 1;
      context.fillStyle = style.ink;
      context.fillText(text, left, top + high / 2);
      context.globalAlpha = 1;
    }
  }
}

type Line = NonNullable<ReturnType<Terminal["buffer"]["active"]["getLine"]>>;

function runsOf(line: Line, columns: number, spare: IBufferCell): Run[] {
  const runs: Run[] = [];
  let run: Run | undefined;
  let [fore, back, look] = [-1, -1, -1];
  for (let column = 0; column < columns; column++) {
    const cell = line.getCell(column, spare);
    if (!cell) break;
    const width = cell.getWidth();
    // The second half of a wide letter.
    if (width === 0) continue;
    const letters = cell.isInvisible() ? " " : cell.getChars() || " ";
    // A colour with its mode is one number; five thousand cells are looked at for
    // each picture, so nothing is made for a cell that looks like the one before.
    const foreNow = cell.getFgColorMode() | cell.getFgColor();
    const backNow = cell.getBgColorMode() | cell.getBgColor();
    const lookNow = (cell.isBold() ? 1 : 0) | (cell.isDim() ? 2 : 0) | (cell.isInverse() ? 4 : 0);
    const same = foreNow === fore && backNow === back && lookNow === look;
    // Letters of other scripts may be wider than their cell: each begins anew.
    const plain = width === 1 && letters.length === 1 && letters < "\u0250";
    if (run && plain && same) {
      run.text += letters;
      run.columns += 1;
      continue;
    }
    [fore, back, look] = [foreNow, backNow, lookNow];
    const next: Run = { column, columns: width, text: letters, style: styleOf(cell, `${fore},${back},${look}`) };
    runs.push(next);
    run = plain ? next : undefined;
  }
  const last = runs.at(-1);
  if (last && last.style.paper === BACKGROUND) last.text = last.text.trimEnd();
  return runs;
}

const styles = new Map<string, Style>();
/** So many looks are enough for anybody; a program that has more begins again. */
const MOST_STYLES = 5000;

function styleOf(cell: IBufferCell, key: string): Style {
  const known = styles.get(key);
  if (known) return known;
  if (styles.size > MOST_STYLES) styles.clear();
  const bold = cell.isBold() !== 0;
  const fore = cell.isFgDefault()
    ? FOREGROUND
    : colour(cell.isFgRGB(), bold && cell.getFgColor() < 8 && !cell.isFgRGB() ? cell.getFgColor() + 8 : cell.getFgColor());
  const back = cell.isBgDefault() ? BACKGROUND : colour(cell.isBgRGB(), cell.getBgColor());
  const turned = cell.isInverse() !== 0;
  const style = { key, ink: turned ? back : fore, paper: turned ? fore : back, bold, faint: cell.isDim() !== 0 };
  styles.set(key, style);
  return style;
}

function colour(direct: boolean, value: number): string {
  if (direct) return `#${value.toString(16).padStart(6, "0")}`;
  const named = PALETTE[value];
  if (named) return named;
  if (value >= 232) {
    const grey = 8 + (value - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const step = (part: number) => (part === 0 ? 0 : 55 + part * 40);
  const place = value - 16;
  return `rgb(${step(Math.floor(place / 36))} ${step(Math.floor(place / 6) % 6)} ${step(place % 6)})`;
}
