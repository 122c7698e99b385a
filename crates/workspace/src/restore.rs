//! Putting a worktree back to a commit.
//!
//! What checks write is not the agent's work. So what was there is put on record
//! before they run, and afterwards everything they changed is put back: tracked
//! files, the branch, submodules, and new files that git does not ignore. What was
//! different before is left alone. The record outlives a crash: whoever lets somebody
//! work there again settles it first, and nothing is put back over what somebody
//! committed since.

use std::collections::BTreeSet;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{WorkspaceError, named_files};
use crate::record::{Checking, text};
use crate::status::Changes;
use crate::worktree::Worktree;

/// What was put back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// Tracked files that were changed or deleted.
    pub changed: Vec<PathBuf>,
    /// New files, which are gone.
    pub removed: Vec<PathBuf>,
}

impl Restored {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }

    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let all = self.changed.iter().chain(&self.removed);
        all.cloned().collect()
    }
}

impl fmt::Display for Restored {
    /// As the predicate of a sentence: what was done with which files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |verb: &str, files: &[PathBuf]| {
            let noun = if files.len() == 1 { "file" } else { "files" };
            let count = files.len();
            (count > 0).then(|| format!("{verb} {count} {noun} ({})", named_files(files)))
        };
        let parts = [
            part("restored", &self.changed),
            part("removed", &self.removed),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join(" and "))
    }
}

/// Checks that were begun in a worktree and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChecksBegun {
    /// The commit they run on.
    pub commit: String,
    /// By what whoever began them knows when that was.
    pub moment: Option<String>,
}

impl Worktree {
    /// Puts on record what is there before checks run. `moment` is kept for the
    /// caller, who may have to find out later what happened since.
    pub async fn begin_checks(&self, moment: Option<String>) -> Result<(), WorkspaceError> {
        let there = self.changes().await?.all();
        let checking = Checking {
            commit: self.head().await?,
            there: there.iter().map(|path| text(path)).collect(),
            moment,
        };
        self.change_record(|record| record.checking = Some(checking))
    }

    /// Checks that nobody ended.
    pub fn checks_begun(&self) -> Result<Option<ChecksBegun>, WorkspaceError> {
        let checking = self.record()?.checking;
        Ok(checking.map(|checking| ChecksBegun {
            commit: checking.commit,
            moment: checking.moment,
        }))
    }

    /// Puts back what changed since then; nothing when no checks were begun. For
    /// whoever knows that nobody but the checks has worked here: also a commit goes.
    pub async fn end_checks(&self) -> Result<Restored, WorkspaceError> {
        let Some(before) = self.record()?.checking else {
            return Ok(Restored::default());
        };
        let there: BTreeSet<_> = before.there.into_iter().collect();
        let restored = self.restore_to(&before.commit, &there).await?;
        self.forget_checks()?;
        Ok(restored)
    }

    /// The same for whoever does not know that. When the worktree is not at the commit
    /// that was checked, somebody has worked here since, and everything stays.
    pub async fn settle_checks(&self) -> Result<Restored, WorkspaceError> {
        let Some(before) = self.record()?.checking else {
            return Ok(Restored::default());
        };
        let on_branch = self.current_branch().await?.as_deref() == Some(self.branch());
        let head = self.head().await?;
        if on_branch && head == before.commit {
            return self.end_checks().await;
        }
        tracing::warn!(
            path = %self.path().display(), checked = before.commit, head, on_branch,
            "worktree not restored after checks that were cut off: somebody has worked there since"
        );
        self.forget_checks()?;
        Ok(Restored::default())
    }

    /// Leaves everything as the checks left it, because somebody works there again.
    pub fn forget_checks(&self) -> Result<(), WorkspaceError> {
        self.change_record(|record| record.checking = None)
    }

    /// What [`Worktree::discard`] would put back.
    pub async fn uncommitted(&self) -> Result<Restored, WorkspaceError> {
        let changes = self.changes().await?;
        let untracked = changes.untracked.clone();
        Ok(restored(changes, untracked))
    }

    /// Throws away everything that is not committed, except files that git ignores
    /// and build output.
    pub async fn discard(&self) -> Result<Restored, WorkspaceError> {
        self.expect_settled()?;
        self.expect_on_branch().await?;
        let head = self.head().await?;
        let restored = self.restore_to(&head, &BTreeSet::new()).await?;
        self.forget_checks()?;
        Ok(restored)
    }

    /// Makes everything as in the commit, except what was there: that is nobody's to
    /// touch.
    async fn restore_to(
        &self,
        commit: &str,
        there: &BTreeSet<String>,
    ) -> Result<Restored, WorkspaceError> {
        self.expect_unlocked()?;
        self.return_to(commit).await?;
        let was_there = |path: &PathBuf| there.contains(&text(path));
        let mut found = self.changes().await?.without(was_there);
        if !found.changed.is_empty() {
            let command = self.call("put the files back");
            let command = command.args(["restore", "--quiet", "--staged", "--worktree"]);
            let command = command.arg(format!("--source={commit}"));
            command.only_paths(&found.changed).output().await?;
            for path in &found.submodules {
                if !found.added.contains(path) {
                    self.restore_submodule(path).await?;
                }
            }
            found.untracked = self.changes().await?.without(was_there).untracked;
        }
        self.quit_merge().await?;
        let removed = remove_in(self.path(), std::mem::take(&mut found.untracked)).await;
        Ok(restored(found, removed))
    }

    /// Puts the branch at a commit again, and the worktree on the branch, without
    /// touching a file. What would be on no branch any more is kept under a name.
    async fn return_to(&self, commit: &str) -> Result<(), WorkspaceError> {
        let name = format!("refs/heads/{}", self.branch());
        let found = self.current_branch().await?;
        if found.as_deref() != Some(self.branch()) {
            if found.is_none() {
                self.keep(&self.head().await?, commit).await?;
            }
            let command = self.call("go back to the branch");
            command
                .args(["symbolic-ref", "HEAD", &name])
                .output()
                .await?;
        }
        let tip = self.repository().branch_tip(self.branch()).await?;
        if tip.as_deref() == Some(commit) {
            return Ok(());
        }
        if let Some(tip) = &tip {
            self.keep(tip, commit).await?;
        }
        let command = self.call("put the branch back");
        let command = command.args(["update-ref", "-m", "mission: back to the checked commit"]);
        command.args([&name, commit]).output().await?;
        Ok(())
    }

    /// Gives a commit that `left` does not have a name, so that git keeps it and a
    /// person finds it.
    async fn keep(&self, commit: &str, left: &str) -> Result<(), WorkspaceError> {
        if self.repository().is_ancestor(commit, left).await? {
            return Ok(());
        }
        let name = format!("refs/missiond/kept/{commit}");
        let command = self.call("keep a commit");
        command.args(["update-ref", &name, commit]).output().await?;
        tracing::warn!(path = %self.path().display(), name, "commit kept that a restore took from its branch");
        Ok(())
    }

    /// Ends a merge and the like that checks began and left; before them there was
    /// none. The files are as they should be by now.
    async fn quit_merge(&self) -> Result<(), WorkspaceError> {
        use crate::in_progress::InProgress::{CherryPick, Merge, Revert};
        if let Some(Merge | CherryPick | Revert) = crate::status::in_progress(self.admin()) {
            let command = self.call("end a merge");
            command.args(["reset", "--quiet"]).output().await?;
        }
        Ok(())
    }

    /// It was as committed before, so whatever is different in it came since.
    async fn restore_submodule(&self, path: &Path) -> Result<(), WorkspaceError> {
        let command = self.call("put a submodule back");
        let command = command.args(["submodule", "update", "--quiet", "--no-fetch"]);
        let command = command.args(["--checkout", "--force", "--"]);
        command.arg(path).output().await?;
        let excludes = self.write_excludes(&[]).await?;
        let folder = self.path().join(path);
        let command = self.git().call(&folder, "clean a submodule");
        let command = command.arg("-c").arg(excludes);
        command
            .args(["clean", "--quiet", "--force", "-d"])
            .output()
            .await?;
        Ok(())
    }
}

fn restored(found: Changes, mut removed: Vec<PathBuf>) -> Restored {
    let mut changed = found.changed;
    changed.retain(|path| !found.added.contains(path));
    removed.splice(..0, found.added);
    Restored { changed, removed }
}

/// Removes these files of a folder, off the threads that must not wait; says which are
/// gone.
pub(crate) async fn remove_in(root: &Path, files: Vec<PathBuf>) -> Vec<PathBuf> {
    let root = root.to_owned();
    let removing = tokio::task::spawn_blocking(move || remove(&root, files));
    let removed = removing.await;
    removed.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// Removes new files and the folders that are empty without them; says which are
/// gone. One that stays is met again by whoever looks whether all is committed.
fn remove(root: &Path, files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for file in files {
        let path = root.join(&file);
        // Git lists another repository inside as a folder.
        let gone = if file.as_os_str().as_bytes().ends_with(b"/") {
            std::fs::remove_dir_all(&path)
        } else {
            std::fs::remove_file(&path)
        };
        match gone {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "new file not removed");
                continue;
            }
        }
        for folder in file
            .ancestors()
            .skip(1)
            .filter(|f| !f.as_os_str().is_empty())
        {
            if std::fs::remove_dir(root.join(folder)).is_err() {
                break;
            }
        }
        removed.push(file);
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_back_is_said_with_names() {
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        let restored = Restored {
            changed: files(&["a.snap"]),
            removed: files(&["out/x", "out/y"]),
        };
        assert_eq!(
            restored.to_string(),
            "restored 1 file (a.snap) and removed 2 files (out/x, out/y)"
        );
    }
}
