//! Where a submitted prompt stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IllegalMove, Machine, states};

/// A task is cancelled by failing it. Running goes back to Queued when its
/// lease expires or its holder gives it back.
///
/// | from      | to |
/// |-----------|----|
/// | Queued    | Running, Failed |
/// | Running   | Queued, Completed, Failed |
/// | Completed | – |
/// | Failed    | – |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Queued,
    Running,
    Completed,
    Failed,
}

states!(TaskStatus, "task", {
    Queued = "queued",
    Running = "running",
    Completed = "completed",
    Failed = "failed",
});

impl Machine for TaskStatus {
    const NAME: &'static str = "task";
    const ALL: &'static [Self] = Self::STATES;

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn transition(self, to: Self) -> Result<Self, IllegalMove> {
        match (self, to) {
            (Self::Queued, Self::Running | Self::Failed)
            | (Self::Running, Self::Queued | Self::Completed | Self::Failed) => Ok(to),
            _ => Err(self.illegal(to)),
        }
    }
}
