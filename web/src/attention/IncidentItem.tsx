import { useShortcuts } from "../app/shortcuts";
import { useAction } from "../daemon/queries";
import type { Incident } from "../generated/operations";
import { complain, say } from "../parts/toasts";
import { Ago } from "../parts/time";
import { Item } from "./Item";

interface Props {
  incident: Incident;
  selected: boolean;
  select: () => void;
}

export function IncidentItem({ incident, selected, select }: Props) {
  return (
    <Item
      id={incident.id}
      tone={incident.severity === "info" ? "rest" : "bad"}
      what="incident"
      title={incident.summary}
      from={<span className="quiet">{incident.subject}</span>}
      at={incident.last_seen_at}
      selected={selected}
      select={select}
    >
      <Resolving incident={incident} />
    </Item>
  );
}

function Resolving({ incident }: { incident: Incident }) {
  const resolve = useAction("incident_resolve", () => say("The incident is closed."));
  const close = () => resolve.mutate({ incident: incident.id }, { onError: complain });
  useShortcuts({ x: close });
  return (
    <p className="item-foot">
      <span>
        {incident.kind}, seen {incident.occurrences} {incident.occurrences === 1 ? "time" : "times"}, first{" "}
        <Ago at={incident.opened_at} />
      </span>
      <button type="button" className="button small spread" disabled={resolve.isPending} onClick={close}>
        It is dealt with <kbd>x</kbd>
      </button>
    </p>
  );
}
