import type { Question } from "../generated/operations";

/** What a question asks. What an agent wants to do says more than the words of its dialog. */
export function headline({ origin, question }: Question): string {
  const permission = origin.kind === "dialog" ? origin.permission : undefined;
  const what = permission?.command ?? permission?.path ?? permission?.argument;
  return what ? `${permission?.tool ? `${permission.tool}: ` : ""}${what}` : question;
}
