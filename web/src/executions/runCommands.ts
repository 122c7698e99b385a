// What can be done with an agent while it runs.

import { go } from "../app/address";
import type { SendWhen } from "../generated/operations";
import { type Command, perform } from "../parts/command";
import { say } from "../parts/toasts";

export interface LiveRun {
  execution: string;
  /** The number of its task, or what it was asked. */
  name: string;
  about?: string;
  /** By its name or its id. */
  slot?: string;
}

export function runCommands(run: LiveRun): Command[] {
  const { execution, name, slot } = run;
  const commands: Command[] = [
    {
      label: "Message",
      name: `Message ${name}`,
      also: "tell say agent",
      key: "m",
      takesWords: true,
      run: (text) => messageAgent(execution, text),
    },
    interruptRun(run),
    ...(slot
      ? [{ label: "Take over", name: `Take over ${name}`, also: "terminal type keyboard", run: () => go(`/slots/${encodeURIComponent(slot)}?take`) }]
      : []),
    { label: "Run", name: `Show the run of ${name}`, also: "journal", run: () => go(`/executions/${execution}`) },
    stopRun(run),
  ];
  return commands.map((command) => ({ ...command, ...(run.about ? { about: run.about } : {}) }));
}

export const messageAgent = (execution: string, text: string, when: SendWhen = "idle"): Promise<boolean> =>
  perform("execution_message", { execution, text, when }, () =>
    say(when === "now" ? "Sent: the agent gets it while it works." : "Sent: the agent gets it as soon as it waits for a message."),
  );

export const interruptRun = ({ execution, name }: LiveRun): Command => ({
  label: "Interrupt",
  name: `Interrupt ${name}`,
  also: "agent escape",
  run: () => perform("execution_interrupt", { execution }, () => say("The agent is told to stop what it does.", "rest")),
});

export const stopRun = ({ execution, name }: LiveRun): Command => ({
  label: "Stop run",
  name: `Stop the run of ${name}`,
  also: "end kill agent",
  look: "danger",
  confirm: "Stop this run and every process it started?",
  run: () => perform("execution_cancel", { execution, reason: "stopped in the page" }, () => say("The run is stopped.", "rest")),
});
