// What is behind a line, shown when it is asked for.

import { Link } from "wouter";

import { Findings } from "../attention/Findings";
import { QuestionDetails } from "../attention/QuestionDetails";
import { cancelTask } from "../board/taskCommands";
import type { OverviewLine, Question } from "../generated/operations";
import { CommandButton } from "../parts/command";
import { exactly } from "../parts/time";
import { canBeTold } from "./overview";

interface Props {
  line: OverviewLine;
  question: Question | undefined;
  said: string;
  selected: boolean;
  /** Opens the box for a message. */
  write: () => void;
}

export function Details({ line, question, said, selected, write }: Props) {
  return (
    <div className="row-details">
      {question ? (
        <QuestionDetails question={question} said={said} keys={selected} />
      ) : (
        <div className="details-body">
          {line.task && (line.kind === "blocked" || line.kind === "failed") ? <Findings task={line.task} /> : null}
          <p className="details-foot">
            <span className="quiet">Started {exactly(line.started_at)}</span>
            {line.task ? <Link href={`/board/${line.task}`}>Task {line.task}</Link> : null}
            {line.execution ? <Link href={`/executions/${line.execution}`}>Run</Link> : null}
            {line.slot ? <Link href={`/slots/${encodeURIComponent(line.slot)}`}>Terminal</Link> : null}
            {canBeTold(line) ? (
              <button type="button" className="button small" onClick={write}>
                Message
              </button>
            ) : null}
            {line.kind === "blocked" && line.task ? (
              <CommandButton command={cancelTask({ number: line.task, status: "blocked" })} small />
            ) : null}
          </p>
        </div>
      )}
    </div>
  );
}
