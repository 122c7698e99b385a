//! The daemon over time: its log, its numbers, and what agents used.

use missiond_core::{BoundedOr, CliEngine, Limit, LogLevel, LogLine, TaskNumber, Text, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations;

pub use missiond_core::Cost;

operations! {
    System;

    DaemonLogs = "daemon_logs" (ReadOnly, "system"; Process):
        DaemonLogsParams => LogPage,
        "Read the daemon's log from its end, by level and words; for finding out what went wrong.";

    StatsHistory = "stats_history" (ReadOnly, "system"):
        StatsHistoryParams => StatsHistoryReport,
        "Show how the daemon's numbers changed over time: calls, events, memory, database, slots and \
         tasks by state.";

    UsageReport = "usage_report" (ReadOnly, "system"):
        UsageReportParams => UsageTotals,
        "Sum up the tokens and cost of agents of tasks, by day, engine, task and slot, with the \
         budgets that hold, and of every conversation by model.";
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DaemonLogsParams {
    /// Only lines as bad as this or worse; all when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<LogLevel>,
    /// Only lines that have this in them, whatever the case of its letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<200, 0>>,
    /// Only what is older than this place, as a page named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Text<200, 0>>,
    /// Only what is newer than this place, as a page named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Text<200, 0>>,
    /// At most so many lines.
    pub limit: Limit<1000, 200>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogPage {
    /// The file that is being written.
    pub file: String,
    /// Oldest first.
    pub lines: Vec<LogLine>,
    /// Pass it as `before` for what is older; absent when there is nothing older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older: Option<String>,
    /// Pass it as `after` for what is newer.
    pub newer: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatsHistoryParams {
    /// Not before this time; the last hour when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only these numbers, by name; all when left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// At most so many moments; neighbours are put together.
    pub points: BoundedOr<2, 500, 120>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsHistoryReport {
    /// The machine they are of.
    pub host: String,
    /// How often the numbers are taken.
    pub every_secs: u64,
    /// The moments, oldest first.
    pub at: Vec<Timestamp>,
    pub series: Vec<StatsSeries>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsSeries {
    /// Such as `calls` or `slots.idle`.
    pub name: String,
    pub kind: StatsKind,
    /// One for each moment; absent where it was not known.
    pub values: Vec<Option<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatsKind {
    /// How many a minute since the moment before.
    PerMinute,
    /// How much there is at the moment.
    Level,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UsageReportParams {
    /// The last so many days with today. A day is one of UTC, as budgets count them.
    pub days: Limit<366, 14>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageTotals {
    /// The first day that is counted.
    pub since: Timestamp,
    pub total: UsedTokens,
    /// Days on which something was used, oldest first, by engine.
    pub days: Vec<DayUsage>,
    pub engines: Vec<EngineUsage>,
    /// The fifty that used most.
    pub tasks: Vec<TaskUsage>,
    /// The fifty that used most.
    pub slots: Vec<SlotUsage>,
    /// What every conversation that was taken in used since then, a person's own
    /// too, by model, the most first.
    pub models: Vec<ModelUsage>,
    /// Of all models together.
    pub cost: Cost,
    pub budgets: Vec<BudgetUsage>,
    /// Where the list prices come from that hold beside `usage.prices`.
    #[serde(default)]
    pub prices: Vec<PriceSource>,
}

/// Where list prices were read, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriceSource {
    pub vendor: String,
    /// The day: `2026-10-16`.
    pub as_of: String,
    pub page: String,
}

/// What a task or a run used in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    pub tokens: UsedTokens,
    pub cost: Cost,
}

/// Tokens, as the vendors count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsedTokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// What counts against budgets: all but what came from a cache.
    pub counted: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DayUsage {
    /// When it began.
    pub day: Timestamp,
    pub engine: CliEngine,
    pub tokens: UsedTokens,
    #[serde(default)]
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineUsage {
    pub engine: CliEngine,
    pub tokens: UsedTokens,
    #[serde(default)]
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskUsage {
    /// Absent when the task is not on the board any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The most it may use in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    pub tokens: UsedTokens,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    /// Absent when the transcripts name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub tokens: UsedTokens,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotUsage {
    pub slot: String,
    pub tokens: UsedTokens,
}

/// A budget of the configuration, and how much of it is used today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetUsage {
    pub of: BudgetOf,
    pub used: u64,
    pub limit: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BudgetOf {
    /// All agents of a day.
    Day,
    /// The agents of one engine in a day.
    Engine { engine: CliEngine },
    /// What runs in one slot in a day.
    Slot { name: String },
}
