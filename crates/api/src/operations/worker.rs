//! Background workers: which there are, how each stands, and what lets them work.

use missiond_core::{Limit, Text, Timestamp, WorkerDomain, WorkerKind, WorkerSwitch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    System;

    WorkerList = "worker_list" (ReadOnly, "workers"):
        NoParams => WorkersPage,
        "List the background workers: whether each may work, what waits for it and what it has done.";

    WorkerShow = "worker_show" (ReadOnly, "workers"):
        WorkerShowParams => WorkerDetails,
        "Show one background worker with its units that wait or were given up, and its last runs.";

    WorkerControl = "worker_control" (Idempotent, "workers", People; Wait):
        WorkerControlParams => WorkersControlled,
        "Pause, drain or resume background workers, have one work now, or try again what it gave up.";

    MemoryControl = "memory_control" (Idempotent, "workers", People; Wait):
        MemoryControlParams => WorkersControlled,
        "Pause, drain or resume all background work on knowledge, conversations and code maps.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkersPage {
    pub workers: Vec<WorkerLine>,
    /// All that was said of workers.
    pub switches: Vec<WorkerSwitched>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerLine {
    pub name: String,
    /// What one unit of its work is.
    pub description: String,
    /// What it needs beside this machine.
    pub kind: WorkerKind,
    pub domain: WorkerDomain,
    pub trigger: WorkerTrigger,
    pub switch: WorkerSwitch,
    /// The switch that decides it, where one was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<WorkerSwitched>,
    /// Units it has at hand.
    pub at_hand: u32,
    /// What waits for it, where it has a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<WorkerUnits>,
    /// Units that did something since the daemon began.
    pub done: u64,
    /// Attempts that failed since the daemon began.
    pub failed: u64,
    /// How often in a row it has failed; 0 when it is well.
    pub failing: u32,
    /// Milliseconds at work since the daemon began.
    pub busy_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<WorkerRun>,
}

/// What sets a worker to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum WorkerTrigger {
    /// Events of the timeline: a unit waits until nothing more has come for `quiet_ms`, and
    /// for `longest_ms` at most.
    Events { quiet_ms: u64, longest_ms: u64 },
    /// A look every so often, or sooner where there is word of something to do.
    Looks { every_ms: u64 },
}

/// What somebody said of workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerSwitched {
    /// `worker/NAME`, `all`, `kind/KIND` or `domain/DOMAIN`.
    pub node: String,
    pub switch: WorkerSwitch,
    pub reason: String,
    pub changed_by: String,
    pub changed_at: Timestamp,
}

/// How many units of a worker stand where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerUnits {
    pub waiting: u64,
    pub running: u64,
    /// Of those that wait, those that failed before.
    pub failing: u64,
    /// Done in the last seven days.
    pub done: u64,
    /// Given up in the last ninety days.
    pub dead: u64,
}

/// A unit that did something, or failed, in this daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRun {
    pub began_at: Timestamp,
    pub took_ms: u64,
    /// What it was about; absent for a look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// `done`, `failed` (it is tried again) or `dead` (it was given up).
    pub ended: String,
    /// What it did, or why it failed.
    pub said: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerShowParams {
    pub worker: Text<64>,
    /// At most so many units and runs each.
    #[serde(default)]
    pub limit: Limit<200, 20>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerDetails {
    pub worker: WorkerLine,
    /// Units that wait or are at work, the first due first.
    pub open: Vec<WorkerUnit>,
    /// Units that have ended, the newest first.
    pub ended: Vec<WorkerUnit>,
    /// What it did in this daemon, the newest first.
    pub runs: Vec<WorkerRun>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerUnit {
    pub id: String,
    /// What it is about.
    pub subject: String,
    /// Events it stands for.
    pub causes: u32,
    /// The chain of those events.
    pub trace_id: String,
    pub queued_at: Timestamp,
    pub due_at: Timestamp,
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// `waiting`, `running`, `done` or `dead`.
    pub state: String,
    /// What came of it, or why its last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

/// What is done with workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkerAction {
    /// Begin no unit; what has to be done waits.
    Pause,
    /// The same, and wait for the units at hand, for twenty seconds at most.
    Drain,
    /// Say nothing of them any more: they work unless another switch pauses them.
    Resume,
    /// Let one worker work whatever other switches say.
    Force,
    /// Have one worker look now, and do at once what waits for it.
    Run,
    /// Have one worker try again what it gave up.
    Retry,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerControlParams {
    /// The name of a worker, `all`, `kind/KIND` or `domain/DOMAIN`.
    pub target: Text<80>,
    pub action: WorkerAction,
    /// Why, for whoever looks at it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<500>>,
}

/// What is done with all work on what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryAction {
    /// Begin no unit; what has to be done waits.
    Pause,
    /// The same, and wait for the units at hand, for twenty seconds at most.
    Drain,
    /// Say nothing of it any more.
    Resume,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryControlParams {
    pub action: MemoryAction,
    /// Why, for whoever looks at it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<500>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkersControlled {
    /// Those it was about, as they stand now.
    pub workers: Vec<WorkerLine>,
    /// Units that are due now because of it.
    pub units: u64,
    /// Units that are still at hand.
    pub at_hand: u32,
}
