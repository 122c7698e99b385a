//! What agents use: tokens, and what they cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCounts {
    /// Without what came from a cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// What tokens cost, by the prices of the configuration or of the vendors' lists, and
/// as transcripts say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// In millionths of a US dollar, for the models that have a price; absent
    /// when none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microdollars: Option<u64>,
    /// What the transcripts themselves say it cost, by what the CLIs think a
    /// model costs: each conversation as a whole, whenever that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_microdollars: Option<u64>,
    /// Models without a price, neither in `usage.prices` nor in a list that the
    /// program knows; their tokens are not in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpriced: Vec<String>,
}
