// What can be done with a question: each answer that is offered, words, an answer
// that holds for longer, and dismissing it.

import type { AutopilotMode, GrantScope, Question } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";
import { asked, choicesOf } from "./asked";

export function questionCommands(question: Question): Command[] {
  const what = asked(question);
  const allows = allowedForLonger(question);
  const commands: Command[] = choicesOf(what).map(({ label, option }) => ({
    label,
    name: `Answer ${what.name}: ${label}`,
    also: option,
    run: () => answerQuestion(what.name, option),
  }));
  if (what.words) {
    commands.push({
      label: "Answer",
      name: `Answer ${what.name}`,
      takesWords: true,
      run: (words) => answerQuestion(what.name, words),
    });
  }
  if (allows) commands.push(allowForAnHour(question, allows, "execution"));
  const answers = commands.map((command) => ({ ...command, answers: question }));
  return [...answers, dismissQuestion(question)].map((command) => ({ ...command, about: question.headline }));
}

export const answerQuestion = (question: string, answer: string): Promise<boolean> =>
  perform("question_answer", { question, answer, by: "person" }, ({ question: now, held_by }) =>
    say(`Q-${now.number}: ${now.answer ?? "answered"}${held_by && now.task ? `. ${heldBack(now.task, held_by)}` : ""}`),
  );

const STOPPED: Record<AutopilotMode, string> = {
  running: "on",
  paused: "paused",
  draining: "finishing what runs",
  stopped: "stopped",
};

/** Why nobody acts on an answer yet. */
const heldBack = (task: string, mode: AutopilotMode) =>
  `The autopilot is ${STOPPED[mode]}: nobody goes on with ${task} until it runs again.`;

/** The option that allows it, where a permission can be given for longer. */
export function allowedForLonger({ origin }: Question): string | undefined {
  return origin.kind === "dialog" && origin.permission ? (origin.allows ?? undefined) : undefined;
}

export const SCOPES: Record<GrantScope, string> = {
  asker: "whoever asked",
  slot: "this slot",
  execution: "this run",
  task: "this task",
  everywhere: "every agent",
};

export const allowForAnHour = ({ number }: Question, answer: string, scope: GrantScope): Command => ({
  label: "Allow for an hour",
  name: `Allow Q-${number} for an hour, for ${SCOPES[scope]}`,
  also: "grant rule answer",
  run: () =>
    perform("question_answer", { question: `Q-${number}`, answer, by: "person", grant: { scope, seconds: 3600 } }, () =>
      say(`Allowed for an hour, for ${SCOPES[scope]}.`),
    ),
});

export const dismissQuestion = ({ number }: Question): Command => ({
  label: "Dismiss",
  name: `Dismiss Q-${number}`,
  also: "question",
  look: "plain",
  run: () => perform("question_dismiss", { question: `Q-${number}` }, () => say(`Q-${number} is dismissed.`, "rest")),
});
