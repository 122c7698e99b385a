//! One search over everything that is known.

use missiond_core::{Limit, Text, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations;

operations! {
    Knowledge;

    Search = "search" (ReadOnly, "board"; Process):
        SearchParams => SearchResult,
        "Find tasks, runs, questions, knowledge, code, conversations and commits by their words, in \
         one list with the best first.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchParams {
    /// Words, a number such as `T-12` or `Q-3`, or the beginning of a commit's name.
    pub query: Text<500>,
    /// Only these kinds; all when left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<SearchKind>,
    /// At most so many.
    #[serde(default)]
    pub limit: Limit<100, 20>,
}

/// What was found.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    Task,
    Run,
    Question,
    Knowledge,
    Code,
    Conversation,
    Commit,
}

impl SearchKind {
    pub const ALL: [Self; 7] = [
        Self::Task,
        Self::Run,
        Self::Question,
        Self::Knowledge,
        Self::Code,
        Self::Conversation,
        Self::Commit,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Run => "run",
            Self::Question => "question",
            Self::Knowledge => "knowledge",
            Self::Code => "code",
            Self::Conversation => "conversation",
            Self::Commit => "commit",
        }
    }
}

/// The text names no kind of what can be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is one of task, run, question, knowledge, code, conversation and commit")]
pub struct UnknownSearchKind;

impl std::str::FromStr for SearchKind {
    type Err = UnknownSearchKind;

    fn from_str(text: &str) -> Result<Self, UnknownSearchKind> {
        let mut named = Self::ALL.into_iter().filter(|kind| kind.name() == text);
        named.next().ok_or(UnknownSearchKind)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    /// The best first.
    pub hits: Vec<SearchHit>,
    /// Kinds that could not be searched, or not in time, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<SearchFailure>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchHit {
    pub kind: SearchKind,
    /// What it is called by: `T-12`, `Q-3`, an id, `src/main.rs:12`, a commit.
    pub id: String,
    pub title: String,
    /// A line around what was looked for, or what else there is to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Its page on the web board, from the root.
    pub link: String,
    /// The folder it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub score: f32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchFailure {
    pub kind: SearchKind,
    pub reason: String,
}
