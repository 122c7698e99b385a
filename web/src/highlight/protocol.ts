// What the page and the thread that highlights say to each other.

/** How a run of text is drawn. */
export const KINDS = ["keyword", "string", "comment", "number", "title", "type", "name", "mark"] as const;

export type Kind = (typeof KINDS)[number];

/** A line as runs: a length and a kind, counted from one, 0 for plain; again and again. */
export type Lines = number[][];

export interface Task {
  id: number;
  language: string;
  texts: string[];
}

export interface Done {
  id: number;
  /** Nothing when the language is not known or a text could not be read. */
  lines?: Lines[];
}
