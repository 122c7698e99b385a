//! Changing the configuration through the daemon: one key at a time, on record and
//! to be taken back.

use missiond_core::{Bounded, Limit, MAX_EXACT, Text, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::operations;

operations! {
    System;

    ConfigSet = "config_set" (Idempotent, "system", People; Process):
        ConfigSetParams => ConfigSetResult,
        "Set one key of the configuration, or of a repository's own; it is checked first and can \
         be undone.";

    ConfigHistory = "config_history" (ReadOnly, "system"; Instant):
        ConfigHistoryParams => ConfigHistoryPage,
        "List what was changed in the configuration through missiond, the newest first.";

    ConfigUndo = "config_undo" (Idempotent, "system", People; Process):
        ConfigUndoParams => ConfigSetResult,
        "Take back one change of the configuration.";
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigSetParams {
    /// With its section: `autopilot.max_agents`. `config_show` lists them.
    pub key: Text<200>,
    /// The value as JSON; null takes the key out of the file, so that it has its
    /// default.
    pub value: Value,
    /// Set it in `.mission/config.toml` of this repository, which has the fields of a
    /// task for keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigSetResult {
    /// Absent when the file says that already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ConfigChange>,
    pub effect: ConfigEffect,
    /// The same in a sentence.
    pub message: String,
}

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfigEffect {
    /// It is in force.
    Applied,
    /// After a restart of the daemon.
    Restart,
    /// Nothing changed.
    Unchanged,
}

/// One change of a file of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChange {
    /// Its number, for `config_undo`.
    pub change: u64,
    pub at: Timestamp,
    /// A key of the configuration, `servers.NAME` of the list of MCP servers, or a
    /// field of a repository's own configuration.
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    pub file: String,
    /// As it stood in the file, without passwords; absent when it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// As it stands in the file; absent when it was taken out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// The change that this one took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// It was taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigHistoryParams {
    /// At most so many.
    pub limit: Limit<200, 50>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigHistoryPage {
    pub changes: Vec<ConfigChange>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigUndoParams {
    /// Its number, as `config_history` says it.
    pub change: Bounded<1, MAX_EXACT>,
}
