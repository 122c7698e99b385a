//! The agent CLIs: which are installed, and which are logged in.

use missiond_core::{CliEngine, LoginState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    Compute;

    EngineList = "engine_list" (ReadOnly, "executions"; Process):
        NoParams => EnginePage,
        "List the agent CLIs: whether each is installed and logged in, and how to install it.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnginePage {
    pub engines: Vec<EngineSummary>,
    /// The engine of tasks that name none.
    pub default: CliEngine,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineSummary {
    pub engine: CliEngine,
    /// Absent when no program of that name is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed: Option<InstalledEngine>,
    pub login: LoginState,
    /// The line that installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstalledEngine {
    /// Where its program is.
    pub path: String,
    /// Absent when it does not say its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}
