// Ending what lets a browser or a program in.

import type { AccessSummary } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { exactly } from "../parts/time";
import { say } from "../parts/toasts";

export const revokeAccess = ({ id, name, kind, created_at }: AccessSummary): Command => ({
  id: `revoke-${id}`,
  label: "Revoke",
  name: `Revoke ${name}`,
  // Browsers are called alike.
  about: `${kind === "session" ? "browser" : "token"} of ${exactly(created_at)}`,
  also: "access sign out",
  look: "danger",
  confirm: `Revoke ${name}? It is signed out at once, and this cannot be undone.`,
  run: () =>
    perform("token_revoke", { access: id }, ({ revoked }) =>
      say(`Revoked: ${revoked.map((each) => each.name).join(", ")}.`, "rest"),
    ),
});
