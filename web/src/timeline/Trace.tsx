// One causal chain as a tree: what led to what.

import { Link } from "wouter";

import { useOperation } from "../daemon/queries";
import type { CostOfRun, TimelineEvent } from "../generated/operations";
import { dollars } from "../parts/cost";
import { Loaded } from "../parts/Loaded";
import { clock, duration } from "../parts/time";
import { useNames } from "./names";
import { kindOf, tell } from "./sentences";

export function Trace({ id, close }: { id: string; close: () => void }) {
  const trace = useOperation("timeline_trace", { trace_id: id });
  return (
    <aside className="trace" aria-label="Causal chain">
      <header>
        <h2 title={id}>What led to what</h2>
        <button type="button" className="button plain small" onClick={close}>
          Close
        </button>
      </header>
      <Loaded of={trace}>
        {({ events, costs }) => {
          const began = events[0] ? new Date(events[0].at).getTime() : 0;
          return (
            <>
              <p className="quiet">
                {events.length} {events.length === 1 ? "event" : "events"}
                {events[0] ? `, from ${clock(events[0].at)}` : ""}
              </p>
              <Branch nodes={grow(events)} began={began} costs={costs ?? []} />
            </>
          );
        }}
      </Loaded>
    </aside>
  );
}

interface Node {
  event: TimelineEvent;
  children: Node[];
}

/** An event whose cause is not in the chain is a root: the cause was an operation. */
function grow(events: TimelineEvent[]): Node[] {
  const nodes = events.map((event): Node => ({ event, children: [] }));
  const bySpan = new Map<string, Node>();
  // What one operation told has one span: the first of it began what follows.
  for (const node of nodes) if (!bySpan.has(node.event.span_id)) bySpan.set(node.event.span_id, node);
  const roots: Node[] = [];
  for (const node of nodes) {
    const parent = node.event.parent_span_id ? bySpan.get(node.event.parent_span_id) : undefined;
    (parent?.children ?? roots).push(node);
  }
  return roots;
}

function Branch({ nodes, began, costs }: { nodes: Node[]; began: number; costs: CostOfRun[] }) {
  const names = useNames();
  return (
    <ul className="branch">
      {nodes.map(({ event, children }) => {
        const told = tell(event);
        const about = names.about(event.event);
        const sentence = names.said(event) || about || told.sentence;
        const run = event.event.type === "execution_started" ? event.event.execution : undefined;
        const cost = costs.find((one) => one.execution === run);
        return (
          <li key={event.seq ?? event.span_id}>
            <p>
              <span className="mark" data-tone={told.tone}>
                {kindOf(event.event)}
              </span>{" "}
              <span className="quiet mono">+{duration(new Date(event.at).getTime() - began)}</span>
              {cost ? <span className="quiet"> {costOf(cost)}</span> : null}
            </p>
            <p className="branch-words">
              {about && about !== sentence ? <span className="quiet">{about}: </span> : null}
              {told.href ? <Link href={told.href}>{sentence}</Link> : sentence}
            </p>
            {children.length > 0 ? <Branch nodes={children} began={began} costs={costs} /> : null}
          </li>
        );
      })}
    </ul>
  );
}

function costOf({ requests, cost_microdollars, unpriced }: CostOfRun): string {
  const said = `${requests} ${requests === 1 ? "request" : "requests"} for ${dollars(cost_microdollars)}`;
  return unpriced > 0 ? `${said}, and ${unpriced} of unknown price` : said;
}
