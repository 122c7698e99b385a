//! The pages of the documentation, as they are listed, read and found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a page of the documentation is for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DocKind {
    /// To begin with.
    Start,
    /// To do something.
    Guide,
    /// To look something up.
    Reference,
    /// To understand how it works.
    How,
    /// One operation of the catalogue, from its declaration.
    Operation,
    /// One key of the configuration, from its declaration.
    Key,
    Other,
}

impl DocKind {
    pub const ALL: [Self; 7] = [
        Self::Start,
        Self::Guide,
        Self::Reference,
        Self::How,
        Self::Operation,
        Self::Key,
        Self::Other,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Guide => "guide",
            Self::Reference => "reference",
            Self::How => "how",
            Self::Operation => "operation",
            Self::Key => "key",
            Self::Other => "other",
        }
    }
}

/// A page as a list has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocSummary {
    /// What it is read by: `guides/board`, `operation/board_add`, `key/log.level`.
    pub path: String,
    pub title: String,
    pub kind: DocKind,
    /// What it is about, in one line without markup.
    pub summary: String,
}

/// A page that another leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocLink {
    pub path: String,
    pub title: String,
}

/// A heading within a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocHeading {
    /// 1 is the title of the page.
    pub level: u8,
    /// Without markup.
    pub text: String,
    /// Behind the `#` of a link to it.
    pub anchor: String,
}

/// A section that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocHit {
    pub path: String,
    /// Of the page.
    pub title: String,
    pub kind: DocKind,
    /// Of the section; the title of the page for what stands before the first.
    pub heading: String,
    /// Of the section; empty for what stands before the first.
    pub anchor: String,
    /// The words around what was looked for, without markup.
    pub excerpt: String,
}
