//! Things that have a row of their own in the store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CliEngine, DaemonId, FencingToken, IncidentId, SlotId, TaskId, TaskStatus, Timestamp};

/// The right to work on a resource until a moment in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// What is held, for example `task/task_01jq…`.
    pub resource: String,
    /// Who holds it.
    pub holder: String,
    pub token: FencingToken,
    pub expires_at: Timestamp,
}

/// A submitted prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    pub id: TaskId,
    pub prompt: String,
    pub engine: Option<CliEngine>,
    pub status: TaskStatus,
    pub slot: Option<SlotId>,
    pub result: Option<String>,
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

/// Who a slot belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotKind {
    /// The person's own session, registered but not owned.
    Foreground,
    /// From the configuration.
    Static,
    /// Made on demand, with an expiry.
    Dynamic,
}

/// A place an agent runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slot {
    pub id: SlotId,
    /// What people call it; unique among the slots that exist.
    pub name: String,
    pub kind: SlotKind,
    pub engine: CliEngine,
    /// The daemon that runs it.
    pub daemon: DaemonId,
    pub created_at: Timestamp,
    pub closed_at: Option<Timestamp>,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warning,
    Error,
    Critical,
}

/// What can be wrong with what a slot does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Anomaly {
    /// It works, and nothing comes of it.
    Stuck,
    /// It writes more than anyone could read.
    OutputFlood,
    /// Programs like it fail again and again.
    CrashLoop,
    /// A text was typed and never taken.
    PromptLost,
    /// Its screen holds what is no text.
    ScreenGarbage,
    /// It tells another input of a tool than it announced or was permitted.
    InputMismatch,
}

impl Anomaly {
    pub const ALL: [Self; 6] = [
        Self::Stuck,
        Self::OutputFlood,
        Self::CrashLoop,
        Self::PromptLost,
        Self::ScreenGarbage,
        Self::InputMismatch,
    ];

    /// The kind of the incident it is.
    #[must_use]
    pub const fn incident_kind(self) -> &'static str {
        match self {
            Self::Stuck => "slot_stuck",
            Self::OutputFlood => "slot_output_flood",
            Self::CrashLoop => "slot_crash_loop",
            Self::PromptLost => "slot_prompt_lost",
            Self::ScreenGarbage => "slot_screen_garbage",
            Self::InputMismatch => "slot_input_mismatch",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IncidentState {
    Open,
    Resolved,
}

/// Something that went wrong and wants attention. The same thing happening
/// again counts up the open incident instead of opening a second one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    pub id: IncidentId,
    /// What kind of thing; with `subject` it decides what "the same" is.
    pub kind: String,
    /// What it happened to.
    pub subject: String,
    pub severity: Severity,
    /// One sentence: what is wrong and what to do.
    pub summary: String,
    pub occurrences: i64,
    pub state: IncidentState,
    pub opened_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
}

/// How a run of the daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// It drained and closed.
    Clean,
    /// It was found dead by the next start.
    Crashed,
}

/// One run of a daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DaemonRun {
    pub id: DaemonId,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub end: Option<RunEnd>,
}
