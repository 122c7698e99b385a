//! What an agent is told beside its first prompt: what would be, and what was.

use missiond_core::{AbsolutePath, BoardTaskId, CliEngine, ExecutionId, TaskRef, Text, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations;

pub use missiond_core::{ContextItem, ContextOutcome, ContextSource, ContextTokens, SourceState};

operations! {
    Knowledge;

    ContextPreview = "context_preview" (ReadOnly, "context"):
        ContextPreviewParams => ContextView,
        "Show what an agent would be told beside a first prompt or the prompt of a task: skills, \
         entries, map, files; what would be cut, and why. Nothing is started.";

    ContextShow = "context_show" (ReadOnly, "context"):
        ContextShowParams => ContextView,
        "Show what an agent was told beside its first prompt, what was cut, and why.";

    SkillList = "skill_list" (ReadOnly, "context"):
        SkillListParams => SkillListResult,
        "List the skills (SKILL.md) of a repository and of the user, which agent CLIs read each \
         by themselves, and those that cannot be used with the reason.";
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextPreviewParams {
    /// What the agent would be asked; or name a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Text<100_000, 0>>,
    /// A task of the board, by number or id: its prompt, folder and engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    /// The folder to work in, absolute; that of the task when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<AbsolutePath>,
    /// Which agent CLI; that of the task, or else claude.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    /// The budget; that of the configuration when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<ContextTokens>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextShowParams {
    /// An execution, by its id or the name of its slot.
    pub execution: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextView {
    /// None of a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<BoardTaskId>,
    pub engine: CliEngine,
    pub cwd: String,
    pub at: Timestamp,
    /// Tokens that may be used, and that are; estimated on the safe side.
    pub budget: u32,
    pub used: u32,
    /// Secrets that were taken out.
    pub masked: u32,
    /// Why nothing is given, whatever there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// Every candidate in the order of its source and relevance.
    pub items: Vec<ContextItem>,
    pub sources: Vec<ContextSource>,
    /// As it is typed behind the prompt; empty when nothing is given.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillListParams {
    /// A folder of the repository, absolute.
    pub cwd: AbsolutePath,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillListResult {
    pub skills: Vec<SkillSummary>,
    /// Files that are not skills, with the reason.
    pub refused: Vec<RefusedSkill>,
    /// More were there than are looked at.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillSummary {
    pub name: String,
    pub description: String,
    pub path: String,
    /// Tokens of the whole file, estimated.
    pub tokens: u32,
    pub changed_at: Option<Timestamp>,
    /// The engines whose CLIs read it by themselves.
    pub read_by: Vec<CliEngine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedSkill {
    pub path: String,
    pub reason: String,
}
