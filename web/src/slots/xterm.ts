// xterm.js as we use it: the colours of the page, no bell, no scrollback, since
// what is behind the screen is in the recording. Loaded with the first terminal.

import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

export type { Terminal };

const COLOURS = {
  background: "#0d0e11",
  foreground: "#d8d6d0",
  cursor: "#d8d6d0",
  cursorAccent: "#0d0e11",
  selectionBackground: "#3a4756",
  black: "#1d2025",
  red: "#e0776d",
  green: "#86c795",
  yellow: "#dcae5d",
  blue: "#78acd6",
  magenta: "#c093cf",
  cyan: "#74bfc0",
  white: "#d8d6d0",
  brightBlack: "#7c7a74",
  brightRed: "#f0958c",
  brightGreen: "#a3dcb0",
  brightYellow: "#f0c987",
  brightBlue: "#9ac7ea",
  brightMagenta: "#d6b1e2",
  brightCyan: "#97d9da",
  brightWhite: "#f5f3ee",
};

export const BACKGROUND = COLOURS.background;
export const FOREGROUND = COLOURS.foreground;
/** The sixteen colours that have names, in their order. */
export const PALETTE = [
  COLOURS.black,
  COLOURS.red,
  COLOURS.green,
  COLOURS.yellow,
  COLOURS.blue,
  COLOURS.magenta,
  COLOURS.cyan,
  COLOURS.white,
  COLOURS.brightBlack,
  COLOURS.brightRed,
  COLOURS.brightGreen,
  COLOURS.brightYellow,
  COLOURS.brightBlue,
  COLOURS.brightMagenta,
  COLOURS.brightCyan,
  COLOURS.brightWhite,
];

export const FONT_SIZE = 13;
/** Of a drawn row, in font sizes: as high as one of a terminal that is opened. */
export const LINE_HEIGHT = 1.35;

export function makeTerminal(columns: number, rows: number): Terminal {
  return new Terminal({
    cols: columns,
    rows,
    fontSize: FONT_SIZE,
    lineHeight: 1.15,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
    theme: COLOURS,
    scrollback: 0,
    disableStdin: true,
    cursorBlink: false,
    cursorInactiveStyle: "outline",
    allowProposedApi: false,
    screenReaderMode: false,
  });
}
