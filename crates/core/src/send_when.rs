//! When a text is given to an agent that works.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendWhen {
    /// Wait until it is idle.
    #[default]
    Idle,
    /// While it works too: some hear it at once, most queue it themselves.
    Now,
}

impl SendWhen {
    #[must_use]
    pub fn is_idle(&self) -> bool {
        *self == Self::Idle
    }
}
