// An answer that is given where its question is not in sight: all that is asked for,
// and the answer once more.

import { useEffect, useRef } from "react";

import type { Question } from "../generated/operations";
import type { Command } from "../parts/command";
import { Prose } from "../parts/Prose";
import { InFull } from "./AnswerButtons";

interface Props {
  question: Question;
  command: Command;
  words: string;
  agree: () => void;
  back: () => void;
}

export function Agree({ question, command, words, agree, back }: Props) {
  const cancel = useRef<HTMLButtonElement>(null);
  // Not on the answer: who presses Enter twice has not read it.
  useEffect(() => cancel.current?.focus(), []);
  const permission = question.origin.kind === "dialog" ? question.origin.permission : undefined;
  return (
    <div className="agree">
      <h1>{command.name}</h1>
      <p className="agree-asked">
        <Prose text={question.headline} />
      </p>
      <InFull question={question} />
      {permission?.shown_in_part ? <p className="notice">The dialog of the agent shows only a part of it.</p> : null}
      {words ? <p className="agree-asked">{words}</p> : null}
      <div className="actions">
        <button ref={cancel} type="button" className="button plain" onClick={back}>
          Cancel
        </button>
        <button type="button" className="button primary" onClick={agree}>
          {command.name}
        </button>
      </div>
    </div>
  );
}
