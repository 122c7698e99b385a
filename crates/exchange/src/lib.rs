//! Tasks as files: our own lines of JSON, Markdown checklists, and what beads
//! and vibe-kanban keep.
//!
//! A file is read as a whole or refused as a whole, with the line that is
//! wrong. What is read are [`Card`]s, which name each other by the keys of
//! their file; what becomes of them is for the caller.

mod beads;
mod graph;
mod jsonl;
mod markdown;
mod vibe_kanban;

use missiond_core::{TaskDraft, Timestamp};

pub use jsonl::{read as read_jsonl, write_card as write_jsonl};
pub use markdown::{
    read as read_markdown, read_with_skipped as read_markdown_with_skipped, write as write_markdown,
};
pub use vibe_kanban::read as read_vibe_kanban;

pub use beads::read as read_beads;

/// More than this in one file is refused before it is worked on.
pub const MAX_CARDS: usize = 100_000;

/// A task as it stands in a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Card {
    /// What others in the same file call it.
    pub key: String,
    pub draft: TaskDraft,
    /// The key of the task it is a part of.
    pub parent: Option<String>,
    /// The keys of the tasks that come before it.
    pub depends_on: Vec<String>,
    pub standing: Standing,
    pub created_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// Author and text, oldest first.
    pub notes: Vec<(String, String)>,
    /// Where it stands in the file: 1 is the first line, or the first row.
    pub line: usize,
}

/// How a task stood where it was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Standing {
    #[default]
    Open,
    Done,
    Failed {
        reason: String,
    },
    Blocked {
        reason: String,
    },
}

/// Why a file was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("line {line}: {message}")]
    Line { line: usize, message: String },
    #[error("{0}")]
    File(String),
}

impl ImportError {
    pub fn at(line: usize, message: impl Into<String>) -> Self {
        Self::Line {
            line,
            message: message.into(),
        }
    }
}

/// Every key once, every reference to a card of this file, and no cycle.
pub(crate) fn check_graph(cards: Vec<Card>) -> Result<Vec<Card>, ImportError> {
    graph::check(&cards)?;
    Ok(cards)
}

pub(crate) fn check_capacity(cards: &[Card], line: usize) -> Result<(), ImportError> {
    if cards.len() < MAX_CARDS {
        return Ok(());
    }
    let message = format!("a file holds at most {MAX_CARDS} tasks");
    Err(ImportError::at(line, message))
}
