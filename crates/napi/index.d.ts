/** What an agent is doing. */
export type State =
  | 'starting'
  | 'idle'
  | 'thinking'
  | 'responding'
  | 'tool_running'
  | 'confirming'
  | 'error'
  | 'slash_menu'
  | 'unknown'
  | 'exited';

export interface TerminalOptions {
  /** Whose manifest reads the screen; see {@link SemanticTerminal.engines}. */
  engine?: string;
  /** The text of a manifest of your own, in YAML. */
  manifest?: string;
  /** 120 when left out. */
  columns?: number;
  /** 40 when left out. */
  rows?: number;
}

/** A state with the reasons to believe it. */
export interface Reading {
  state: State;
  /** One sentence for people. */
  reason: string;
  /** What would make a waiting agent go on. */
  waitingFor?: 'permission' | 'question' | 'trust' | 'login' | 'choice';
  /** 0 (a guess) to 1 (the program said so itself). */
  confidence: number;
  /** How close to the program's own knowledge the signal is. */
  authority: 'process' | 'screen' | 'osc' | 'state_file' | 'protocol';
  evidence: Evidence[];
  /** Since when the state holds, in milliseconds. */
  since: number;
  dialog?: Dialog;
  tool?: Tool;
  /** When it was made, in milliseconds; there on what `feed` and the like return. */
  at?: number;
}

/** One fact a rule rested on. */
export interface Evidence {
  rule: string;
  /** `title`, `status`, `progress`, or the name of a region. */
  source: string;
  row?: number;
  text: string;
}

/** A question with options on the screen. */
export interface Dialog {
  title: string;
  question: string;
  tool?: string;
  arguments?: string;
  options: DialogOption[];
  /** Index of the marked option. */
  selected?: number;
  layout: 'list' | 'buttons';
}

export interface DialogOption {
  label: string;
  /** The number drawn before it, which most programs accept as a key. */
  number?: number;
  row: number;
}

/** A tool call as the screen shows it. */
export interface Tool {
  name: string;
  arguments: string;
  phase: 'running' | 'finished';
  row: number;
}

export interface Screen {
  columns: number;
  rows: number;
  /** The rows as text, without blanks at their ends. */
  lines: string[];
  title: string;
  cursor: Cursor;
  alternate: boolean;
}

/** Counted from 0. */
export interface Cursor {
  row: number;
  column: number;
  visible: boolean;
}

/**
 * A terminal that says what the agent in it is doing. Times are milliseconds
 * from its beginning and never run backwards; where one is left out, the time
 * since the object was made counts.
 */
export class SemanticTerminal {
  constructor(options: TerminalOptions);
  /** The engines that have a manifest built in. */
  static engines(): string[];
  /** Takes what the program wrote; returns the readings that changed before it. */
  feed(bytes: Uint8Array, atMs?: number): Reading[];
  resize(columns: number, rows: number, atMs?: number): Reading[];
  /**
   * Tells what was written to the program's input. A prompt that was just given a
   * text is not free, whatever the screen still shows.
   */
  sent(bytes: Uint8Array, atMs?: number): Reading[];
  /** Lets time pass; call it at the latest at {@link deadline}. */
  advance(atMs?: number): Reading[];
  /** No more output will come: reads what is left. */
  finish(): Reading[];
  /** The program has ended. */
  exited(atMs?: number): Reading[];
  /** When a reading may change without further output, if ever. */
  get deadline(): number | null;
  get reading(): Reading;
  get screen(): Screen;
  /** Answers to what the program asked its terminal, to be written to its input. */
  takeReplies(): Buffer;
  /** Which rule decided, on which rows, and which rules nearly did. */
  explain(atMs?: number): Record<string, unknown>;
}
