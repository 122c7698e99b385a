// Small things the browser remembers for this person: where they were, how they
// like a view. Storage may be full or forbidden, and then nothing is remembered.

import { useCallback, useState } from "react";

export function recall<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(`mission.${key}`);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function remember(key: string, value: unknown): void {
  try {
    localStorage.setItem(`mission.${key}`, JSON.stringify(value));
  } catch {
    // Nothing is lost but the memory of it.
  }
}

export function useRemembered<T>(key: string, otherwise: T): [T, (value: T) => void] {
  const [value, set] = useState(() => recall(key, otherwise));
  const keep = useCallback(
    (next: T) => {
      remember(key, next);
      set(next);
    },
    [key],
  );
  return [value, keep];
}
