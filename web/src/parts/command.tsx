// Something that can be done with a task, a run, a question: described once, for
// the button where the thing is shown and for the palette anywhere.

import { useState } from "react";

import { call, type OperationName, type Params, type Result } from "../daemon/call";
import { readAgainAfter } from "../daemon/queries";
import type { Question } from "../generated/operations";
import { complain } from "./toasts";

export interface Command {
  /** What tells it from another of the same name. */
  id?: string;
  /** Beside the thing it is about: `Retry from scratch`. */
  label: string;
  /** Where the thing is not in sight: `Retry T-4 from scratch`. */
  name: string;
  /** What the thing is called, for whoever does not know its number. */
  about?: string;
  /** Other words it is looked for by. */
  also?: string;
  /** The key that does the same, on the page where it works. */
  key?: string;
  hint?: string;
  look?: "primary" | "plain" | "danger";
  /** What is asked before. */
  confirm?: string | undefined;
  /** The question it answers: where that is not in sight it is shown to its end, and confirmed. */
  answers?: Question;
  /** It needs words, such as a message. */
  takesWords?: boolean;
  run: (words: string) => unknown;
}

export async function start(command: Command, words = ""): Promise<void> {
  if (command.confirm && !window.confirm(command.confirm)) return;
  await command.run(words);
}

/**
 * Calls an operation that changes something and tells what came of it, also when the
 * button or the palette that was used is gone meanwhile. Says whether it went well.
 */
export async function perform<O extends OperationName>(
  operation: O,
  params: Params<O>,
  tell?: (result: Result<O>) => void,
): Promise<boolean> {
  try {
    const result = await call(operation, params);
    readAgainAfter(operation);
    tell?.(result);
    return true;
  } catch (error) {
    complain(error as Error);
    return false;
  }
}

interface ButtonProps {
  command: Command;
  small?: boolean;
  /** One of many of its kind: it is called by its full name. */
  named?: boolean;
}

const LOOKS = { primary: "primary", plain: "plain", danger: "plain danger" };

export function CommandButton({ command, small, named }: ButtonProps) {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await start(command);
    setBusy(false);
  };
  const look = ["button", command.look ? LOOKS[command.look] : "", small ? "small" : ""].filter(Boolean).join(" ");
  return (
    <button
      type="button"
      className={look}
      aria-label={named ? command.name : undefined}
      disabled={busy}
      title={command.hint}
      onClick={() => void press()}
    >
      {command.label} {command.key ? <kbd>{command.key}</kbd> : null}
    </button>
  );
}
