//! Moving a branch that others use too.
//!
//! A branch moves only from the commit that was expected: who was outrun works
//! the result out again. Where the branch is checked out, that checkout moves
//! with it if it has no changes of its own, and is refused otherwise.

use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::listing::worktrees;
use crate::repository::{Repository, one_path};
use crate::status::{changes, in_progress};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swap {
    Moved,
    /// The branch is no longer where it was expected.
    Outrun,
}

/// Moves `branch` from `old` to `new`. `before` is told, right before anything
/// changes, which checkout moves along.
pub(crate) async fn swap(
    repository: &Repository,
    branch: &str,
    old: &str,
    new: &str,
    before: impl FnOnce(Option<&Path>) -> Result<(), WorkspaceError>,
) -> Result<Swap, WorkspaceError> {
    let tree = movable_checkout(repository, branch).await?;
    match &tree {
        Some(tree) => {
            before(Some(tree))?;
            move_with_checkout(repository, branch, tree, new).await?;
        }
        None => {
            before(None)?;
            let name = format!("refs/heads/{branch}");
            let asked = repository.call("move the target branch");
            let reason = format!("mission: to {new}");
            let asked = asked.args(["update-ref", "-m", &reason, &name, new, old]);
            let answer = asked.answer().await?;
            if answer.code != Some(0) && tip(repository, branch).await? == old {
                return Err(answer.failure());
            }
        }
    }
    match tip(repository, branch).await? == new {
        true => Ok(Swap::Moved),
        false => Ok(Swap::Outrun),
    }
}

/// The checkout that has this branch, if any; refused when it cannot move now.
pub(crate) async fn movable_checkout(
    repository: &Repository,
    branch: &str,
) -> Result<Option<PathBuf>, WorkspaceError> {
    let tree = checkout_of(repository, branch).await?;
    if let Some(tree) = &tree {
        expect_clean(repository, branch, tree).await?;
    }
    Ok(tree)
}

async fn tip(repository: &Repository, branch: &str) -> Result<String, WorkspaceError> {
    let tip = repository.branch_tip(branch).await?;
    tip.ok_or_else(|| WorkspaceError::NoSuchTarget(branch.to_owned()))
}

/// The worktree, the person's or another, that has this branch checked out.
async fn checkout_of(
    repository: &Repository,
    branch: &str,
) -> Result<Option<PathBuf>, WorkspaceError> {
    for listed in worktrees(repository).await? {
        if listed.bare || !listed.present {
            continue;
        }
        let admin = git_folder(repository, &listed.path).await?;
        if listed.branch.as_deref() == Some(branch) {
            return match in_progress(&admin) {
                Some(operation) => Err(WorkspaceError::TargetBusy {
                    branch: branch.to_owned(),
                    path: listed.path,
                    operation,
                }),
                None => Ok(Some(listed.path)),
            };
        }
        // During a rebase the head is on no branch, but the branch is in use.
        let rebased = ["rebase-merge", "rebase-apply"].iter().any(|folder| {
            let name = std::fs::read_to_string(admin.join(folder).join("head-name"));
            name.is_ok_and(|name| name.trim_end() == format!("refs/heads/{branch}"))
        });
        if rebased {
            return Err(WorkspaceError::TargetBusy {
                branch: branch.to_owned(),
                path: listed.path,
                operation: crate::status::InProgress::Rebase,
            });
        }
    }
    Ok(None)
}

pub(crate) async fn git_folder(
    repository: &Repository,
    tree: &Path,
) -> Result<PathBuf, WorkspaceError> {
    let asked = repository
        .git()
        .call(tree, "find the git folder of a checkout");
    let folder = asked
        .args(["rev-parse", "--absolute-git-dir"])
        .output()
        .await?;
    Ok(one_path(folder))
}

/// New files of the person are no obstacle; git refuses to overwrite one.
async fn expect_clean(
    repository: &Repository,
    branch: &str,
    tree: &Path,
) -> Result<(), WorkspaceError> {
    let files = changes(repository.git(), tree).await?.changed;
    if files.is_empty() {
        return Ok(());
    }
    Err(WorkspaceError::TargetDirty {
        branch: branch.to_owned(),
        path: tree.to_owned(),
        files,
    })
}

/// Fast-forwards a checkout; git itself refuses if that would lose anything.
async fn move_with_checkout(
    repository: &Repository,
    branch: &str,
    tree: &Path,
    new: &str,
) -> Result<(), WorkspaceError> {
    let old = tip(repository, branch).await?;
    let asked = repository.git().call(tree, "move the checkout");
    let asked = asked.args([
        "merge",
        "--ff-only",
        "--quiet",
        "--no-stat",
        "--no-autostash",
        new,
    ]);
    let answer = asked.answer().await?;
    if answer.code == Some(0) || tip(repository, branch).await? != old {
        return Ok(());
    }
    if !repository.is_ancestor(&old, new).await? {
        return Ok(());
    }
    Err(WorkspaceError::TargetStuck {
        branch: branch.to_owned(),
        path: tree.to_owned(),
        reason: answer.complaint.trim().to_owned(),
    })
}
