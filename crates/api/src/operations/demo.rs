//! The demo: tasks of a small sample repository, done by rehearsal agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::autopilot::AutopilotMode;
use super::board::TaskSummary;
use super::{NoParams, operations};

operations! {
    Knowledge;

    DemoStart = "demo_start" (Additive, "board", Agents; Process):
        NoParams => DemoStarted,
        "Make a small sample repository and put five tasks of it on the board, to be done by \
         rehearsal agents when the autopilot runs.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DemoStarted {
    /// Where the sample is; nothing else uses it, and it can be deleted.
    pub repository: String,
    pub tasks: Vec<TaskSummary>,
    /// Whether they are given to agents now.
    pub autopilot: AutopilotMode,
}
