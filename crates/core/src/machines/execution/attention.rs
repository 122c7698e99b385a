//! Whether an execution needs somebody.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{IllegalMove, Machine, states};

/// Independent of the lifecycle: a running agent may wait for a person, and one
/// that has ended needs nobody.
///
/// | from             | to |
/// |------------------|----|
/// | None             | Autonomous, AwaitingOperator, AwaitingSystem, Blocked |
/// | Autonomous       | None, AwaitingOperator, AwaitingSystem, Blocked |
/// | AwaitingOperator | None, Autonomous, AwaitingSystem, Blocked |
/// | AwaitingSystem   | None, Autonomous, AwaitingOperator, Blocked |
/// | Blocked          | None, Autonomous, AwaitingOperator, AwaitingSystem |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionAttention {
    /// It has not begun or has ended: nobody needs to look.
    None,
    /// It works by itself.
    Autonomous,
    /// It waits for a person.
    AwaitingOperator,
    /// It waits for something the system will do.
    AwaitingSystem,
    /// It says that it cannot go on.
    Blocked,
}

states!(ExecutionAttention, "attention of an execution", {
    None = "none",
    Autonomous = "autonomous",
    AwaitingOperator = "awaiting_operator",
    AwaitingSystem = "awaiting_system",
    Blocked = "blocked",
});

impl Machine for ExecutionAttention {
    const NAME: &'static str = "attention of an execution";
    const ALL: &'static [Self] = Self::STATES;

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn transition(self, to: Self) -> Result<Self, IllegalMove> {
        if self == to {
            Err(self.illegal(to))
        } else {
            Ok(to)
        }
    }
}
