//! The agent CLIs: which are installed, which are logged in, and by what each is driven.

use missiond_core::{CliEngine, Controller, LoginState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    Compute;

    EngineList = "engine_list" (ReadOnly, "executions"; Process):
        NoParams => EnginePage,
        "List the agent CLIs: whether each is installed and logged in, how to install it, and by \
         what it is driven.";
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
    pub control: EngineControl,
}

/// By what an agent CLI is driven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineControl {
    /// Where nobody chooses.
    pub by: Controller,
    /// Why it is that.
    pub why: String,
    /// All that a run or a task may choose.
    pub offered: Vec<Controller>,
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
