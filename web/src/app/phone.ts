// Whether there is room for one column only; the stylesheets draw the same line.

import { useSyncExternalStore } from "react";

const phone = window.matchMedia("(max-width: 46rem)");

export const isPhone = (): boolean => phone.matches;

function watch(changed: () => void): () => void {
  phone.addEventListener("change", changed);
  return () => phone.removeEventListener("change", changed);
}

export const useIsPhone = (): boolean => useSyncExternalStore(watch, isPhone);
