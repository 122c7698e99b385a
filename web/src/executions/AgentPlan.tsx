// What an agent that is driven by its protocol means to do, step by step, the agents that
// work for it, and how its account stands.

import { useOperation } from "../daemon/queries";
import type { AgentLimit, AgentStep, AgentStepStatus, AgentTold, SubAgent } from "../generated/operations";
import { Mark, type Tone } from "../parts/marks";
import { Ago, duration } from "../parts/time";
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
      {agent ? <Account agent={agent} /> : null}
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

/** What is nearly used up is seen at a glance. */
const NEARLY_USED_UP = 90;

function Account({ agent }: { agent: AgentTold }) {
  const { cost, limit_reached: reached, limits = [] } = agent;
  if (!cost && !reached && limits.length === 0) return null;
  return (
    <section className="section">
      <h2>
        Limits and cost {cost ? <span className="quiet">{cost} so far</span> : null}
      </h2>
      {reached ? (
        <p className="trouble" role="alert">
          {reached}
        </p>
      ) : null}
      {limits.length > 0 ? (
        <ul className="agent-plan" aria-label="The agent's limits" tabIndex={0}>
          {limits.map((limit, index) => (
            <li key={index}>
              <Used limit={limit} />
              <span className="agent-step">
                {limit.name} <span className="quiet">{limit.minutes ? `of ${duration(limit.minutes * 60_000)}` : ""}</span>{" "}
                {limit.resets_at ? (
                  <span className="quiet">
                    resets <Ago at={limit.resets_at} />
                  </span>
                ) : null}
              </span>
            </li>
          ))}
        </ul>
      ) : null}
    </section>
  );
}

function Used({ limit }: { limit: AgentLimit }) {
  const used = limit.used_percent;
  if (used == null) return <Mark tone="rest" word="unknown" />;
  const tone = used >= 100 ? "bad" : used >= NEARLY_USED_UP ? "wait" : "good";
  return <Mark tone={tone} word={`${used} %`} />;
}
