//! Moving a branch that others use too.
//!
//! A branch moves only from the commit that was expected: who was outrun works
//! the result out again. Where the branch is checked out, that checkout moves
//! with it if it has no changes of its own, and is refused otherwise.

use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::listing::worktrees;
use crate::repository::{Lock, Repository, one_path};
use crate::status::{changes, in_progress};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swap {
    Moved,
    /// The branch is no longer where it was expected.
    Raced,
}

/// Where a branch is to go, and from where alone it may.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BranchMove<'a> {
    pub(crate) branch: &'a str,
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
}

/// Moves the branch. `before` is told, right before anything changes, which checkout
/// moves along.
pub(crate) async fn swap(
    repository: &Repository,
    movement: BranchMove<'_>,
    lock: &Lock,
    before: impl FnOnce(Option<&Path>) -> Result<(), WorkspaceError>,
) -> Result<Swap, WorkspaceError> {
    let tree = movable_checkout(repository, movement.branch).await?;
    before(tree.as_deref())?;
    let answer = match &tree {
        Some(tree) => {
            // Git itself refuses if that would lose anything.
            let command = repository
                .git()
                .call(tree, "move the checkout")
                .holding(lock)?;
            let command = command.args(["merge", "--ff-only", "--quiet", "--no-stat"]);
            let command = command.args(["--no-autostash", "--no-squash", "--commit", "--no-edit"]);
            command.arg(movement.to).run().await?
        }
        None => {
            let name = format!("refs/heads/{}", movement.branch);
            let reason = format!("mission: to {}", movement.to);
            let command = repository.call("move the target branch").holding(lock)?;
            let command = command.args(["update-ref", "-m", &reason, &name]);
            command.args([movement.to, movement.from]).run().await?
        }
    };
    let now = tip(repository, movement.branch).await?;
    if answer.code == Some(0) && repository.is_ancestor(movement.to, &now).await? {
        return Ok(Swap::Moved);
    }
    match tree {
        _ if now != movement.from => Ok(Swap::Raced),
        // It left the branch meanwhile; the branch is free to move now.
        Some(_) if answer.code == Some(0) => Ok(Swap::Raced),
        Some(path) => Err(WorkspaceError::TargetStuck {
            branch: movement.branch.to_owned(),
            path,
            reason: answer.reason(),
        }),
        None => Err(answer.failure()),
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
                operation: crate::in_progress::InProgress::Rebase,
            });
        }
    }
    Ok(None)
}

pub(crate) async fn git_folder(
    repository: &Repository,
    tree: &Path,
) -> Result<PathBuf, WorkspaceError> {
    let command = repository
        .git()
        .call(tree, "find the git folder of a checkout");
    let folder = command
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, args: &[&str]) -> String {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        let output = Command::new("git")
            .args(who)
            .args(args)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A repository with commits one and two in a row and a third beside two;
    /// `main` is at one and checked out.
    struct Fork {
        place: tempfile::TempDir,
        commits: [String; 3],
    }

    impl Fork {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            let folder = place.path();
            git(folder, &["init", "--quiet", "--initial-branch=main"]);
            let commit = |file: &str| {
                std::fs::write(folder.join(file), file).unwrap();
                git(folder, &["add", "--all"]);
                git(folder, &["commit", "--quiet", "-m", file]);
                git(folder, &["rev-parse", "HEAD"])
            };
            let one = commit("one");
            let two = commit("two");
            git(folder, &["reset", "--quiet", "--hard", &one]);
            let three = commit("three");
            git(folder, &["reset", "--quiet", "--hard", &one]);
            let commits = [one, two, three];
            Self { place, commits }
        }

        /// Moves `main` from one to two, while somebody else moves it to three.
        async fn race(&self, by: impl FnOnce()) -> Swap {
            let repository = Repository::open(self.place.path()).await.unwrap();
            let lock = repository.lock().await.unwrap();
            let movement = BranchMove {
                branch: "main",
                from: &self.commits[0],
                to: &self.commits[1],
            };
            let swapped = swap(&repository, movement, &lock, |_| {
                by();
                Ok(())
            });
            swapped.await.unwrap()
        }
    }

    #[tokio::test]
    async fn a_branch_that_others_moved_is_not_moved_over_them() {
        let fork = Fork::new();
        let (folder, [_, two, three]) = (fork.place.path(), &fork.commits);
        let person = || drop(git(folder, &["reset", "--quiet", "--hard", three]));
        assert_eq!(fork.race(person).await, Swap::Raced);
        assert_eq!(git(folder, &["rev-parse", "main"]), *three);
        assert_eq!(git(folder, &["status", "--porcelain"]), "");

        git(folder, &["checkout", "--quiet", "-B", "else", "main"]);
        git(folder, &["branch", "--force", "main", &fork.commits[0]]);
        let person = || drop(git(folder, &["branch", "--force", "main", three]));
        assert_eq!(fork.race(person).await, Swap::Raced);
        assert_eq!(git(folder, &["rev-parse", "main"]), *three);

        git(folder, &["branch", "--force", "main", &fork.commits[0]]);
        assert_eq!(fork.race(|| ()).await, Swap::Moved);
        assert_eq!(git(folder, &["rev-parse", "main"]), *two);
    }

    #[tokio::test]
    async fn a_checkout_that_leaves_the_branch_meanwhile_is_outrun_too() {
        let fork = Fork::new();
        let folder = fork.place.path();
        let person = || drop(git(folder, &["checkout", "--quiet", "-b", "else"]));
        assert_eq!(fork.race(person).await, Swap::Raced);
        assert_eq!(git(folder, &["rev-parse", "main"]), fork.commits[0]);
        assert_eq!(fork.race(|| ()).await, Swap::Moved);
    }
}
