// Where code is, as an address of the page; and how current an answer is.

import { Link } from "wouter";

import type { CodeHit, Freshness } from "../generated/operations";

/** The address of what is called this: a name, `path:line`, or a beacon. */
export const symbolAddress = (root: string, symbol: string): string =>
  `/code/symbol?${new URLSearchParams({ repo: root, symbol })}`;

/** A file is a module whose signature is its path. */
export const isWholeFile = ({ kind, path, signature }: Pick<CodeHit, "kind" | "path" | "signature">): boolean =>
  kind === "module" && signature === path;

export function Place({ root, path, line }: { root: string; path: string; line: number }) {
  return (
    <Link href={symbolAddress(root, `${path}:${line}`)} className="mono place">
      {path}:{line}
    </Link>
  );
}

/** Said only when an answer is not as the files are now. */
export function Fresh({ of }: { of: Freshness }) {
  if (of.state === "current") return null;
  if (of.state === "failed") return <p className="trouble">The files could not be read: {of.reason}</p>;
  return (
    <p className="quiet" role="status">
      {of.state === "updating"
        ? `Indexing, ${of.read} of ${of.to_read} files; the rest is as of the last time.`
        : "The files were not checked since the last index."}
    </p>
  );
}
