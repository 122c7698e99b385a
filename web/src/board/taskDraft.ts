// What the form of a task holds, and the task it means.

import type {
  BoardEditParams,
  BoardTask,
  Finish,
  Isolation,
  Permission,
  Priority,
  ReviewGate,
  TaskDraft,
  TaskField,
} from "../generated/operations";
import type { AgentChoice } from "../start/AgentFields";
import { line, words } from "../start/engines";
import type { Also } from "./AlsoTry";

export interface TaskFields {
  title: string;
  description: string;
  repository: string;
  template: string;
  agent: AgentChoice;
  /** Who tries it too; of a new task only. */
  also: Also[];
  isolation: "" | Isolation;
  base: string;
  finish: "" | Finish;
  review: "" | ReviewGate;
  /** One command a line. */
  checks: string;
  labels: string;
  priority: Priority;
  /** In thousands of tokens. */
  budget: string;
  tries: string;
  after: string;
}

export const EMPTY: TaskFields = {
  title: "",
  description: "",
  repository: "",
  template: "",
  agent: { engine: "", model: "", permission: "", control: "", args: "" },
  also: [],
  isolation: "",
  base: "",
  finish: "",
  review: "",
  checks: "",
  labels: "",
  priority: "normal",
  budget: "",
  tries: "",
  after: "",
};

export function fieldsOf(task: BoardTask, after: string[]): TaskFields {
  return {
    title: task.title,
    description: task.description,
    repository: task.repository ?? "",
    template: "",
    agent: {
      engine: task.engine ?? "",
      model: task.model ?? "",
      permission: task.permission ?? "",
      control: task.control ?? "",
      args: line(task.args),
    },
    also: [],
    isolation: task.isolation,
    base: task.base ?? "",
    finish: task.finish,
    review: task.review ?? "merge_at_once",
    checks: task.checks.map((check) => line(check.run)).join("\n"),
    labels: task.labels.join(", "),
    priority: task.priority,
    budget: task.budget?.tokens ? String(task.budget.tokens / 1000) : "",
    tries: String(task.max_attempts),
    after: after.join(" "),
  };
}

const listOf = (text: string): string[] => text.split(",").map((one) => one.trim()).filter(Boolean);
export const numbersOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean).map((one) => one.toUpperCase());
const commandsOf = (text: string): string[][] => text.split("\n").map(words).filter((run) => run.length > 0);

/** A new task; what is empty is left to the template and the repository. */
export function draftOf(fields: TaskFields): TaskDraft {
  const { agent } = fields;
  const args = words(agent.args);
  const checks = commandsOf(fields.checks);
  const labels = listOf(fields.labels);
  const isolation = fields.isolation || (fields.repository.trim() ? undefined : "none");
  return {
    title: fields.title.trim(),
    priority: fields.priority,
    ...(fields.description.trim() ? { description: fields.description.trim() } : {}),
    ...(fields.repository.trim() ? { repository: fields.repository.trim() } : {}),
    ...(agent.engine ? { engine: agent.engine } : {}),
    ...(agent.model.trim() ? { model: agent.model.trim() } : {}),
    ...(agent.permission ? { permission: agent.permission as Permission } : {}),
    ...(agent.control ? { control: agent.control } : {}),
    ...(args.length > 0 ? { args } : {}),
    ...(isolation ? { isolation } : {}),
    ...(fields.base.trim() ? { base: fields.base.trim() } : {}),
    ...(fields.finish ? { finish: fields.finish } : {}),
    ...(fields.review ? { review: fields.review } : {}),
    ...(checks.length > 0 ? { checks: checks.map((run) => ({ run })) } : {}),
    ...(labels.length > 0 ? { labels } : {}),
    ...(Number(fields.budget) > 0 ? { budget: { tokens: Math.round(Number(fields.budget) * 1000) } } : {}),
    ...(Number(fields.tries) > 0 ? { max_attempts: Number(fields.tries) } : {}),
  };
}

/** The further agents of a new task. */
export const alternativesOf = ({ also }: TaskFields): string[] =>
  also.map(({ engine, model }) => (model.trim() ? `${engine}:${model.trim()}` : engine));

/** What of a task was changed in its form; nothing of the rest is touched. */
export function changesOf(task: BoardTask, before: string[], fields: TaskFields): BoardEditParams {
  const was = fieldsOf(task, before);
  const now = draftOf({ ...fields, isolation: fields.isolation || task.isolation });
  const set: TaskDraft = {};
  const clear: TaskField[] = [];
  const text = (name: "title" | "description" | "priority" | "isolation" | "finish" | "review") => {
    if (fields[name] !== was[name]) Object.assign(set, { [name]: now[name] ?? "" });
  };
  text("title");
  text("description");
  text("priority");
  text("isolation");
  text("finish");
  text("review");
  const optional = (name: "repository" | "base" | "engine" | "model" | "permission" | "control", changed: boolean) => {
    if (!changed) return;
    if (now[name]) Object.assign(set, { [name]: now[name] });
    else clear.push(name);
  };
  optional("repository", fields.repository.trim() !== was.repository);
  optional("base", fields.base.trim() !== was.base);
  optional("engine", fields.agent.engine !== was.agent.engine);
  optional("model", fields.agent.model.trim() !== was.agent.model);
  optional("permission", fields.agent.permission !== was.agent.permission);
  optional("control", fields.agent.control !== was.agent.control);
  if (fields.agent.args !== was.agent.args) set.args = words(fields.agent.args);
  if (fields.checks !== was.checks) {
    // A check that stays keeps its name, time and exit code.
    set.checks = commandsOf(fields.checks).map(
      (run) => task.checks.find((check) => line(check.run) === line(run)) ?? { run },
    );
  }
  if (fields.labels !== was.labels) set.labels = listOf(fields.labels);
  if (fields.budget !== was.budget) {
    if (now.budget) set.budget = now.budget;
    else clear.push("budget");
  }
  if (fields.tries !== was.tries && now.max_attempts) set.max_attempts = now.max_attempts;
  const after = numbersOf(fields.after);
  const depend = after.filter((number) => !before.includes(number));
  const undepend = before.filter((number) => !after.includes(number));
  return {
    task: task.number,
    set,
    ...(clear.length > 0 ? { clear } : {}),
    ...(depend.length > 0 ? { depend } : {}),
    ...(undepend.length > 0 ? { undepend } : {}),
  };
}
