//! How far the extraction of knowledge from a session has come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IllegalMove, Machine, states};

/// Back to Idle from every step: a send that failed, a slot that never became
/// idle, or the next session.
///
/// | from               | to |
/// |--------------------|----|
/// | Idle               | Sending |
/// | Sending            | WaitingForIdleness, Idle |
/// | WaitingForIdleness | Complete, Idle |
/// | Complete           | Idle |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ExtractionPhase {
    Idle,
    Sending,
    WaitingForIdleness,
    Complete,
}

states!(ExtractionPhase, "extraction", {
    Idle = "idle",
    Sending = "sending",
    WaitingForIdleness = "waiting_for_idleness",
    Complete = "complete",
});

impl Machine for ExtractionPhase {
    const NAME: &'static str = "extraction";
    const ALL: &'static [Self] = Self::STATES;

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn transition(self, to: Self) -> Result<Self, IllegalMove> {
        match (self, to) {
            (Self::Idle, Self::Sending)
            | (Self::Sending, Self::WaitingForIdleness | Self::Idle)
            | (Self::WaitingForIdleness, Self::Complete | Self::Idle)
            | (Self::Complete, Self::Idle) => Ok(to),
            _ => Err(self.illegal(to)),
        }
    }
}
