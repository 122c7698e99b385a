//! Attention: what people are asked, and what agents may do without asking.

use missiond_core::{
    AnswerText, BoardTaskId, Bounded, BoundedOr, CliEngine, ExecutionId, Limit, PermissionAsked,
    Question, QuestionRef, Text, Timestamp,
};
use missiond_core::{QuestionStatus, SlotId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::autopilot::AutopilotMode;
use super::operations;
use super::policy::PolicyLayer;

operations! {
    Communication;

    QuestionList = "question_list" (ReadOnly, "attention"):
        QuestionListParams => QuestionPage,
        "List the questions that wait for a person, those first that waited longest and block most.";

    QuestionAnswer = "question_answer" (Additive, "attention", People; Agent):
        QuestionAnswerParams => QuestionAnswerResult,
        "Answer a question; the answer goes to the dialog, agent or task that asked.";

    QuestionDismiss = "question_dismiss" (Idempotent, "attention", People):
        QuestionDismissParams => QuestionResult,
        "Close a question without an answer; who asked goes on waiting.";
}

/// The rules have their operations in the domain of the system.
pub mod permission {
    use super::super::operations;
    use super::{
        PermissionAddParams, PermissionAddResult, PermissionListParams, PermissionPage,
        PermissionRemoveParams, PermissionRemoveResult, PermissionTestParams, PermissionVerdict,
    };

    operations! {
        System;

        PermissionList = "permission_list" (ReadOnly, "attention"):
            PermissionListParams => PermissionPage,
            "List the rules on what agents may do, and what was decided by them last.";

        PermissionAdd = "permission_add" (Additive, "attention", People):
            PermissionAddParams => PermissionAddResult,
            "Add a rule that allows, denies or has a person asked when an agent wants to use a tool.";

        PermissionRemove = "permission_remove" (Idempotent, "attention", People):
            PermissionRemoveParams => PermissionRemoveResult,
            "Remove a rule that was added.";

        PermissionTest = "permission_test" (ReadOnly, "attention"; Instant):
            PermissionTestParams => PermissionVerdict,
            "Say what the rules decide about a use of a tool, and which one decides.";
    }
}

/// Characters of a pattern of a rule. The guard reads the rules of files and of calls
/// alike and holds them to it.
pub const MAX_PATTERN: usize = 1000;

/// Seconds of a day.
const DAY: i64 = 24 * 3600;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuestionListParams {
    /// Also those that are closed, the newest first.
    pub all: bool,
    /// With `all`: at most so many.
    pub limit: Limit<1000, 50>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionPage {
    pub questions: Vec<Question>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionAnswerParams {
    /// Its number, such as `Q-7`, or its id.
    pub question: QuestionRef,
    /// The answer. Where options are offered: the number of one, its words or how they begin.
    pub answer: AnswerText,
    /// Who answers; `person` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Text<128>>,
    /// Let the answer hold for this very use of the tool again, for a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantParams>,
}

/// An approval is one approval, unless it is given a time or a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantParams {
    /// For so many seconds, at most 30 days; an hour when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Bounded<1, { 30 * DAY }>>,
    #[serde(default)]
    pub scope: GrantScope,
    /// It holds for a dialog that is read from a screen alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_sight: bool,
}

/// For whom an approval holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// The task the agent works on, also when a later attempt asks again; the slot
    /// that asked where there is none.
    #[default]
    Asker,
    /// The slot that asked.
    Slot,
    /// The execution that asked.
    Execution,
    /// The task the agent works on.
    Task,
    /// Every agent.
    Everywhere,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionAnswerResult {
    pub question: Question,
    /// The rule the grant has become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The mode of the autopilot, where it keeps the answer from being acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<AutopilotMode>,
}

impl QuestionAnswerResult {
    /// That the answer is kept and nobody acts on it yet, and what changes that.
    #[must_use]
    pub fn held(&self) -> Option<String> {
        let task = self.question.task?;
        let mode = match self.held_by? {
            AutopilotMode::Running => return None,
            AutopilotMode::Paused => "paused",
            AutopilotMode::Draining => "finishing what runs",
            AutopilotMode::Stopped => "stopped",
        };
        Some(format!(
            "The answer is kept. The autopilot is {mode}, so nobody goes on with {task} until \
             `mission autopilot resume`."
        ))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionDismissParams {
    /// Its number, such as `Q-7`, or its id.
    pub question: QuestionRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<2000>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionResult {
    pub question: Question,
}

impl QuestionResult {
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.question.status == QuestionStatus::Pending
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionEffect {
    Allow,
    /// A person is asked.
    Ask,
    Deny,
}

/// What a rule is about. What is left out is everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionSubject {
    /// The tool: `*` stands for any characters; capital letters do not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATTERN))]
    pub tool: Option<String>,
    /// The argument or command, as a glob, or after `re:` as a regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATTERN))]
    pub argument: Option<String>,
    /// The file: `**` for any folders; relative ones begin in the agent's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATTERN))]
    pub path: Option<String>,
    /// The MCP server the tool belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATTERN))]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    /// A slot, by its id or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<BoardTaskId>,
    /// A rule that allows holds also for a dialog that is read from a screen alone, where
    /// no hook and no protocol says what the agent's program asks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_sight: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionListParams {
    /// So many of the last decisions too.
    pub decisions: BoundedOr<0, 1000, 0>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionPage {
    pub rules: Vec<PermissionRule>,
    /// The last ones, newest first.
    pub decisions: Vec<PermissionDecision>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionRule {
    /// `P-3`, or where it comes from.
    pub name: String,
    pub effect: PermissionEffect,
    #[serde(flatten)]
    pub subject: PermissionSubject,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_left: Option<u32>,
    /// It has neither expired nor been used up.
    pub in_force: bool,
    pub source: PermissionSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionSource {
    BuiltIn,
    Configuration,
    Added,
}

/// What was decided about one permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionDecision {
    pub slot: SlotId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    pub asked: PermissionAsked,
    /// `allow` or `deny`.
    pub effect: String,
    /// The rules that decided.
    pub decided_by: String,
    pub reason: String,
    pub decided_at: Timestamp,
    /// `taken` when the dialog took it, `allowed` or `refused` when the agent's program
    /// was told before it asked; else why it did not come to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionAddParams {
    pub effect: PermissionEffect,
    #[serde(default)]
    pub subject: PermissionSubject,
    /// It holds for so many seconds, at most ten years; for ever when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Bounded<1, { 3650 * DAY }>>,
    /// It decides so often; without a limit when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<Bounded<1, { u32::MAX as i64 }>>,
    /// Who adds it; `person` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Text<128>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionAddResult {
    /// `P-3`.
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionRemoveParams {
    /// `P-3`.
    pub rule: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionRemoveResult {
    pub name: String,
}

/// A use of a tool, as an agent would ask for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionTestParams {
    pub tool: String,
    /// A command where the tool runs commands (Bash, Run, Shell), else any text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<Text<100_000, 0>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `claude` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// The folder the agent works in; the root when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionVerdict {
    pub effect: PermissionEffect,
    /// The rules that decide; none when nothing is known.
    pub rules: Vec<String>,
    pub reason: String,
    /// The layer of the policy that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<PolicyLayer>,
    /// What would have to change for another outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// What of a command with several parts each would come to alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PermissionPart>,
}

/// One part of a command, as it is judged by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionPart {
    pub command: String,
    pub effect: PermissionEffect,
    pub rules: Vec<String>,
    pub reason: String,
}
