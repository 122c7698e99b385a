// Runs of agents: what each is doing, whom it waits for, what it last said.

import { Link } from "wouter";

import { Bar } from "../app/Menu";
import { useRemembered } from "../app/remember";
import { useOperation } from "../daemon/queries";
import type { ExecutionSummary } from "../generated/operations";
import { Loaded, Nothing } from "../parts/Loaded";
import { AttentionMark, LifecycleMark } from "../parts/marks";
import { Ago, Lasting } from "../parts/time";
import "./executions.css";

export function Executions() {
  const [all, setAll] = useRemembered("executions.all", true);
  const executions = useOperation("execution_list", { all, ...(all ? { limit: 200 } : {}) }, { placeholder: "keep" });
  return (
    <>
      <Bar title="Runs">
        <button type="button" className="button" aria-pressed={all} onClick={() => setAll(!all)}>
          Ended too
        </button>
      </Bar>
      <div className="view">
        <Loaded of={executions}>
          {(page) => (page.executions.length === 0 ? <NoRuns /> : <Table runs={page.executions} />)}
        </Loaded>
      </div>
    </>
  );
}

function NoRuns() {
  return (
    <Nothing title="No agent has run">
      <p>
        A run is one agent from its start to its end, with a journal of everything it was told, said and did. The
        autopilot starts one for each attempt at a task.
      </p>
      <pre className="output">mission execution start claude --prompt "Say hello"</pre>
    </Nothing>
  );
}

function Table({ runs }: { runs: ExecutionSummary[] }) {
  return (
    <div className="scroll-x" role="region" aria-label="Runs" tabIndex={0}>
      <table className="table paragraphs runs">
        <thead>
          <tr>
            <th>State</th>
            <th>Agent</th>
            <th>Folder</th>
            <th>Doing</th>
            <th>Began</th>
            <th>Took</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.execution}>
              <td>
                <Link href={`/executions/${run.execution}`}>
                  <LifecycleMark lifecycle={run.lifecycle} />
                </Link>
              </td>
              <td>
                <Link href={`/executions/${run.execution}`}>{run.slot_name ?? run.engine}</Link>
                {run.slot_name ? <span className="quiet"> {run.engine}</span> : null}
              </td>
              <td className="mono quiet run-folder" title={run.cwd}>
                {run.cwd.split("/").slice(-2).join("/")}
              </td>
              <td>
                <AttentionMark attention={run.attention} /> {run.ended_at ? null : run.activity}
                {run.progress ? <span className="quiet"> {run.progress}</span> : null}
                {run.trouble ? <span className="tag" data-tone="bad">{run.trouble}</span> : null}
              </td>
              <td data-name="began">
                <Ago at={run.started_at} />
              </td>
              <td data-name="took">
                <Lasting from={run.started_at} to={run.ended_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
