//! The files a board is read from and written to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportFormat {
    /// Our own: one task a line.
    Jsonl,
    /// A checklist.
    Markdown,
    /// The issues of beads.
    Beads,
    /// The SQLite file of vibe-kanban.
    VibeKanban,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// One task a line.
    Jsonl,
    /// A checklist.
    Markdown,
}
