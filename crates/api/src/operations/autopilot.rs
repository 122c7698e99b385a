//! The autopilot: whether it works, and what it has under way.

use missiond_core::{AttemptId, BoardTaskId, CliEngine, ExecutionId, TaskNumber, Text, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    System;

    AutopilotShow = "autopilot_show" (ReadOnly, "autopilot"):
        NoParams => AutopilotReport,
        "Say whether the autopilot works, what it has under way and which tasks wait for a limit.";

    AutopilotSet = "autopilot_set" (Destructive, "autopilot", People; Agent):
        AutopilotSetParams => AutopilotReport,
        "Switch the autopilot on, pause it, drain it, or stop everything it has under way.";
}

/// How much the autopilot does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutopilotMode {
    /// It claims tasks and sees them through.
    Running,
    /// It claims nothing and says nothing to agents.
    Paused,
    /// It claims nothing and sees through what runs.
    Draining,
    /// Agents of tasks are ended and their tasks given back.
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutopilotSetParams {
    pub mode: AutopilotMode,
    /// Why, for whoever looks at it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<500>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutopilotReport {
    pub mode: AutopilotMode,
    pub reason: String,
    pub changed_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
    /// How many agents may work on tasks at once.
    pub max_agents: u32,
    pub attempts: Vec<AttemptUnderWay>,
    /// Agents of attempts that are over, which are just being ended.
    #[serde(default)]
    pub leaving: u32,
    pub parked: Vec<ParkedTask>,
    /// Tokens that count against the budget of the day.
    pub tokens_today: u64,
    /// 0 means no budget.
    pub tokens_per_day: u64,
    /// How the knowledge base stood when it was tended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryReport>,
}

/// What was done for the knowledge base without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryReport {
    pub at: Timestamp,
    /// Candidates that a rule (`knowledge.accept_from`) made entries then.
    pub accepted: u64,
    /// Candidates that wait for a person.
    pub waiting: u64,
    /// Entries that have aged unused and that a collection would archive.
    pub aged: u64,
    pub entries: u64,
    /// Entries that can be found by meaning.
    pub embedded: u64,
}

/// An attempt that has no outcome yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptUnderWay {
    pub task: TaskNumber,
    pub title: String,
    pub attempt: AttemptId,
    /// 1 for the first try of the task.
    pub number: u32,
    /// Who works on it: a home on a machine.
    pub holder: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    /// The slot its agent runs in, while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// Where it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub check_rounds: u32,
    pub started_at: Timestamp,
}

/// A task that waits for a vendor's limit to reset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParkedTask {
    pub task: BoardTaskId,
    pub engine: CliEngine,
    pub until: Timestamp,
    pub reason: String,
}
