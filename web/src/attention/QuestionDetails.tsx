// What a person may want to know before an answer, each thing once: what exactly
// is asked for, what stands against a task, what was on the screen; and an answer
// that holds for longer.

import { useState } from "react";
import { Link } from "wouter";

import { useShortcuts } from "../app/shortcuts";
import type { GrantScope, Question } from "../generated/operations";
import { CommandButton, start } from "../parts/command";
import { Findings } from "./Findings";
import { allowedForLonger, allowForAnHour, dismissQuestion, SCOPES } from "./questionCommands";

interface Props {
  question: Question;
  /** What is said above already. */
  said: string;
  /** Its key works. */
  keys: boolean;
}

export function QuestionDetails({ question, said, keys }: Props) {
  const { origin } = question;
  const permission = origin.kind === "dialog" ? origin.permission : undefined;
  const dismiss = dismissQuestion(question);
  const allows = allowedForLonger(question);
  useShortcuts({ x: () => void start(dismiss) }, keys);
  // What a permission is asked for is read from the screen: the screen says it again.
  const context = permission && !permission.shown_in_part ? undefined : withoutQuestion(question);
  return (
    <div className="details-body">
      {permission ? <Asked permission={permission} said={said} /> : null}
      {origin.kind === "task" ? <Findings task={origin.task} /> : null}
      {context ? (
        <pre className="output" tabIndex={0} role="region" aria-label={`Context of Q-${question.number}`}>
          {context}
        </pre>
      ) : null}
      {allows ? <AllowLonger question={question} allows={allows} /> : null}
      <p className="details-foot">
        <Where question={question} />
        <CommandButton command={keys ? { ...dismiss, key: "x" } : dismiss} small />
      </p>
    </div>
  );
}

/** The context, unless it says nothing but the question. */
function withoutQuestion({ context, question }: Question): string | undefined {
  const rest = (context ?? "")
    .split("\n")
    .filter((line) => line.trim() !== question.trim())
    .join("\n")
    .trim();
  return rest || undefined;
}

type Permission = NonNullable<Extract<Question["origin"], { kind: "dialog" }>["permission"]>;

function Asked({ permission, said }: { permission: Permission; said: string }) {
  const all: [string, string | null | undefined][] = [
    ["Tool", permission.server ? `${permission.tool ?? "?"} of ${permission.server}` : permission.tool],
    ["Command", permission.command],
    ["Argument", permission.argument],
    ["File", permission.path],
    ["Note", permission.shown_in_part ? "The dialog shows only a part of it." : null],
  ];
  const rows = all.filter(([, value]) => value && !said.includes(value));
  if (rows.length === 0) return null;
  return (
    <dl className="facts">
      {rows.map(([name, value]) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd className={name === "Note" ? "" : "mono"}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function AllowLonger({ question, allows }: { question: Question; allows: string }) {
  const [scope, setScope] = useState<GrantScope>("execution");
  return (
    <p className="details-foot">
      <CommandButton command={allowForAnHour(question, allows, scope)} />
      <label>
        for{" "}
        <select className="field" value={scope} onChange={(event) => setScope(event.target.value as GrantScope)}>
          {(Object.keys(SCOPES) as GrantScope[]).map((each) => (
            <option key={each} value={each}>
              {SCOPES[each]}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}

function Where({ question }: { question: Question }) {
  const { origin } = question;
  const slot = origin.kind === "dialog" || origin.kind === "needs_input" ? origin.slot : undefined;
  const execution = "execution" in origin ? origin.execution : undefined;
  return (
    <>
      {question.task ? <Link href={`/board/${question.task}`}>Task {question.task}</Link> : null}
      {execution ? <Link href={`/executions/${execution}`}>Run</Link> : null}
      {slot ? <Link href={`/slots/${slot}`}>Terminal</Link> : null}
    </>
  );
}
