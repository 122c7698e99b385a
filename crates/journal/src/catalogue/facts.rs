//! What the system observes of an agent without the agent's saying so.

use missiond_core::{AgentStepStatus, List, PtyState, Text, Timestamp, ToolOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{family, limits};

family! {
    /// Something observed of an execution.
    "fact" Fact FactType FACTS () {
        Reading = "reading", "Terminal reading", "What the agent's screen was read as.", ();
        Turn = "turn", "Turn", "The agent began or ended a turn.", ();
        ToolUse = "tool_use", "Tool use", "The agent began or ended the use of a tool.", ();
        Dialog = "dialog", "Dialog", "The agent's program asks the person something, or no longer does.", ();
        Speech = "said", "Said", "Words of the conversation.", ();
        Thinking = "thinking", "Thinking", "The agent thinks. What it thinks is not part of the fact.", ();
        Usage = "usage", "Usage", "Tokens one request took.", ();
        SessionCost = "cost", "Cost", "What the conversation has cost so far, by its program's own count.", ();
        RateLimits = "rate_limits", "Rate limits", "How far the vendor's limits are used up, or which one ended a turn.", ();
        Plan = "plan", "Plan", "What the agent means to do, step by step.", ();
        Setting = "setting", "Setting", "The agent's mode or model, when it is opened and when it changes.", ();
        Session = "session", "Session", "The conversation's name in the agent's own program.", ();
        Process = "process", "Process", "The agent's process began or ended.", ();
        Control = "control", "Control", "The daemon did something to the run as a whole.", ();
        Diagnostic = "diagnostic", "Diagnostic", "Something about the signals themselves that somebody should see.", ();
    }
}

/// Begun or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    Began,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    pub state: PtyState,
    /// What on the screen says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Text<{ limits::LABEL }>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    pub edge: Edge,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolUse {
    pub edge: Edge,
    pub tool: Text<{ limits::LABEL }>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Names exactly what would be or was done: tool, input and folder. The same as of
    /// the permission that was given for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<Text<{ limits::LABEL }>>,
    /// Only with [`Edge::Ended`], and only when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ToolOutcome>,
}

/// What an agent works on at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub kind: TargetKind,
    pub label: Text<{ limits::PATH }>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    File,
    Command,
    Test,
    Address,
    Artifact,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dialog {
    pub edge: Edge,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Text<{ limits::SIGNAL_TEXT }>>,
    /// Names exactly what is asked for, where the agent says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_digest: Option<Text<{ limits::LABEL }>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Speech {
    pub by: Speaker,
    pub text: Text<{ limits::MESSAGE_TEXT }>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    Agent,
    Operator,
    Program,
}

/// Has no field for a text, so that private reasoning has no way in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thinking {
    pub edge: Edge,
}

/// The tokens of one request. The idempotency key of the observation is made of
/// the request's id, so that a request seen twice counts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text<{ limits::LABEL }>>,
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default)]
    pub cache_read_tokens: u64,
    #[serde(default)]
    pub cache_write_tokens: u64,
}

/// Of the whole conversation, never of one request: the last one holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionCost {
    /// A decimal number, as `0.0125`.
    pub amount: Text<{ limits::LABEL }>,
    pub currency: Text<{ limits::LABEL }>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateLimits {
    #[serde(default, skip_serializing_if = "is_empty")]
    pub windows: List<LimitWindow, 0, { limits::LIMIT_WINDOWS }>,
    /// The agent's words for the limit that is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<Text<{ limits::SIGNAL_TEXT }>>,
    /// Its turn has ended with that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_turn: bool,
}

fn is_empty(windows: &List<LimitWindow, 0, { limits::LIMIT_WINDOWS }>) -> bool {
    windows.is_empty()
}

impl RateLimits {
    /// When all that is used up now is to be had again.
    #[must_use]
    pub fn resets_at(&self) -> Option<Timestamp> {
        let used_up = |window: &&LimitWindow| window.used_percent.is_some_and(|used| used >= 100);
        let used_up = self.windows.iter().filter(used_up);
        used_up.filter_map(|window| window.resets_at).max()
    }
}

/// So much may be used in so many minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitWindow {
    pub name: Text<{ limits::LABEL }>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub steps: List<PlanStep, 0, { limits::PLAN_STEPS }>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    pub text: Text<{ limits::LABEL }>,
    pub status: AgentStepStatus,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub of: SettingKind,
    pub value: Text<{ limits::LABEL }>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingKind {
    Mode,
    Model,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    pub id: Text<{ limits::LABEL }>,
    /// Where the program keeps its transcript, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Text<{ limits::PATH }>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "event", deny_unknown_fields)]
pub enum Process {
    Started {
        pid: u32,
    },
    /// One of the two is known, or neither on systems that tell nothing.
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
    },
    /// It is gone and nobody saw how.
    Lost {
        reason: Text<{ limits::SIGNAL_TEXT }>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "did", deny_unknown_fields)]
pub enum Control {
    Paused,
    Resumed,
    Cancelled {
        reason: Text<{ limits::SIGNAL_TEXT }>,
    },
    Terminated {
        reason: Text<{ limits::SIGNAL_TEXT }>,
    },
    /// Its work is over, and its program was asked to end.
    Finished {
        reason: Text<{ limits::SIGNAL_TEXT }>,
    },
    /// Nobody waits for this answer any more.
    Withdrew {
        request: missiond_core::ObservationId,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diagnostic {
    pub code: DiagnosticCode,
    pub detail: Text<{ limits::SIGNAL_TEXT }>,
}

/// What was wrong with something that should have been a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticCode {
    /// It is not what its type demands.
    Malformed,
    /// It is larger than allowed.
    Oversized,
    /// The catalogue has no such type.
    Unsupported,
    /// It names another execution.
    WrongExecution,
    /// It does not prove that it comes from this execution's agent.
    Unauthorised,
    /// The agent's program reported a failure of its own.
    Program,
}
