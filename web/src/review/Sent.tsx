// What was said to the agent about its work so far, as its journal has it, and
// whether it arrived.

import { useOperation } from "../daemon/queries";
import type { DeliveryStatus, JournalEntry, SentMessage } from "../generated/operations";
import { Mark, type Tone } from "../parts/marks";
import { Ago } from "../parts/time";

interface SentReview {
  id: string;
  at: string;
  text: string;
  comments: number;
}

export function Sent({ execution, messages }: { execution: string; messages: SentMessage[] }) {
  const journal = useOperation("execution_journal", { execution, kinds: ["message.accepted"], limit: 500, data: true });
  const reviews = (journal.data?.records ?? []).flatMap(reviewOf).reverse();
  if (reviews.length === 0) return null;
  return (
    <section className="section">
      <h2>
        Sent <span className="quiet">{reviews.length}</span>
      </h2>
      <ol className="sent">
        {reviews.map((review) => (
          <li key={review.id}>
            <details>
              <summary>
                <Delivery message={messages.find((each) => each.message === review.id)} />
                <span>
                  {review.comments === 0 ? "a comment" : `${review.comments} ${review.comments === 1 ? "comment" : "comments"}`}
                </span>
                <Ago at={review.at} />
              </summary>
              <pre className="output" tabIndex={0} role="region" aria-label="The review as the agent got it">
                {review.text}
              </pre>
            </details>
          </li>
        ))}
      </ol>
    </section>
  );
}

const TONES: Partial<Record<DeliveryStatus, Tone>> = { delivered: "good", failed: "bad" };

function Delivery({ message }: { message: SentMessage | undefined }) {
  if (!message) return <Mark tone="rest" word="sent" />;
  return <Mark tone={TONES[message.status] ?? "wait"} word={message.status} title={message.reason ?? undefined} />;
}

function reviewOf(record: JournalEntry): SentReview[] {
  const message = record.data as {
    id?: string;
    content?: { type?: string; payload?: { text?: string; comments?: unknown[] } };
  } | null;
  if (message?.content?.type !== "review" || !message.id) return [];
  const { text = "", comments = [] } = message.content.payload ?? {};
  return [{ id: message.id, at: record.at, text, comments: comments.length }];
}
