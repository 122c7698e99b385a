import type { Incident } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";

export const resolveIncident = ({ id, summary }: Incident): Command => ({
  label: "Resolve",
  name: "Resolve the incident",
  about: summary,
  run: () => perform("incident_resolve", { incident: id }, () => say("The incident is resolved.")),
});
