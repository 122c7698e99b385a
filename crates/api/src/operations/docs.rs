//! The documentation of missiond, as it is in the program.

use missiond_core::{DocHeading, DocHit, DocKind, DocLink, DocSummary, Limit, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    System;

    DocsList = "docs_list" (ReadOnly, "docs"; Instant):
        NoParams => DocsPages,
        "List the pages of missiond's documentation, with one for each operation and each \
         configuration key.";

    DocsRead = "docs_read" (ReadOnly, "docs"; Instant):
        DocsReadParams => DocsPage,
        "Read one page of missiond's documentation: a guide, an operation, a configuration key.";

    DocsSearch = "docs_search" (ReadOnly, "docs"; Instant):
        DocsSearchParams => DocsFound,
        "Search missiond's documentation by words; says which section of which page answers.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocsPages {
    /// By kind, those of a kind in the order to read them.
    pub pages: Vec<DocSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocsReadParams {
    /// Its path, such as `guides/board`, or the name of an operation, a key or a page.
    pub page: Text<200>,
    /// How its text is written.
    #[serde(default)]
    pub format: DocFormat,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocFormat {
    #[default]
    Markdown,
    /// A piece of a page; links to other pages lead to `/docs/…`.
    Html,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocsPage {
    pub path: String,
    pub title: String,
    pub kind: DocKind,
    /// The whole page, with its title.
    pub text: String,
    /// In the order of the page, its title first.
    pub headings: Vec<DocHeading>,
    /// The page to read before this one, of the same kind.
    #[serde(default)]
    pub previous: Option<DocLink>,
    /// The page to read after this one, of the same kind.
    #[serde(default)]
    pub next: Option<DocLink>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocsSearchParams {
    /// Words, or the name of an operation, a key or a page. The last word may be a
    /// beginning.
    pub query: Text<500>,
    /// At most so many.
    #[serde(default)]
    pub limit: Limit<100, 20>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocsFound {
    /// The best first.
    pub hits: Vec<DocHit>,
}
