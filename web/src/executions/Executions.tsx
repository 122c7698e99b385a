// Runs of agents, by the name of what each works on: its state in a word, what it
// used, and why it failed if it did.

import { useMemo, useState } from "react";
import { Link } from "wouter";

import { Bar } from "../app/Menu";
import { isOfProject, ProjectSwitcher, useProject } from "../app/Project";
import { useRemembered } from "../app/remember";
import { CompactQuestion, isAskedBy } from "../attention/AnswerButtons";
import { nameOf } from "../board/cards";
import { useOpenQuestions, useOperation } from "../daemon/queries";
import type { ExecutionSummary } from "../generated/operations";
import { CostOf, TokenSum } from "../parts/cost";
import { EngineMark } from "../parts/engine";
import { Loaded, Nothing } from "../parts/Loaded";
import { Mark, runState } from "../parts/marks";
import { Prose } from "../parts/Prose";
import { Ago, Lasting } from "../parts/time";
import { runName } from "./names";
import "./executions.css";

export function Executions() {
  const [all, setAll] = useRemembered("executions.all", true);
  const [words, setWords] = useState("");
  const project = useProject();
  const executions = useOperation("execution_list", { all, ...(all ? { limit: 200 } : {}) }, { placeholder: "keep" });
  return (
    <>
      <Bar title="Runs">
        <ProjectSwitcher />
        <input
          className="field"
          type="search"
          aria-label="Filter runs"
          placeholder="Filter…"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <button type="button" className="button" aria-pressed={all} onClick={() => setAll(!all)}>
          Show ended
        </button>
      </Bar>
      <div className="view">
        <Loaded of={executions}>
          {(page) => (page.executions.length === 0 ? <NoRuns all={all} /> : <Table runs={page.executions} words={words} project={project} />)}
        </Loaded>
      </div>
    </>
  );
}

function NoRuns({ all }: { all: boolean }) {
  return (
    <Nothing title={all ? "No agent has run yet" : "No agent runs now"}>
      <p>
        A run is one agent from its start to its end, with a journal of everything it was told, said and did. The
        autopilot starts one for each attempt at a task; you can start one yourself:
      </p>
      <pre className="output">mission run "Explain this repository"</pre>
      <p>
        <Link href="/board">Open the board</Link>
      </p>
    </Nothing>
  );
}

function Table({ runs: all, words, project }: { runs: ExecutionSummary[]; words: string; project: string }) {
  const wanted = words.trim().toLowerCase();
  const runs = useMemo(() => all.filter((run) => isOfProject(project, run.repository.path)), [all, project]);
  const shown = useMemo(
    () =>
      runs.filter((run) =>
        `${run.task ?? ""} ${runName(run)} ${run.repository.name} ${run.engine} ${run.slot_name ?? ""}`.toLowerCase().includes(wanted),
      ),
    [runs, wanted],
  );
  if (shown.length === 0) {
    return (
      <Nothing title={runs.length === 0 ? `No run in ${nameOf(project)}` : "No run fits"}>
        {runs.length === 0 ? (
          <p>Agents ran in other repositories only.</p>
        ) : (
          <p>None of the {runs.length} runs has “{words.trim()}” in its name, repository or agent.</p>
        )}
      </Nothing>
    );
  }
  return (
    <div className="scroll-x" role="region" aria-label="Runs" tabIndex={0}>
      <table className="table paragraphs runs">
        <thead>
          <tr>
            <th>State</th>
            <th>Run</th>
            <th>Repository</th>
            <th>Agent</th>
            <th className="number">Used</th>
            <th>Started</th>
            <th className="number">Took</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((run) => (
            <tr key={run.execution}>
              <td>
                <Mark {...runState(run)} />
              </td>
              <td className="run-name">
                <p>
                  {run.task ? (
                    <Link href={`/board/${run.task}`} className="number">
                      {run.task}
                    </Link>
                  ) : null}{" "}
                  <Link href={`/executions/${run.execution}`}>{runName(run)}</Link>
                </p>
                <Why run={run} />
                {run.ended_at ? null : <Asked run={run} />}
              </td>
              <td className="quiet" title={run.repository.path}>
                {run.repository.name}
              </td>
              <td>
                <EngineMark engine={run.engine} />
              </td>
              <td className="number run-used">
                <TokenSum tokens={run.tokens} /> <CostOf cost={run.cost} />
              </td>
              <td>
                <Ago at={run.started_at} />
              </td>
              <td className="number">
                <Lasting from={run.started_at} to={run.ended_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What its agent asks. */
function Asked({ run }: { run: ExecutionSummary }) {
  const { data } = useOpenQuestions();
  const open = data?.questions.find((question) => isAskedBy(question, { execution: run.execution, slot: run.slot }));
  return open ? <CompactQuestion question={open} /> : null;
}

/** Why it failed, else how far it says it is. */
function Why({ run }: { run: ExecutionSummary }) {
  const failure = run.trouble ?? run.failure;
  if (failure) {
    return (
      <p className="run-failure">
        <Prose text={failure} />
      </p>
    );
  }
  return run.progress ? (
    <p className="quiet">
      <Prose text={run.progress} />
    </p>
  ) : null;
}
