//! Whether a question still waits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IllegalMove, Machine, states};

/// An answer is given once. A changed mind is a new message to the agent.
///
/// | from      | to |
/// |-----------|----|
/// | Pending   | Answered, Dismissed |
/// | Answered  | – |
/// | Dismissed | – |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum QuestionStatus {
    Pending,
    Answered,
    Dismissed,
}

states!(QuestionStatus, "question", {
    Pending = "pending",
    Answered = "answered",
    Dismissed = "dismissed",
});

impl Machine for QuestionStatus {
    const NAME: &'static str = "question";
    const ALL: &'static [Self] = Self::STATES;

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn transition(self, to: Self) -> Result<Self, IllegalMove> {
        match (self, to) {
            (Self::Pending, Self::Answered | Self::Dismissed) => Ok(to),
            _ => Err(self.illegal(to)),
        }
    }
}
