//! The words of what an agent is told beside its first prompt, as they are kept:
//! every candidate with what became of it, and how each source fared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bounded, EntryId, Timestamp};

/// The budget of a context.
pub type ContextTokens = Bounded<100, 16_000>;

/// Something an agent could be told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextItem {
    /// environment, skills, entries, history, map or instructions.
    pub source: String,
    /// The entry of the knowledge base that it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    pub title: String,
    /// Who or what says so.
    pub origin: String,
    /// When it was last known to be so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub relevance: f32,
    #[serde(flatten)]
    pub outcome: ContextOutcome,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ContextOutcome {
    Given {
        tokens: u32,
    },
    /// Its first lines; all of it would have been so many tokens.
    Shortened {
        tokens: u32,
        of: u32,
    },
    Cut {
        reason: String,
    },
}

/// How a source fared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextSource {
    pub source: String,
    pub state: SourceState,
    /// Candidates it had.
    pub found: u32,
    pub millis: u64,
    /// What is to be said about it: why it failed, or what it left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    Answered,
    /// The configuration says no.
    Off,
    /// It took longer than a start may wait.
    Late,
    Failed,
}
