// Light or dark: as the system says, unless the person says otherwise.

import { recall, remember } from "./remember";

export type Theme = "system" | "light" | "dark";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();

export const theme = (): Theme => recall<Theme>("theme", "system");

export function isDark(): boolean {
  const chosen = theme();
  return chosen === "system" ? dark.matches : chosen === "dark";
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  for (const watcher of watchers) watcher();
}

export function chooseTheme(chosen: Theme): void {
  remember("theme", chosen);
  applyTheme();
}

export function watchTheme(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

dark.addEventListener("change", applyTheme);
