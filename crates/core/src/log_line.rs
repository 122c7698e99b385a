//! Lines of the daemon's log, as they are written, read and shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// Its place, which no other line has.
    pub place: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Absent for a line that is none of the daemon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<LogLevel>,
    /// The part of the daemon that says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    pub message: String,
    /// What else it says.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub fields: serde_json::Map<String, serde_json::Value>,
}
