//! Putting a worktree back to a commit.
//!
//! What checks write is not the agent's work. So what was there is put on record
//! before they run, and afterwards everything they changed is put back: tracked
//! files, the branch, submodules, and new files that git does not ignore. The
//! record outlives a crash: whoever commits or finishes next puts it back first.

use std::collections::BTreeSet;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{WorkspaceError, named_files};
use crate::record::{Checking, text};
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

impl Worktree {
    /// Puts on record what is there before checks run.
    pub async fn begin_checks(&self) -> Result<(), WorkspaceError> {
        let there = self.changes().await?.all();
        let checking = Checking {
            commit: self.head().await?,
            there: there.iter().map(|path| text(path)).collect(),
        };
        self.change_record(|record| record.checking = Some(checking))
    }

    /// Puts back what changed since then; nothing when no checks were begun.
    pub async fn end_checks(&self) -> Result<Restored, WorkspaceError> {
        let Some(before) = self.record()?.checking else {
            return Ok(Restored::default());
        };
        let there: BTreeSet<_> = before.there.into_iter().collect();
        let restored = self.restore_to(&before.commit, &there).await?;
        self.forget_checks()?;
        Ok(restored)
    }

    /// Leaves everything as the checks left it, because somebody works there again.
    pub fn forget_checks(&self) -> Result<(), WorkspaceError> {
        self.change_record(|record| record.checking = None)
    }

    /// What [`Worktree::discard`] would put back.
    pub async fn uncommitted(&self) -> Result<Restored, WorkspaceError> {
        let changes = self.changes().await?;
        Ok(Restored {
            changed: changes.changed,
            removed: changes.untracked,
        })
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

    async fn restore_to(
        &self,
        commit: &str,
        there: &BTreeSet<String>,
    ) -> Result<Restored, WorkspaceError> {
        self.expect_unlocked()?;
        let mut found = self.changes().await?;
        found.changed.retain(|path| !there.contains(&text(path)));
        let on_branch = self.current_branch().await?.as_deref() == Some(self.branch());
        let moved = !on_branch || self.head().await? != commit;
        if !on_branch {
            let name = format!("refs/heads/{}", self.branch());
            let command = self.call("go back to the branch");
            command
                .args(["symbolic-ref", "HEAD", &name])
                .output()
                .await?;
        }
        for path in &found.submodules {
            if found.changed.contains(path) {
                self.restore_submodule(path).await?;
            }
        }
        let is_file = |path: &&PathBuf| !found.submodules.contains(path);
        if moved || found.changed.iter().any(|path| is_file(&path)) {
            let command = self.call("put the files back");
            let command = command.args(["reset", "--quiet", "--hard", commit]);
            command.output().await?;
            found.untracked = self.changes().await?.untracked;
        }
        found.untracked.retain(|path| !there.contains(&text(path)));
        let (root, doomed) = (self.path().to_owned(), found.untracked);
        let removing = tokio::task::spawn_blocking(move || remove(&root, doomed));
        let removed = removing.await;
        let removed = removed.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        Ok(Restored {
            changed: found.changed,
            removed,
        })
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
