// What depends on what, drawn from left to right. Loaded only when it is opened,
// with the layout it needs.

import { graphlib, layout } from "@dagrejs/dagre";
import { useMemo } from "react";
import { Link } from "wouter";

import { useOperation } from "../daemon/queries";
import type { GraphReport, TaskSummary } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { taskTone } from "../parts/marks";
import { type Filter, fits } from "./cards";

const WIDTH = 190;
const HEIGHT = 46;

export function Graph({ filter, tasks }: { filter: Filter; tasks: TaskSummary[] }) {
  const graph = useOperation("board_graph", { all: true });
  const shown = useMemo(
    () => new Set(tasks.filter((task) => fits(task, filter)).map((task) => task.number)),
    [tasks, filter],
  );
  return <Loaded of={graph}>{(report) => <Drawing report={report} shown={shown} />}</Loaded>;
}

function Drawing({ report, shown }: { report: GraphReport; shown: Set<string> }) {
  const drawn = useMemo(() => draw(report), [report]);
  if (drawn.nodes.length === 0) {
    return (
      <div className="view" tabIndex={0}>
        <Nothing title="No task depends on another">
          <p>
            Say that a task comes after others when you add it, or with <code>mission task edit T-2 --after T-1</code>.
          </p>
        </Nothing>
      </div>
    );
  }
  return (
    <div className="graph" role="region" aria-label="Dependency graph" tabIndex={0}>
      <div style={{ width: drawn.width, height: drawn.height, position: "relative" }}>
        <svg width={drawn.width} height={drawn.height} aria-hidden="true">
          {drawn.edges.map((edge) => (
            <path key={edge.key} d={edge.path} className="graph-edge" data-done={edge.done} />
          ))}
        </svg>
        {drawn.nodes.map((node) => (
          <Link
            key={node.number}
            href={`/board/${node.number}`}
            className={shown.has(node.number) ? "graph-node" : "graph-node aside"}
            data-tone={taskTone(node.status)}
            style={{ left: node.x, top: node.y, width: WIDTH, height: HEIGHT }}
          >
            <span className="mark" data-tone={taskTone(node.status)}>
              <span className="number">{node.number}</span>
              <span className="visually-hidden">{node.status}</span>
            </span>
            <span className="one-line">{node.title}</span>
          </Link>
        ))}
      </div>
      {drawn.alone > 0 ? <p className="quiet">{drawn.alone} tasks depend on nothing and are not drawn.</p> : null}
      {report.left_out > 0 ? <p className="quiet">{report.left_out} more are left out.</p> : null}
    </div>
  );
}

function draw(report: GraphReport) {
  const graph = new graphlib.Graph<{ rankdir: string }, { width: number; height: number; x: number; y: number }>();
  graph.setGraph({ rankdir: "LR", nodesep: 12, ranksep: 56, marginx: 16, marginy: 16 } as { rankdir: string });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Map(report.nodes.map((node) => [node.number, node]));
  const linked = new Set<string>();
  for (const node of report.nodes) {
    for (const before of node.depends_on ?? []) {
      if (!known.has(before)) continue;
      linked.add(node.number).add(before);
    }
  }
  for (const number of linked) graph.setNode(number, { width: WIDTH, height: HEIGHT, x: 0, y: 0 });
  for (const node of report.nodes) {
    for (const before of node.depends_on ?? []) if (known.has(before)) graph.setEdge(before, node.number);
  }
  layout(graph as unknown as Parameters<typeof layout>[0]);
  const nodes = report.nodes
    .filter((node) => linked.has(node.number))
    .map((node) => {
      const place = graph.node(node.number);
      return { ...node, x: (place?.x ?? 0) - WIDTH / 2, y: (place?.y ?? 0) - HEIGHT / 2 };
    });
  const edges = graph.edges().map(({ v, w }) => {
    const [from, to] = [graph.node(v), graph.node(w)];
    const { points } = graph.edge(v, w) as { points: { x: number; y: number }[] };
    // From the middle of one side to the middle of the other; the layout aims at
    // the centres and would leave at a corner.
    const between = points.slice(1, -1);
    const ends = [from, to].map((node, end) => ({
      x: (node?.x ?? 0) + (end === 0 ? WIDTH : -WIDTH) / 2,
      y: node?.y ?? 0,
    }));
    points.splice(0, points.length, ...ends.slice(0, 1), ...(between.length > 1 ? between : []), ...ends.slice(1));
    return { key: `${v}-${w}`, path: curve(points), done: known.get(v)?.status === "done" };
  });
  const size = graph.graph() as { width?: number; height?: number };
  return {
    nodes,
    edges,
    width: size.width ?? 0,
    height: size.height ?? 0,
    alone: report.nodes.length - linked.size,
  };
}

function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x},${first.y}`;
  let from = first;
  for (const to of rest) {
    const middle = (from.x + to.x) / 2;
    path += `C${middle},${from.y} ${middle},${to.y} ${to.x},${to.y}`;
    from = to;
  }
  return path;
}
