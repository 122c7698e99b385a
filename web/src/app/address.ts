// What narrows a view is in its address, so that it can be kept and sent.

import { useSearchParams } from "wouter";
import { navigate } from "wouter/use-browser-location";

/** Values to set by name; nothing takes one away. */
export type Narrowing = Record<string, string | null | undefined>;

/**
 * The search part of the address, and a way to change some of it. What is narrowed
 * anew is looked at from its beginning: only `from` itself keeps a place in it.
 */
export function useNarrowed(): [URLSearchParams, (changes: Narrowing) => void] {
  const [search, setSearch] = useSearchParams();
  const narrow = (changes: Narrowing) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        next.delete("from");
        for (const [name, value] of Object.entries(changes)) {
          if (value) next.set(name, value);
          else next.delete(name);
        }
        return next;
      },
      { replace: true },
    );
  return [search, narrow];
}

/** Goes to an address; a dialog of the page that is open takes the place of the page in the history. */
export function go(address: string): void {
  navigate(address, { replace: address.split("?")[0] === window.location.pathname });
}

/** Of an address that somebody typed, a sign may be no code of one. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
