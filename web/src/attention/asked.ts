// A question with the answers that are offered, whoever tells of it: the list of
// open questions knows more than the overview does.

import type { Question } from "../generated/operations";

/** As the overview has it. */
export interface OfferedQuestion {
  number: number;
  question: string;
  options?: string[];
  allows?: string | null;
  denies?: string | null;
}

export interface Choice {
  /** What is sent. */
  option: string;
  label: string;
  /** Its key: the place among all options, from one. */
  key: number;
}

export interface Asked {
  name: string;
  /** Allow this once, and deny: the two that are pressed most. */
  pair: [Choice, Choice] | undefined;
  /** Every other option, or all of them where there is no pair. */
  others: Choice[];
  /** Words are an answer too. */
  words: boolean;
}

/** What a task that cannot go on takes beside words for its agent. */
const TASK_ANSWERS: Choice[] = [
  { option: "try again", label: "Retry", key: 1 },
  { option: "give up", label: "Give up", key: 2 },
];

export function asked(question: OfferedQuestion | Question, open?: Question): Asked {
  const full = open ?? ("origin" in question ? question : undefined);
  const dialog = full?.origin.kind === "dialog" ? full.origin : undefined;
  const allows = dialog?.allows ?? ("allows" in question ? question.allows : undefined);
  const denies = dialog?.denies ?? ("denies" in question ? question.denies : undefined);
  const options = question.options ?? [];
  const ofTask = full?.origin.kind === "task";
  const choices = options.map((option, index) => ({ option, label: option, key: index + 1 }));
  const allow = choices.find((choice) => choice.option === allows);
  const deny = choices.find((choice) => choice.option === denies);
  const pair: Asked["pair"] =
    allow && deny
      ? [
          { ...allow, label: "Allow once" },
          { ...deny, label: "Deny" },
        ]
      : undefined;
  return {
    name: `Q-${question.number}`,
    pair,
    others: ofTask && options.length === 0 ? TASK_ANSWERS : choices.filter((choice) => !pair || (choice !== allow && choice !== deny)),
    // A dialog of a program that offers options knows no others.
    words: options.length === 0 || (full !== undefined && !dialog),
  };
}

/** All that is asked for, where its headline leaves some of it out. */
export function inFull(question: Question): string | undefined {
  const permission = question.origin.kind === "dialog" ? question.origin.permission : undefined;
  const wanted = permission?.command ?? permission?.path ?? permission?.argument;
  const full = wanted ?? (permission?.tool ? "" : question.question);
  return onOneLine(question.headline).includes(onOneLine(full)) ? undefined : full;
}

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** Every choice in the order of its key. */
export const choicesOf = ({ pair, others }: Asked): Choice[] => [...(pair ?? []), ...others].sort((a, b) => a.key - b.key);
