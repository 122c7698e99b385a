// What the pages of the documentation are for, in the order they are listed, and
// the address of each.

import type { DocKind } from "../generated/operations";

export const KINDS: [DocKind, string][] = [
  ["start", "Getting started"],
  ["guide", "Guides"],
  ["reference", "Reference"],
  ["how", "How it works"],
  ["other", "More"],
  ["operation", "Operations"],
  ["key", "Configuration keys"],
];

export const kindName = (kind: DocKind): string => KINDS.find(([each]) => each === kind)?.[1] ?? kind;

/** One page for each of many things: looked up by a name, not read one after the other. */
export const isLookedUp = (kind: DocKind): boolean => kind === "operation" || kind === "key";

export const docsLink = (path: string, anchor = ""): string =>
  `/docs/${encodeURI(path)}${anchor ? `#${encodeURIComponent(anchor)}` : ""}`;
