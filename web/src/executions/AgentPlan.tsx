// What an agent that is driven by its protocol means to do, step by step, and the
// agents that work for it.

import { useOperation } from "../daemon/queries";
import type { AgentStep, AgentStepStatus, SubAgent } from "../generated/operations";
import { Mark, type Tone } from "../parts/marks";
import "./plan.css";

/** No event tells that only the plan has changed. */
const AGAIN_MS = 2000;

const STEPS: Record<AgentStepStatus, { tone: Tone; word: string; busy?: boolean }> = {
  pending: { tone: "rest", word: "to do" },
  running: { tone: "work", word: "doing", busy: true },
  done: { tone: "good", word: "done" },
  cancelled: { tone: "rest", word: "dropped" },
};

export function AgentPlan({ execution }: { execution: string }) {
  const agent = useOperation("execution_show", { execution }, { refetchInterval: AGAIN_MS }).data?.agent;
  return (
    <>
      <Steps steps={agent?.plan ?? []} />
      <SubAgents agents={agent?.sub_agents ?? []} />
    </>
  );
}

function Steps({ steps }: { steps: AgentStep[] }) {
  if (steps.length === 0) return null;
  const done = steps.filter(({ status }) => status === "done").length;
  return (
    <section className="section">
      <h2>
        Plan{" "}
        <span className="quiet">
          {done} of {steps.length} done
        </span>
      </h2>
      <ol className="agent-plan" aria-label="The agent's plan" tabIndex={0}>
        {steps.map((step, index) => (
          <li key={index} data-status={step.status} aria-current={step.status === "running" ? "step" : undefined}>
            <Mark {...STEPS[step.status]} />
            <span className="agent-step">{step.text}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function SubAgents({ agents }: { agents: SubAgent[] }) {
  if (agents.length === 0) return null;
  return (
    <section className="section">
      <h2>
        Works for it <span className="quiet">{agents.length}</span>
      </h2>
      <ul className="agent-plan" aria-label="Agents that work for it" tabIndex={0}>
        {agents.map((agent, index) => (
          <li key={index}>
            <Mark {...(agent.is_working ? STEPS.running : STEPS.done)} />
            <span className="agent-step">
              {agent.name} {agent.last_words ? <span className="quiet">{agent.last_words}</span> : null}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
