// Changing a setting and taking it back, wherever that is pressed.

import { type UseMutationResult } from "@tanstack/react-query";

import { call, type Params, type Result } from "../../daemon/call";
import { queries, useAction } from "../../daemon/queries";
import { complain, say } from "../../parts/toasts";

/** What was changed, said with a way back. */
export function told({ change, message, effect }: Result<"config_set">): void {
  const undo = change ? { word: "Undo", act: () => undoChange(change.change) } : undefined;
  say(message, effect === "restart" ? "wait" : "good", undo);
}

/** Takes back a change, also when the view that made it is gone. */
export function undoChange(change: number): void {
  call("config_undo", { change }).then(
    (result) => {
      say(`Undone: ${result.message}`, result.effect === "restart" ? "wait" : "good");
      void queries.invalidateQueries();
    },
    (error: Error) => complain(error),
  );
}

export function useSet(): UseMutationResult<Result<"config_set">, Error, Params<"config_set">> {
  return useAction("config_set", told);
}
