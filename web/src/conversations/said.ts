// A conversation, a window at a time: from its beginning, from its end, or around
// a place, and on in both directions when that is asked for.

import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";

import { call } from "../daemon/call";
import type { Conversation, ConversationItem, ConversationShowResult, ConversationTurn } from "../generated/operations";

const WINDOW = 200;
/** What is shown before the place one comes for. */
const BEFORE = 20;

/** Behind one place, up to another or as far as a window goes. */
interface Part {
  after: number | "end";
  until?: number;
}

interface Page extends ConversationShowResult {
  after: number;
}

/** `at` is a place, `end`, or nothing for the beginning. */
export function useSaid(conversation: string, at: string) {
  const place = Number(at) || 0;
  const first: Part = { after: at === "end" ? "end" : Math.max(0, place - BEFORE) };
  return useInfiniteQuery<Page, Error, InfiniteData<Page, Part>, unknown[], Part>({
    queryKey: ["conversation_show", conversation, first.after],
    queryFn: ({ pageParam, signal }) => read(conversation, pageParam, signal),
    initialPageParam: first,
    getNextPageParam: (page) => (page.next == null ? undefined : { after: page.next }),
    getPreviousPageParam: ({ after }) =>
      after > 0 ? { after: Math.max(0, after - WINDOW), until: after } : undefined,
    // While an agent talks, its turn is told when it is over; the words come before.
    refetchInterval: ({ state }) => (isLively(state.data?.pages.at(-1)?.conversation) ? 3000 : false),
  });
}

async function read(conversation: string, part: Part, signal: AbortSignal): Promise<Page> {
  if (part.after === "end") {
    const page = await call("conversation_show", { conversation, newest: true, limit: WINDOW }, signal);
    return { ...page, after: (page.items[0]?.place ?? 1) - 1 };
  }
  let page = await call("conversation_show", { conversation, after: part.after, limit: WINDOW }, signal);
  if (part.until === undefined) return { ...page, after: part.after };
  // Long texts make an answer shorter: what is before a place is read up to it.
  const { until } = part;
  while (page.next != null && page.next < until) {
    const more = await call("conversation_show", { conversation, after: page.next, limit: WINDOW }, signal);
    page = { ...more, items: [...page.items, ...more.items], turns: [...page.turns, ...more.turns] };
  }
  return { ...page, items: page.items.filter((item) => item.place <= until), after: part.after };
}

const LIVELY_MS = 5 * 60_000;

function isLively(conversation: Conversation | undefined): boolean {
  if (!conversation?.execution) return false;
  return Date.now() - new Date(conversation.last_at).getTime() < LIVELY_MS;
}

export interface Turn {
  number: number;
  /** None for what came before anybody said something. */
  told: ConversationTurn | undefined;
  items: ConversationItem[];
}

/** What was read, by turn. */
export function byTurn(pages: ConversationShowResult[]): Turn[] {
  const told = new Map(pages.flatMap((page) => page.turns).map((turn) => [turn.number, turn]));
  const turns: Turn[] = [];
  let last = 0;
  for (const item of pages.flatMap((page) => page.items)) {
    // Parts that were read at different times may overlap.
    if (item.place <= last) continue;
    last = item.place;
    const current = turns.at(-1);
    if (current?.number === item.turn) current.items.push(item);
    else turns.push({ number: item.turn, told: told.get(item.turn), items: [item] });
  }
  return turns;
}
