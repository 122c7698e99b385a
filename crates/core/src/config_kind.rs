//! What kind of value a key of the configuration takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of value a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfigKind {
    Boolean,
    Integer,
    Number,
    Text,
    /// Of texts or numbers.
    List,
    /// A list of tables.
    Tables,
}
