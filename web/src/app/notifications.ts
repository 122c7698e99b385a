// Tells the person that something waits, when they are not looking. A question
// must have waited a moment first, because many are answered by rules at once,
// and one call covers whatever comes soon after it.

import { useEffect, useRef } from "react";

import { useOpenQuestions } from "../daemon/queries";
import type { Question } from "../generated/operations";
import { say } from "../parts/toasts";

const DWELL_MS = 5000;
const COOLDOWN_MS = 60_000;

export function canAskForNotifications(): boolean {
  return "Notification" in window && Notification.permission === "default";
}

export async function askForNotifications(): Promise<void> {
  const answer = await Notification.requestPermission();
  say(
    answer === "granted"
      ? "You are told when something has waited for five seconds and this page is not in view."
      : "The browser does not allow notifications from this page.",
    answer === "granted" ? "good" : "wait",
  );
}

export function useNotifications(go: (address: string) => void): void {
  const questions = useOpenQuestions();
  const told = useRef(new Set<string>());
  const last = useRef(0);

  useEffect(() => {
    if (!("Notification" in window)) return;
    const due = (question: Question) => new Date(question.asked_at).getTime() + DWELL_MS;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      const waiting = (questions.data?.questions ?? []).filter((question) => !told.current.has(question.id));
      if (waiting.length === 0) return;
      const first = Math.min(...waiting.map(due));
      timer = setTimeout(
        () => {
          tell(waiting.filter((question) => due(question) <= Date.now()));
          // Others may have been asked later.
          wait();
        },
        Math.max(0, first - Date.now()) + 50,
      );
    };
    const tell = (fresh: Question[]) => {
      if (fresh.length === 0) return;
      for (const question of fresh) told.current.add(question.id);
      const looking = document.visibilityState === "visible" && document.hasFocus();
      const soon = Date.now() - last.current < COOLDOWN_MS;
      if (looking || soon || Notification.permission !== "granted") return;
      last.current = Date.now();
      void notify(fresh, go);
    };
    wait();
    return () => clearTimeout(timer);
  }, [questions.data, go]);
}

async function notify(fresh: Question[], go: (address: string) => void): Promise<void> {
  const [first] = fresh;
  if (!first) return;
  const [text, address] =
    fresh.length === 1
      ? [first.headline, `/?at=Q-${first.number}`]
      : [`${fresh.length} questions wait for you`, "/"];
  const options = { body: text, tag: "mission-waits", data: address, icon: "/icon.svg" };
  const worker = await navigator.serviceWorker?.getRegistration();
  if (worker) return worker.showNotification("mission", options);
  new Notification("mission", options).onclick = () => {
    window.focus();
    go(address);
  };
}

/** Goes where a pressed notification leads. */
export function useNotificationPress(go: (address: string) => void): void {
  const current = useRef(go);
  current.current = go;
  useEffect(() => {
    const heard = (event: MessageEvent<{ type?: string; address?: string }>) => {
      if (event.data.type === "open" && event.data.address?.startsWith("/")) current.current(event.data.address);
    };
    navigator.serviceWorker?.addEventListener("message", heard);
    return () => navigator.serviceWorker?.removeEventListener("message", heard);
  }, []);
}

/** The worker makes the page installable and opens it when a notification is pressed. */
export function registerWorker(): void {
  if ("serviceWorker" in navigator && window.isSecureContext) {
    navigator.serviceWorker.register("/service-worker.js").catch(() => {
      // Without it the page works; only notifications are plainer.
    });
  }
}
