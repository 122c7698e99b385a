//! How far a message to an agent has come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IllegalMove, Machine, states};

/// A message is typed into a terminal once. `Delivering` is written before the
/// first key, so a crash while typing leaves a message of which it must be found
/// out whether it landed, instead of one that is typed a second time. Only when
/// it is known not to have landed it goes back to `Queued` or `Held`.
///
/// | from       | to |
/// |------------|----|
/// | Queued     | Held, Delivering, Failed |
/// | Held       | Queued, Delivering, Failed |
/// | Delivering | Queued, Held, Delivered, Failed |
/// | Delivered  | – |
/// | Failed     | – |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// Accepted, and nothing stands in the way.
    Queued,
    /// Accepted, but the agent cannot take it now.
    Held,
    /// Its keys are being sent.
    Delivering,
    /// It was seen to have landed.
    Delivered,
    /// It will not be delivered.
    Failed,
}

states!(DeliveryStatus, "delivery", {
    Queued = "queued",
    Held = "held",
    Delivering = "delivering",
    Delivered = "delivered",
    Failed = "failed",
});

impl Machine for DeliveryStatus {
    const NAME: &'static str = "delivery";
    const ALL: &'static [Self] = Self::STATES;

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn transition(self, to: Self) -> Result<Self, IllegalMove> {
        match (self, to) {
            (Self::Queued, Self::Held | Self::Delivering | Self::Failed)
            | (Self::Held, Self::Queued | Self::Delivering | Self::Failed)
            | (Self::Delivering, Self::Queued | Self::Held | Self::Delivered | Self::Failed) => {
                Ok(to)
            }
            _ => Err(self.illegal(to)),
        }
    }
}
