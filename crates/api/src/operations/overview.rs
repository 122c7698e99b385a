//! Now: who needs a person, who works on what, and what was finished since the
//! person looked last. One answer for the page, `mission status` and its live view.

use missiond_core::{
    AttemptId, BoardTaskStatus, BoundedOr, CliEngine, ExecutionId, Incident, QuestionNumber,
    TaskNumber, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::autopilot::AutopilotMode;
use super::observe::{Cost, UsedTokens};
use super::operations;

operations! {
    System;

    Overview = "overview" (ReadOnly, "board"):
        OverviewParams => OverviewReport,
        "Say what goes on now: who needs a person, who works on what, and what was finished since \
         the person looked last.";

    OverviewSeen = "overview_seen" (Idempotent, "board", People):
        OverviewSeenParams => OverviewSeenResult,
        "Remember that the person has seen everything that was finished up to a moment.";
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverviewParams {
    /// Only what belongs to this repository, by the path of its checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// At most so many lines of each group; those that need a person are always all
    /// there.
    pub limit: BoundedOr<1, 500, 100>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewReport {
    pub at: Timestamp,
    pub autopilot: AutopilotMode,
    /// Agents that hold a place, of how many there are.
    pub agents: u32,
    pub max_agents: u32,
    /// Tasks that wait for nothing but an agent, and those that wait for something else.
    /// `board_ready` also counts what limits and places hold back.
    pub ready: u64,
    pub waiting: u64,
    /// Agents that hold a place while they wait come first, then other agents, questions,
    /// work that is ready for review, and tasks that cannot go on.
    pub needs_you: Vec<OverviewLine>,
    /// What went wrong and is still open, the last seen first.
    pub incidents: Vec<Incident>,
    /// The one that began last comes first.
    pub working: Vec<OverviewLine>,
    /// Agents that have ended their turn and wait to be told something; the one that
    /// began last comes first.
    #[serde(default)]
    pub idle: Vec<OverviewLine>,
    /// Terminals that somebody opened and no agent runs in.
    pub terminals: Vec<OverviewLine>,
    /// Since the person looked last; the newest first.
    pub finished: Vec<OverviewLine>,
    /// Lines beyond the limit.
    pub left_out: u64,
    /// When the person looked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
    /// What the agents of tasks used today, and what that cost.
    pub tokens_today: UsedTokens,
    pub cost_today: Cost,
}

/// One agent, task or question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewLine {
    pub kind: OverviewKind,
    /// What it is called: the title of the task, else what the agent was asked.
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<BoardTaskStatus>,
    /// The checkout it belongs to, and the name of its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    /// The slot its agent runs in, while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What goes on, in plain words: `Edits src/main.rs`, `Thinks`, `Runs cargo test`,
    /// `Asks: may it run pip install numpy?`, `3 of 4 checks passed`.
    pub activity: String,
    /// The last line of its work, without what draws the screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_line: Option<String>,
    /// When the attempt or run began.
    pub started_at: Timestamp,
    /// Since when it is as it is.
    pub since: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Whether it holds one of the places for agents.
    pub holds_place: bool,
    pub tokens: UsedTokens,
    pub cost: Cost,
    /// The last round of checks; absent when none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckState>,
    /// What a person is asked, with the answers that are offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<OverviewQuestion>,
}

/// Why there is a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverviewKind {
    /// An agent asks and waits for the answer.
    Asks,
    /// The turn of an agent ended with an error, and nobody tries again.
    Error,
    /// A question nobody's terminal waits on.
    Question,
    /// Verified work waits to be looked at.
    Review,
    /// A task cannot go on without a person.
    Blocked,
    /// An agent works.
    Works,
    /// An agent runs and waits to be told something.
    Idle,
    /// The daemon runs the checks of the work.
    Checks,
    /// A task is tried again later.
    Waits,
    /// Somebody's terminal.
    Terminal,
    /// It is done.
    Done,
    /// It was given up.
    Failed,
    /// Another of its alternatives was kept.
    NotKept,
    /// A run that belonged to no task ended by itself.
    Ended,
    /// Such a run was cancelled.
    Cancelled,
    /// Such a run ended with a failure.
    Crashed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryName {
    pub name: String,
    pub path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckState {
    pub round: u32,
    pub passed: u32,
    pub failed: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewQuestion {
    pub number: QuestionNumber,
    pub question: String,
    /// What is asked, on one line.
    pub headline: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The option that allows it this once, and the one that denies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denies: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverviewSeenParams {
    /// Everything that ended up to here is seen; the `at` of an overview.
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewSeenResult {
    pub seen_at: Timestamp,
}
