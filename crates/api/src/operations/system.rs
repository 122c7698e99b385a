//! The daemon itself: is it well, what is it doing, how is it set up.

use missiond_core::{
    ConfigKind, DaemonId, Incident, IncidentId, IncidentState, Limit, Seq, Text, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    System;

    Health = "health" (ReadOnly, "system"; Instant):
        NoParams => HealthReport,
        "Answer at once, to show that the daemon is there.";

    DaemonStatus = "daemon_status" (ReadOnly, "system"):
        NoParams => StatusReport,
        "Describe the running daemon: version, uptime, database, listeners, consumers, incidents.";

    DaemonStats = "daemon_stats" (ReadOnly, "system"; Instant):
        NoParams => StatsReport,
        "Count what the daemon has done: requests, connections, times, memory.";

    DaemonControl = "daemon_control" (Destructive, "system", People; Process):
        DaemonControlParams => DaemonControlResult,
        "Stop the daemon, or make it read its configuration again.";

    ConfigShow = "config_show" (ReadOnly, "system"; Instant):
        NoParams => ConfigReport,
        "List every configuration key with its value in force, its default and what it means.";

    OperationFind = "operation_find" (ReadOnly, "system"; Instant):
        OperationFindParams => OperationsFound,
        "Search all operations of missiond by what they do; says how each one found is called.";

    IncidentList = "incident_list" (ReadOnly, "system"):
        IncidentListParams => IncidentPage,
        "List what went wrong and wants attention.";

    IncidentResolve = "incident_resolve" (Idempotent, "system", People):
        IncidentResolveParams => IncidentResolveResult,
        "Close an incident that has been dealt with.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthReport {
    pub healthy: bool,
    pub version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DaemonState {
    Running,
    /// It finishes what it has begun and takes nothing new.
    Draining,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    pub state: DaemonState,
    pub version: String,
    pub daemon: DaemonId,
    pub pid: u32,
    pub host: String,
    pub started_at: Timestamp,
    pub uptime_secs: u64,
    pub socket: String,
    /// Where metrics are served, unless that is switched off.
    pub http: Option<String>,
    pub config_file: String,
    pub log_file: String,
    pub database: DatabaseStatus,
    pub consumers: Vec<ConsumerStatus>,
    pub open_incidents: u64,
    /// Questions that wait for a person.
    #[serde(default)]
    pub open_questions: u64,
    /// How much of the last 30 days a daemon was there; an older daemon does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability: Option<Availability>,
}

/// How much of a stretch of time a daemon of this host was there. A crash counts from the
/// last sign of life, which is given every 30 seconds, so the time it cost is rather too
/// long than too short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Availability {
    /// 30 days ago, or the first start since.
    pub since: Timestamp,
    pub up_secs: u64,
    /// Between a stop that was asked for and the next start.
    pub stopped_secs: u64,
    /// Between a crash and the next start.
    pub crashed_secs: u64,
    /// Of all the time.
    pub up_percent: f64,
    /// Of the time without planned stops.
    pub available_percent: f64,
    pub starts: u64,
    pub stops: u64,
    pub crashes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseStatus {
    pub engine: String,
    /// Without its password.
    pub url: String,
    /// The newest stored event.
    pub timeline_head: Seq,
}

/// How far one consumer of the timeline has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsumerStatus {
    pub name: String,
    pub cursor: Seq,
    /// Stored events it has not seen.
    pub behind: i64,
    /// How often in a row it has failed; 0 when it is well.
    pub failures: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsReport {
    pub uptime_secs: u64,
    pub requests_total: u64,
    pub requests_succeeded: u64,
    pub requests_failed: u64,
    pub active_connections: u64,
    pub avg_response_time_ms: f64,
    /// External MCP servers with a live connection.
    pub servers_connected: u64,
    pub servers_healthy: u64,
    pub memory_usage_mb: f64,
    pub requests_in_flight: u64,
    pub connections_refused: u64,
    pub events_stored: u64,
    pub events_ephemeral: u64,
    /// Ephemeral events folded into a newer one of the same kind.
    pub events_coalesced: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlAction {
    Stop,
    ReloadConfig,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DaemonControlParams {
    pub action: ControlAction,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DaemonControlResult {
    /// Keys whose new value is in force.
    pub applied: Vec<String>,
    /// Keys whose new value waits for a restart.
    pub needs_restart: Vec<String>,
    /// Slots whose programs go on without the daemon.
    #[serde(default)]
    pub slots_running: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigReport {
    pub file: String,
    pub file_exists: bool,
    /// Why the file as it is now is not in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_error: Option<String>,
    pub keys: Vec<ConfigKey>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigKey {
    pub key: String,
    /// As it would stand in the file, without passwords.
    pub value: String,
    pub default: String,
    pub description: String,
    /// A change takes effect without a restart.
    pub reloads: bool,
    pub kind: ConfigKind,
    /// The value as `config_set` takes it, without passwords.
    pub data: serde_json::Value,
    pub default_data: serde_json::Value,
    /// The words it takes, when it takes no others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The least a number may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// What the file says, when that waits for a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OperationFindParams {
    /// Words for what you want to do; every operation when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<Text<1000, 0>>,
    /// At most so many.
    pub limit: Limit<100, 5>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationsFound {
    /// The best first.
    pub operations: Vec<OperationFound>,
    /// How many there are in all.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationFound {
    pub name: String,
    pub description: String,
    pub toolset: String,
    /// `read_only`, `idempotent`, `additive` or `destructive`.
    pub effect: String,
    /// What it uses: `instant`, `database`, `process`, `wait` or `agent`.
    pub cost: String,
    /// The JSON Schema of its parameters.
    pub params: serde_json::Value,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IncidentListParams {
    /// Only open or only resolved ones; both when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<IncidentState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentPage {
    pub incidents: Vec<Incident>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IncidentResolveParams {
    pub incident: IncidentId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentResolveResult {
    pub incident: Incident,
}
