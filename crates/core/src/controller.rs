//! Who drives an agent: its terminal or a protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an agent is driven.
//
// One of them at a time has a conversation. What each is stands in comments: their
// sentences would be in every list of tools.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Controller {
    // By the protocol that the CLI offers beside its terminal: exact, and without keys.
    Structured,
    // By keys, and by reading its screen.
    Terminal,
}

impl Controller {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Structured => "structured",
            Self::Terminal => "terminal",
        }
    }
}

impl std::fmt::Display for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
