// One conversation, turn by turn: what was said, which tools were called with
// what and how they ended, and what it took.

import { useEffect, useRef } from "react";
import { Link, useParams, useSearchParams } from "wouter";

import { Bar } from "../app/Menu";
import { useRemembered } from "../app/remember";
import { useShortcuts } from "../app/shortcuts";
import { useBoardTasks } from "../board/useBoard";
import type { Conversation, Cost } from "../generated/operations";
import { Lines, Nothing, Trouble } from "../parts/Loaded";
import { Mark } from "../parts/marks";
import { Ago, clock, duration, Lasting } from "../parts/time";
import { CostOf, Tokens } from "../parts/cost";
import { isShown, Item } from "./Item";
import { counted } from "./Listed";
import { byTurn, type Turn, useSaid } from "./said";
import "./conversations.css";

export function ConversationPage() {
  const { conversation: id = "" } = useParams<{ conversation: string }>();
  const [search] = useSearchParams();
  const at = search.get("at") ?? "";
  const [noise, setNoise] = useRemembered("conversations.noise", false);
  const said = useSaid(id, at);
  const conversation = said.data?.pages.at(-1)?.conversation;
  const turns = byTurn(said.data?.pages ?? []);
  const list = useRef<HTMLDivElement>(null);
  useTurnKeys(list);
  return (
    <>
      <Bar
        title={
          <>
            <Link href="/conversations">Conversations</Link> <span className="quiet">/</span>{" "}
            <span className="talk-name">{conversation ? conversation.title || conversation.session : "…"}</span>
          </>
        }
      >
        <button
          type="button"
          className="button"
          aria-pressed={noise}
          title="Commands of the program, what it tells its model by itself, requests that failed"
          onClick={() => setNoise(!noise)}
        >
          Show noise
        </button>
        {said.hasPreviousPage ? (
          <Link className="button" href={`/conversations/${id}`}>
            First turn
          </Link>
        ) : null}
        {said.hasNextPage ? (
          <Link className="button" href={`/conversations/${id}?at=end`}>
            Last turn
          </Link>
        ) : null}
      </Bar>
      <div className="view" tabIndex={0}>
        {said.error ? <Trouble error={said.error} retry={() => void said.refetch()} /> : null}
        {conversation ? (
          <div className="talk-page">
            <div className="stack" ref={list}>
              {said.hasPreviousPage ? (
                <button
                  type="button"
                  className="button talk-more"
                  disabled={said.isFetchingPreviousPage}
                  onClick={() => void said.fetchPreviousPage()}
                >
                  Show earlier
                </button>
              ) : null}
              {turns.length === 0 ? (
                <Nothing title="This conversation is empty">
                  <p>Its transcript has been found, and there is nothing in it yet.</p>
                </Nothing>
              ) : null}
              {turns.map((turn) => (
                <TurnSection key={turn.number} turn={turn} noise={noise} at={Number(at) || 0} />
              ))}
              {said.hasNextPage ? (
                <button
                  type="button"
                  className="button talk-more"
                  disabled={said.isFetchingNextPage}
                  onClick={() => void said.fetchNextPage()}
                >
                  Show later
                </button>
              ) : null}
            </div>
            <aside className="talk-side">
              <Facts conversation={conversation} />
            </aside>
          </div>
        ) : said.error ? null : (
          <Lines count={12} />
        )}
      </div>
    </>
  );
}

/** `j` and `k` go from turn to turn, as they go from line to line elsewhere. */
function useTurnKeys(list: React.RefObject<HTMLElement | null>): void {
  const go = (step: 1 | -1) => {
    const turns = [...(list.current?.querySelectorAll<HTMLElement>(".turn-head") ?? [])];
    const here = turns.findIndex((turn) => turn === document.activeElement);
    const next = turns[here < 0 ? (step > 0 ? 0 : turns.length - 1) : Math.min(Math.max(here + step, 0), turns.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "start" });
  };
  useShortcuts({ j: () => go(1), k: () => go(-1) });
}

function TurnSection({ turn, noise, at }: { turn: Turn; noise: boolean; at: number }) {
  const place = useRef<HTMLLIElement>(null);
  const here = turn.items.some((item) => item.place === at);
  useEffect(() => {
    if (here) place.current?.scrollIntoView({ block: "center" });
  }, [here]);
  const shown = turn.items.filter((item) => isShown(item, noise) || item.place === at);
  const hidden = turn.items.filter((item) => item.kind === "message" && !shown.includes(item)).length;
  const { told } = turn;
  const name = turn.number > 0 ? `Turn ${turn.number}` : "Before the first turn";
  return (
    <section className="turn" aria-label={name}>
      <header className="turn-head" tabIndex={-1}>
        <h2>{name}</h2>
        {told ? (
          <p className="talk-facts quiet">
            <time dateTime={told.began_at} title={new Date(told.began_at).toLocaleString()}>
              {clock(told.began_at)}
            </time>
            <span>{duration(new Date(told.last_at).getTime() - new Date(told.began_at).getTime())}</span>
            {told.tool_calls > 0 ? <span>{counted(told.tool_calls, "tool call")}</span> : null}
            {told.failed > 0 ? <Mark tone="bad" word={`${told.failed} failed`} /> : null}
            <Tokens tokens={told.tokens} />
            {told.cost.microdollars == null ? null : <CostOf cost={told.cost} />}
            {told.ending ? <Mark tone={told.ending === "interrupted" ? "wait" : "good"} word={told.ending} /> : null}
          </p>
        ) : null}
      </header>
      <ol className="said">
        {shown.map((item) => (
          <li key={item.place} ref={item.place === at ? place : undefined} className={item.place === at ? "here" : undefined}>
            <Item item={item} />
          </li>
        ))}
      </ol>
      {hidden > 0 ? (
        <p className="quiet talk-hidden">
          {counted(hidden, "message")} hidden as noise
        </p>
      ) : null}
    </section>
  );
}

function Facts({ conversation }: { conversation: Conversation }) {
  const { tokens } = conversation;
  const board = useBoardTasks();
  const number = board.data?.tasks.find((task) => task.id === conversation.task)?.number;
  const used = tokens.input + tokens.output + tokens.cache_read + tokens.cache_write > 0;
  return (
    <dl className="facts">
      <dt>Agent</dt>
      <dd>{conversation.engine}</dd>
      {conversation.execution ? (
        <>
          <dt>Run</dt>
          <dd>
            <Link href={`/executions/${conversation.execution}`}>journal and terminal</Link>
          </dd>
        </>
      ) : (
        <>
          <dt>Owner</dt>
          <dd>you</dd>
        </>
      )}
      {conversation.task ? (
        <>
          <dt>Task</dt>
          <dd>
            <Link href={`/board/${number ?? conversation.task}`}>{number ?? "on the board"}</Link>
          </dd>
        </>
      ) : null}
      <dt>Project</dt>
      <dd className="mono">{conversation.project}</dd>
      {conversation.cwd === conversation.project ? null : (
        <>
          <dt>Folder</dt>
          <dd className="mono">{conversation.cwd}</dd>
        </>
      )}
      <dt>Began</dt>
      <dd>
        <Ago at={conversation.started_at} />
      </dd>
      <dt>Lasted</dt>
      <dd>
        <Lasting from={conversation.started_at} to={conversation.last_at} />
      </dd>
      <dt>Size</dt>
      <dd>
        {counted(conversation.turns, "turn")}, {counted(conversation.messages, "message")},{" "}
        {counted(conversation.tool_calls, "tool call")}
      </dd>
      {used ? (
        <>
          <dt>Tokens</dt>
          <dd>
            {tokens.input.toLocaleString()} in, {tokens.output.toLocaleString()} out
            <br />
            <span className="quiet">
              {tokens.cache_read.toLocaleString()} from the cache, {tokens.cache_write.toLocaleString()} into it
            </span>
          </dd>
          <dt>Cost</dt>
          <dd>
            <CostOf cost={conversation.cost} />
            <CostFrom cost={conversation.cost} />
          </dd>
        </>
      ) : null}
      {conversation.skipped > 0 ? (
        <>
          <dt>Left out</dt>
          <dd>
            {counted(conversation.skipped, "line")} of its transcript
            {conversation.diagnostic ? <span className="quiet">: {conversation.diagnostic}</span> : null}
          </dd>
        </>
      ) : null}
      <dt>Session</dt>
      <dd className="mono">{conversation.session}</dd>
    </dl>
  );
}

/** Whose count it is, and what is not in it. */
function CostFrom({ cost }: { cost: Cost }) {
  const unpriced = cost.unpriced ?? [];
  if (cost.microdollars == null && cost.told_microdollars != null) {
    return <span className="quiet">, as the program counts it</span>;
  }
  if (unpriced.length === 0) return null;
  return (
    <>
      <br />
      <span className="quiet">
        <code>usage.prices</code> has none for {unpriced.join(", ")}
      </span>
    </>
  );
}
