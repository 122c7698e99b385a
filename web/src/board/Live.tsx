// A task while its agent works: the terminal, what it changed so far and what was
// said, side by side, and the ways to steer it.

import { useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";

import { OpenQuestions } from "../attention/AnswerButtons";
import { useOperation } from "../daemon/queries";
import { AgentPlan } from "../executions/AgentPlan";
import { DRIVERS } from "../executions/control";
import { MessageForm } from "../executions/MessageForm";
import { interruptRun } from "../executions/runCommands";
import type { Attempt, ChangedFile, Controller, OverviewLine } from "../generated/operations";
import { CommandButton } from "../parts/command";
import { CostOf, TokenSum } from "../parts/cost";
import { ChecksMark, Mark } from "../parts/marks";
import { Lasting } from "../parts/time";
import { PlainDiff } from "../review/PlainDiff";
import { segmentsOf } from "../review/segments";
import { Terminal } from "../slots/Terminal";
import { useWork } from "./useBoard";
import "../slots/slots.css";

export function Live({ task, attempt }: { task: string; attempt: Attempt }) {
  const slots = useOperation("slot_list", { all: false });
  const slot = slots.data?.slots.find((each) => each.slot === attempt.slot);
  const work = useWork().get(task);
  return (
    <section className="live" aria-label="The agent at work">
      <Head task={task} attempt={attempt} work={work} controller={slot?.program?.controller} />
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
          {attempt.execution && slot?.program?.controller === "structured" ? (
            <AgentPlan execution={attempt.execution} />
          ) : null}
          <Changed task={task} work={work} />
          {attempt.execution ? (
            <section className="section">
              <h2>Message the agent</h2>
              <MessageForm execution={attempt.execution} />
            </section>
          ) : null}
        </div>
      </div>
    </section>
  );
}

interface HeadProps {
  task: string;
  attempt: Attempt;
  work: OverviewLine | undefined;
  /** Unknown while there is no program. */
  controller: Controller | undefined;
}

function Head({ task, attempt, work, controller }: HeadProps) {
  const { execution } = attempt;
  return (
    <p className="live-head">
      {work?.question ? null : <Mark tone="work" word={work?.activity ?? "working"} busy />}
      <span className="quiet">
        attempt {attempt.number}, for <Lasting from={attempt.started_at} />
        {controller ? `, driven by ${DRIVERS[controller]}` : null}
      </span>
      {work?.checks ? <ChecksMark checks={work.checks} /> : null}
      {work ? (
        <span className="quiet live-used">
          <TokenSum tokens={work.tokens} />
          <CostOf cost={work.cost} />
        </span>
      ) : null}
      {execution ? (
        <span className="spread live-actions">
          <CommandButton command={interruptRun({ execution, name: task })} small />
          <Link href={`/executions/${execution}`} className="button small">
            Run
          </Link>
        </span>
      ) : null}
    </p>
  );
}

/** Looked at again this often, if the agent has said or done something meanwhile. */
const AGAIN_MS = 5000;
/** And this often whatever it says: a program it runs may write files quietly. */
const AT_LEAST_MS = 30_000;

/** What differs from where the work began; read again when the agent got on with it. */
function useChanges(task: string, work: OverviewLine | undefined) {
  const changes = useOperation("worktree_diff", { worktree: task }, { refetchInterval: AT_LEAST_MS, placeholder: "keep" });
  const said = `${work?.activity} ${work?.last_line} ${work?.checks?.round}`;
  const [now, read] = [useRef(said), useRef(said)];
  now.current = said;
  const { refetch } = changes;
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.hidden || read.current === now.current) return;
      read.current = now.current;
      // One that is under way is let to end: a large difference may take longer than this.
      void refetch({ cancelRefetch: false });
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, [refetch]);
  return changes.data;
}

function Changed({ task, work }: { task: string; work: OverviewLine | undefined }) {
  const changes = useChanges(task, work);
  const files = changes?.files ?? [];
  return (
    <section className="section">
      <h2>
        Changes so far{" "}
        {changes && files.length > 0 ? (
          <span className="quiet">
            +{changes.additions} −{changes.deletions}
          </span>
        ) : null}
      </h2>
      {files.length === 0 ? <p className="quiet">Nothing yet.</p> : null}
      <ul className="live-files">
        {files.map((file) => (
          <li key={file.path}>
            <ChangedSoFar file={file} />
          </li>
        ))}
      </ul>
      {files.length > 0 ? (
        <p>
          <Link href={`/review/${task}`}>Review the changes</Link>
        </p>
      ) : null}
    </section>
  );
}

function ChangedSoFar({ file }: { file: ChangedFile }) {
  const [open, setOpen] = useState(false);
  const segments = useMemo(() => (open ? segmentsOf(file.hunks, undefined, []) : undefined), [open, file]);
  return (
    <details className="folds" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="mono one-line">{file.path}</span>{" "}
        <span className="quiet">
          +{file.additions} −{file.deletions}
        </span>
      </summary>
      <div className="live-diff" tabIndex={0} role="region" aria-label={`Changes of ${file.path}`}>
        <PlainDiff path={file.path} segments={segments} />
      </div>
    </details>
  );
}
