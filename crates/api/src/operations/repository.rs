//! Repositories: which are known, and what fits a task in each.

use missiond_core::Text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    Knowledge;

    RepositoryList = "repository_list" (ReadOnly, "board"; Process):
        NoParams => RepositoryPage,
        "List every repository that tasks, code maps, worktrees or slots know, with its branch, its \
         templates and the checks that fit it.";

    RepositoryShow = "repository_show" (ReadOnly, "board"; Process):
        RepositoryShowParams => RepositorySummary,
        "Look at a folder as a place to work in: its repository, branch, templates and the checks \
         that fit it; `~` stands for the home folder.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepositoryShowParams {
    /// An absolute path, or one that begins with `~`.
    pub path: Text<4096>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryPage {
    /// Those with open tasks first, then by name.
    pub repositories: Vec<RepositorySummary>,
    /// Repositories beyond what one answer holds.
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositorySummary {
    /// The name of its folder.
    pub name: String,
    /// The whole path.
    pub path: String,
    /// What is checked out; absent when that is no branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Why tasks cannot have a worktree of it, if they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Tasks of it that are not over.
    pub open_tasks: u64,
    /// Commands that would prove work in it, the surest first.
    pub checks: Vec<ProposedCheck>,
    /// Names of templates a task in it can be filled in from.
    pub templates: Vec<String>,
}

/// A check that fits a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedCheck {
    pub run: Vec<String>,
    /// The file that speaks for it.
    pub because: String,
}
