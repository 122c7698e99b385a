// A task while its agent works: the terminal, what it changed so far and what was
// said, side by side, and the ways to steer it.

import { type FormEvent, useState } from "react";
import { Link } from "wouter";

import { OpenQuestions } from "../attention/AnswerButtons";
import { useAction, useOperation } from "../daemon/queries";
import type { Attempt, ChangedLine, OverviewLine } from "../generated/operations";
import { CostOf } from "../parts/cost";
import { Mark } from "../parts/marks";
import { Lasting } from "../parts/time";
import { complain, say } from "../parts/toasts";
import { Terminal } from "../slots/Terminal";
import { useWork } from "./useBoard";
import { CheckMark, tokensOf } from "./work";
import "../slots/slots.css";

export function Live({ task, attempt }: { task: string; attempt: Attempt }) {
  const slots = useOperation("slot_list", { all: false });
  const slot = slots.data?.slots.find((each) => each.slot === attempt.slot);
  const work = useWork().get(task);
  return (
    <section className="live" aria-label="The agent at work">
      <Head attempt={attempt} work={work} />
      {work?.last_line ? <p className="quiet one-line">{work.last_line}</p> : null}
      <OpenQuestions of={{ task }} keys />
      <div className="live-body">
        <div className="live-terminal">
          {slot ? (
            <Terminal slot={slot} talk={false} />
          ) : (
            <p className="quiet">{attempt.slot ? "Its terminal is closed." : "Its terminal opens when the agent starts."}</p>
          )}
        </div>
        <div className="stack live-side">
          <Changed task={task} />
          {attempt.execution ? <Steer execution={attempt.execution} /> : null}
        </div>
      </div>
    </section>
  );
}

function Head({ attempt, work }: { attempt: Attempt; work: OverviewLine | undefined }) {
  const interrupt = useAction("execution_interrupt", () => say("The agent is told to stop what it does.", "rest"));
  const { execution } = attempt;
  const tokens = work ? tokensOf(work) : "";
  return (
    <p className="live-head">
      <Mark tone="work" word={work?.activity ?? "working"} busy />
      <span className="quiet">
        attempt {attempt.number}, for <Lasting from={attempt.started_at} />
      </span>
      {work?.checks ? <CheckMark checks={work.checks} /> : null}
      {tokens ? <span className="quiet">{tokens}</span> : null}
      {work ? <CostOf cost={work.cost} /> : null}
      {execution ? (
        <span className="spread live-actions">
          <button
            type="button"
            className="button small"
            disabled={interrupt.isPending}
            onClick={() => interrupt.mutate({ execution }, { onError: complain })}
          >
            Interrupt
          </button>
          <Link href={`/executions/${execution}`} className="button small">
            Run
          </Link>
        </span>
      ) : null}
    </p>
  );
}

/** What differs from where the work began, file by file; read again while it works. */
function Changed({ task }: { task: string }) {
  const diff = useOperation("worktree_diff", { worktree: task }, { refetchInterval: 5000, placeholder: "keep" });
  const changes = diff.data;
  return (
    <section className="section">
      <h2>
        Changes so far{" "}
        {changes && changes.files.length > 0 ? (
          <span className="quiet">
            +{changes.additions} −{changes.deletions}
          </span>
        ) : null}
      </h2>
      {changes && changes.files.length > 0 ? (
        <ul className="live-files">
          {changes.files.map((file) => (
            <li key={file.path}>
              <details>
                <summary>
                  <span className="mono one-line">{file.path}</span>{" "}
                  <span className="quiet">
                    +{file.additions} −{file.deletions}
                  </span>
                </summary>
                <pre className="output" tabIndex={0} role="region" aria-label={`Changes of ${file.path}`}>
                  {file.hunks.map((hunk, index) => (
                    <code key={index}>
                      {hunk.lines.map((each, at) => (
                        <span key={at} className={`live-line ${kindOf(each)}`}>
                          {SIGNS[kindOf(each)]}
                          {each.text}
                          {"\n"}
                        </span>
                      ))}
                    </code>
                  ))}
                </pre>
              </details>
            </li>
          ))}
        </ul>
      ) : (
        <p className="quiet">Nothing yet.</p>
      )}
      {changes && changes.files.length > 0 ? (
        <p>
          <Link href={`/review/${task}`}>Review the changes</Link>
        </p>
      ) : null}
    </section>
  );
}

const SIGNS = { added: "+", removed: "-", same: " " };

function kindOf(line: ChangedLine): keyof typeof SIGNS {
  if (line.old == null) return "added";
  return line.new == null ? "removed" : "same";
}

function Steer({ execution }: { execution: string }) {
  const [text, setText] = useState("");
  const send = useAction("execution_message", () => {
    setText("");
    say("The message is queued; it is typed when the agent waits for one.");
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) send.mutate({ execution, text: text.trim() }, { onError: complain });
  };
  return (
    <form className="section" onSubmit={submit}>
      <h2>Message the agent</h2>
      <div className="words">
        <textarea
          className="field"
          rows={3}
          aria-label="A message to the agent"
          placeholder="Say what to do differently, or next…"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
          }}
        />
        <button type="submit" className="button primary" disabled={send.isPending || !text.trim()}>
          Send
        </button>
      </div>
    </form>
  );
}
