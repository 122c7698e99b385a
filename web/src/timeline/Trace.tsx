// One causal chain as a tree: what led to what.

import { Link } from "wouter";

import { useOperation } from "../daemon/queries";
import type { TimelineEvent } from "../generated/operations";
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
        {({ events }) => {
          const began = events[0] ? new Date(events[0].at).getTime() : 0;
          return (
            <>
              <p className="quiet">
                {events.length} {events.length === 1 ? "event" : "events"}
                {events[0] ? `, from ${clock(events[0].at)}` : ""}
              </p>
              <Branch nodes={grow(events)} began={began} />
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
  const nodes = new Map(events.map((event) => [event.span_id, { event, children: [] as Node[] }]));
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = node.event.parent_span_id ? nodes.get(node.event.parent_span_id) : undefined;
    (parent?.children ?? roots).push(node);
  }
  return roots;
}

function Branch({ nodes, began }: { nodes: Node[]; began: number }) {
  const names = useNames();
  return (
    <ul className="branch">
      {nodes.map(({ event, children }) => {
        const told = tell(event);
        const about = names.about(event.event);
        const sentence = names.said(event) || about || told.sentence;
        return (
          <li key={event.span_id}>
            <p>
              <span className="mark" data-tone={told.tone}>
                {kindOf(event.event)}
              </span>{" "}
              <span className="quiet mono">+{duration(new Date(event.at).getTime() - began)}</span>
            </p>
            <p className="branch-words">
              {about && about !== sentence ? <span className="quiet">{about}: </span> : null}
              {told.href ? <Link href={told.href}>{sentence}</Link> : sentence}
            </p>
            {children.length > 0 ? <Branch nodes={children} began={began} /> : null}
          </li>
        );
      })}
    </ul>
  );
}
