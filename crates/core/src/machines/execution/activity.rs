//! What an agent is busy with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{IllegalMove, Machine, states};

/// An agent goes from any activity to any other. `Unknown` is where it begins
/// and where it returns to when the signs no longer suffice: never to `Idle`.
///
/// | from          | to |
/// |---------------|----|
/// | Unknown       | Idle, Planning, Reasoning, Communicating, Editing, Executing, Testing, Reviewing |
/// | Idle          | Unknown, Planning, Reasoning, Communicating, Editing, Executing, Testing, Reviewing |
/// | Planning      | Unknown, Idle, Reasoning, Communicating, Editing, Executing, Testing, Reviewing |
/// | Reasoning     | Unknown, Idle, Planning, Communicating, Editing, Executing, Testing, Reviewing |
/// | Communicating | Unknown, Idle, Planning, Reasoning, Editing, Executing, Testing, Reviewing |
/// | Editing       | Unknown, Idle, Planning, Reasoning, Communicating, Executing, Testing, Reviewing |
/// | Executing     | Unknown, Idle, Planning, Reasoning, Communicating, Editing, Testing, Reviewing |
/// | Testing       | Unknown, Idle, Planning, Reasoning, Communicating, Editing, Executing, Reviewing |
/// | Reviewing     | Unknown, Idle, Planning, Reasoning, Communicating, Editing, Executing, Testing |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionActivity {
    /// Nothing tells.
    Unknown,
    /// It waits for a prompt.
    Idle,
    /// It decides what to do.
    Planning,
    /// It thinks; what it thinks is not recorded.
    Reasoning,
    /// It writes an answer.
    Communicating,
    /// It changes files.
    Editing,
    /// It runs a tool or a command.
    Executing,
    /// It runs tests.
    Testing,
    /// It reads what was done.
    Reviewing,
}

states!(ExecutionActivity, "activity of an execution", {
    Unknown = "unknown",
    Idle = "idle",
    Planning = "planning",
    Reasoning = "reasoning",
    Communicating = "communicating",
    Editing = "editing",
    Executing = "executing",
    Testing = "testing",
    Reviewing = "reviewing",
});

impl Machine for ExecutionActivity {
    const NAME: &'static str = "activity of an execution";
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
