//! Removing a worktree, and what forbids it.
//!
//! Nothing that exists only in the worktree is ever deleted: changes, new files,
//! commits that nobody else has. Files that git ignores and build output are not work
//! and go.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{WorkspaceError, removal_obstacles};
use crate::process_tree::end_strays;
use crate::record::FinishRecord;
use crate::restore::remove_in;
use crate::status::WorktreeStatus;
use crate::worktree::Worktree;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Nothing would be lost.
    Safe,
    Holds {
        /// Uncommitted changes and new files.
        changed: Vec<PathBuf>,
        /// Commits that are not in the base and were not finished.
        unmerged: u64,
        /// Submodules with commits that none of their remotes has.
        submodules: Vec<PathBuf>,
    },
}

impl fmt::Display for Removal {
    /// What would be lost, as the object of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Safe => f.write_str("nothing of its own"),
            Self::Holds {
                changed,
                unmerged,
                submodules,
            } => f.write_str(&removal_obstacles(changed, *unmerged, submodules)),
        }
    }
}

impl Worktree {
    /// What removing it would lose.
    pub async fn removal(&self) -> Result<Removal, WorkspaceError> {
        self.removal_of(&self.status().await?).await
    }

    /// The same for a status that was just read.
    pub async fn removal_of(&self, status: &WorktreeStatus) -> Result<Removal, WorkspaceError> {
        let mut changed = status.changed.clone();
        changed.extend_from_slice(&status.untracked);
        let unmerged = match self.record()?.finished {
            _ if status.merged_into_base => 0,
            None => status.commits_ahead,
            Some(finished) => self.unmerged(status, finished).await?,
        };
        let submodules = self.submodules().await?;
        if changed.is_empty() && unmerged == 0 && submodules.is_empty() {
            return Ok(Removal::Safe);
        }
        Ok(Removal::Holds {
            changed,
            unmerged,
            submodules,
        })
    }

    /// Removes the worktree, and its branch if that was merged. Refused when
    /// anything would be lost.
    pub async fn remove(self) -> Result<(), WorkspaceError> {
        let lock = self.repository().lock().await?;
        self.expect_settled()?;
        self.expect_unlocked()?;
        if let Removal::Holds {
            changed,
            unmerged,
            submodules,
        } = self.removal().await?
        {
            return Err(WorkspaceError::HoldsWork {
                path: self.path().to_owned(),
                files: changed,
                unmerged,
                submodules,
            });
        }
        let head = self.head().await?;
        let merged = self.is_merged(&head).await?;
        end_strays(self.path()).await;
        let command = self.repository().call("remove the worktree");
        let command = command.args(["worktree", "remove"]);
        // Git takes build output that nobody ignores for work: exactly what is known to
        // be that goes first.
        let (_, build_output) = self.changes_and_build_output().await?;
        remove_in(self.path(), build_output).await;
        // Without force git looks once more for itself; where there is a submodule it
        // would refuse whatever it finds.
        let submodules = !self.links().await?.is_empty() || self.admin().join("modules").exists();
        let command = if submodules {
            command.args(["--force"])
        } else {
            command
        };
        command.arg(self.path()).holding(&lock)?.output().await?;
        if merged {
            let name = format!("refs/heads/{}", self.branch());
            let command = self.repository().call("remove the branch");
            let command = command.args(["update-ref", "-d", &name, &head]);
            // Somebody who moved the branch meanwhile wants to keep it.
            command.run().await?;
        }
        Ok(())
    }

    /// Commits that the base does not have and that no finish handed over.
    async fn unmerged(
        &self,
        status: &WorktreeStatus,
        finished: FinishRecord,
    ) -> Result<u64, WorkspaceError> {
        let target = self.repository().branch_tip(&finished.into).await?;
        let base = [Some(status.base_commit.clone()), status.base_tip.clone()];
        let elsewhere = base.into_iter().flatten().chain(target);
        self.count(&status.head, elsewhere.chain([finished.head]))
            .await
    }

    /// The target has everything of the branch, as it was finished.
    async fn is_merged(&self, head: &str) -> Result<bool, WorkspaceError> {
        let record = self.record()?;
        let base = match &record.base {
            Some(base) => self.repository().branch_tip(base).await?,
            None => None,
        };
        if head == record.base_commit {
            return Ok(true);
        }
        if let Some(base) = base
            && self.repository().is_ancestor(head, &base).await?
        {
            return Ok(true);
        }
        let finished = record.finished.filter(|finished| finished.head == head);
        Ok(finished.is_some_and(|finished| finished.commit.is_some()))
    }

    /// Submodules, and other repositories inside, with something that no remote has.
    async fn submodules(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let root = self.admin().join("modules");
        let modules = git_folders(&root).into_iter().map(|folder| {
            let name = folder.strip_prefix(&root).map(ToOwned::to_owned);
            (name.unwrap_or_else(|_| folder.clone()), folder)
        });
        let links = self.links().await?.into_iter();
        let own = links.map(|link| (link.clone(), self.path().join(link).join(".git")));
        let mut holding = Vec::new();
        for (name, folder) in modules.chain(own.filter(|(_, folder)| folder.is_dir())) {
            let command = self.git().call(&folder, "look into a submodule");
            let command = command.args(["--git-dir=.", "rev-list", "-n1", "HEAD", "--all"]);
            let answer = command.args(["--not", "--remotes"]).run().await?;
            if answer.code != Some(0) || !answer.output.is_empty() {
                holding.push(name);
            }
        }
        Ok(holding)
    }

    /// Paths that are recorded as a commit of another repository.
    async fn links(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let command = self
            .call("list the submodules")
            .args(["ls-files", "-z", "--stage"]);
        let output = command.output().await?;
        let links = output.split(|byte| *byte == 0).filter_map(|entry| {
            let link = entry.strip_prefix(b"160000 ")?;
            let tab = link.iter().position(|byte| *byte == b'\t')?;
            Some(PathBuf::from(std::ffi::OsStr::from_bytes(&link[tab + 1..])))
        });
        Ok(links.collect())
    }
}

/// Every git folder below `root`: a submodule may have submodules.
fn git_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        let is_module = folder.join("HEAD").is_file();
        if is_module {
            waiting.push(folder.join("modules"));
            found.push(folder);
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(folders.map(|entry| entry.path()));
    }
    found.sort();
    found
}
