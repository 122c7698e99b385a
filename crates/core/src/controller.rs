//! Who drives an agent: its terminal or a protocol.

use std::str::FromStr;

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

/// The text names no controller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is nothing that drives an agent: use structured or terminal")]
pub struct InvalidController(String);

impl Controller {
    pub const ALL: &'static [Self] = &[Self::Structured, Self::Terminal];

    #[must_use]
    pub const fn name(self) -> &'static str {
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

impl FromStr for Controller {
    type Err = InvalidController;

    fn from_str(text: &str) -> Result<Self, InvalidController> {
        let named = Self::ALL.iter().find(|each| each.name() == text);
        named
            .copied()
            .ok_or_else(|| InvalidController(text.chars().take(64).collect()))
    }
}
