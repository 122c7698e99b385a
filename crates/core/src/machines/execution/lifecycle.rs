//! Where one run of an agent is between its start and its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{IllegalMove, Machine, states};

/// The run alone: a completed run says that the program ended in order, and
/// nothing about whether its task is done. A run may end before it was ever seen
/// running, and an ended run stays ended.
///
/// | from       | to |
/// |------------|----|
/// | Starting   | Running, Completed, Failed, Cancelled, Terminated |
/// | Running    | Paused, Completed, Failed, Cancelled, Terminated |
/// | Paused     | Running, Completed, Failed, Cancelled, Terminated |
/// | Completed  | – |
/// | Failed     | – |
/// | Cancelled  | – |
/// | Terminated | – |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionLifecycle {
    /// Its journal exists; its program is being started.
    Starting,
    /// Its program runs.
    Running,
    /// Its program is stopped and can go on.
    Paused,
    /// Its program ended in order.
    Completed,
    /// Its program ended with a failure or could not start.
    Failed,
    /// Somebody no longer wanted it.
    Cancelled,
    /// It was killed, or lost with its machine.
    Terminated,
}

states!(ExecutionLifecycle, "lifecycle of an execution", {
    Starting = "starting",
    Running = "running",
    Paused = "paused",
    Completed = "completed",
    Failed = "failed",
    Cancelled = "cancelled",
    Terminated = "terminated",
});

impl Machine for ExecutionLifecycle {
    const NAME: &'static str = "lifecycle of an execution";
    const ALL: &'static [Self] = Self::STATES;

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn transition(self, to: Self) -> Result<Self, IllegalMove> {
        match (self, to) {
            (Self::Starting | Self::Paused, Self::Running)
            | (Self::Running, Self::Paused)
            | (
                Self::Starting | Self::Running | Self::Paused,
                Self::Completed | Self::Failed | Self::Cancelled | Self::Terminated,
            ) => Ok(to),
            _ => Err(self.illegal(to)),
        }
    }
}
