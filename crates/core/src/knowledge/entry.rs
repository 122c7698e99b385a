//! What the knowledge base holds: entries, what each said before, and how they
//! stand to each other. Their schemas have the names of the catalogue, by which
//! clients know them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AuthorTier, EdgeKind, EntryCategory, EntryId, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "KbEntry")]
pub struct Entry {
    pub id: EntryId,
    pub key: String,
    pub category: EntryCategory,
    pub summary: String,
    pub detail: String,
    pub labels: Vec<String>,
    pub scope: Option<String>,
    pub source: String,
    pub conversation: Option<String>,
    pub turn: Option<i64>,
    pub author: String,
    pub tier: AuthorTier,
    /// How far its author is believed, 0 to 1.
    pub trust: f64,
    /// What the entries around it leave of that.
    pub confidence: f64,
    /// How much it has been of use, 0 to 1.
    pub utility: f64,
    pub revision: i64,
    pub created_at: Timestamp,
    pub verified_at: Timestamp,
    pub used_at: Option<Timestamp>,
    pub archived_at: Option<Timestamp>,
    pub archived_why: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "KbRevision")]
pub struct EntryRevision {
    pub revision: i64,
    pub category: EntryCategory,
    pub summary: String,
    pub detail: String,
    pub author: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "KbEdge")]
pub struct EntryEdge {
    pub from: EntryId,
    pub to: EntryId,
    pub kind: EdgeKind,
    pub reason: String,
    pub at: Timestamp,
    /// When one of the two said something else, so that it holds no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}
