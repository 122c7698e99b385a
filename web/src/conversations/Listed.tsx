// Conversations, the one in which something was said last first.

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { useBoardTasks } from "../board/useBoard";
import { call } from "../daemon/call";
import type { Conversation } from "../generated/operations";
import { Lines, Nothing, Trouble } from "../parts/Loaded";
import { Ago } from "../parts/time";
import { folderName, type Within } from "./Conversations";
import { CostOf, Tokens } from "../parts/cost";

const PAGE = 50;

export function Listed({ within, narrowed }: { within: Within; narrowed: boolean }) {
  const list = useInfiniteQuery({
    queryKey: ["conversation_list", "pages", within],
    queryFn: ({ pageParam, signal }) =>
      call("conversation_list", { ...within, limit: PAGE, ...(pageParam ? { after: pageParam } : {}) }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: 10_000,
  });
  const board = useBoardTasks();
  if (!list.data) return list.error ? <Trouble error={list.error} retry={() => void list.refetch()} /> : <Lines count={8} />;
  const talks = list.data.pages.flatMap((page) => page.conversations);
  const numbers = new Map(board.data?.tasks.map((task) => [task.id, task.number]));
  if (talks.length === 0) return <Nobody narrowed={narrowed} />;
  return (
    <section className="section" aria-label="Conversations">
      {list.error ? <Trouble error={list.error} retry={() => void list.refetch()} /> : null}
      <ul className="talks">
        {talks.map((talk) => (
          <li key={talk.id}>
            <Talk talk={talk} number={talk.task ? numbers.get(talk.task) : undefined} />
          </li>
        ))}
      </ul>
      {list.hasNextPage ? (
        <p className="pages">
          <button
            type="button"
            className="button"
            disabled={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            Show older
          </button>
        </p>
      ) : null}
    </section>
  );
}

function Talk({ talk, number }: { talk: Conversation; number: string | undefined }) {
  return (
    <article className="talk">
      <Link className="talk-title" href={`/conversations/${talk.id}`}>
        {talk.title || "Untitled"}
      </Link>
      <p className="talk-facts quiet">
        <span>{talk.engine}</span>
        <span className="mono" title={talk.project}>
          {folderName(talk.project)}
        </span>
        {talk.task ? <Link href={`/board/${number ?? talk.task}`}>{number ?? "task"}</Link> : null}
        {talk.execution ? <Link href={`/executions/${talk.execution}`}>run</Link> : <span>yours</span>}
        <span>{counted(talk.turns, "turn")}</span>
        {talk.tool_calls > 0 ? <span>{counted(talk.tool_calls, "tool call")}</span> : null}
        <Tokens tokens={talk.tokens} />
        <CostOf cost={talk.cost} />
      </p>
      <span className="talk-when">
        <Ago at={talk.last_at} />
      </span>
    </article>
  );
}

export const counted = (count: number, what: string) => `${count.toLocaleString()} ${what}${count === 1 ? "" : "s"}`;

function Nobody({ narrowed }: { narrowed: boolean }) {
  if (narrowed) {
    return (
      <Nothing title="No conversation matches">
        <p>Another agent, project or time may have one.</p>
      </Nothing>
    );
  }
  return (
    <Nothing title="No conversations yet">
      <p>
        What is said in a run of an agent is kept here by itself. Your own conversations with agent CLIs are taken in
        for the folders you name in the configuration:
      </p>
      <pre className="output">{'[conversations]\nprojects = ["~/src/app"]'}</pre>
    </Nothing>
  );
}
