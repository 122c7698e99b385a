//! The pull request that the work of a task was handed over with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the work of a task is judged. How it stands there is asked for, not kept: the
/// status of the task says what followed from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PullRequest {
    pub number: u64,
    pub url: String,
    /// The branch it goes into.
    pub into: String,
    /// The attempt whose work it has; a later one has more to push.
    pub attempt: u32,
}

/// How a pull request stands at its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullRequestState {
    Open,
    Merged,
    /// Closed without a merge.
    Closed,
}

impl std::fmt::Display for PullRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pull request #{}", self.number)
    }
}
