//! What is in a worktree that is not yet elsewhere.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::git::Git;
use crate::in_progress::InProgress;
use crate::worktree::Worktree;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeStatus {
    /// Tracked files that differ from the last commit, staged or not.
    pub changed: Vec<PathBuf>,
    /// New files that git does not ignore.
    pub untracked: Vec<PathBuf>,
    /// Commits since the base, without what the base got meanwhile.
    pub commits_ahead: u64,
    pub base_commit: String,
    pub head: String,
    /// The branch it is on; nothing when it is on none.
    pub branch: Option<String>,
    /// Everything committed here is in the base, or was finished as it is now.
    pub merged_into_base: bool,
    pub in_progress: Option<InProgress>,
}

impl WorktreeStatus {
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.changed.is_empty() && self.untracked.is_empty()
    }
}

impl Worktree {
    pub async fn status(&self) -> Result<WorktreeStatus, WorkspaceError> {
        let changes = changes(self.git(), self.path()).await?;
        let head = self.head().await?;
        let record = self.record()?;
        let base = match &record.base {
            Some(base) => self.repository().branch_tip(base).await?,
            None => None,
        };
        let finished = record
            .finished
            .as_ref()
            .is_some_and(|done| done.head == head);
        let merged_into_base = finished
            || match &base {
                Some(tip) => self.repository().is_ancestor(&head, tip).await?,
                None => head == record.base_commit,
            };
        let without = [Some(record.base_commit.clone()), base];
        let commits_ahead = self.count(&head, without.into_iter().flatten()).await?;
        Ok(WorktreeStatus {
            changed: changes.changed,
            untracked: changes.untracked,
            commits_ahead,
            base_commit: record.base_commit,
            head,
            branch: self.current_branch().await?,
            merged_into_base,
            in_progress: in_progress(self.admin()),
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) changed: Vec<PathBuf>,
    pub(crate) untracked: Vec<PathBuf>,
}

impl Changes {
    pub(crate) fn all(mut self) -> Vec<PathBuf> {
        self.changed.append(&mut self.untracked);
        self.changed
    }
}

/// What differs from the last commit in a checkout.
pub(crate) async fn changes(git: &Git, folder: &Path) -> Result<Changes, WorkspaceError> {
    let command = git.call(folder, "compare the files with the last commit");
    let output = command
        .args(["status", "--porcelain=v2", "-z", "--no-renames"])
        .args(["--untracked-files=all", "--ignore-submodules=none"])
        .output()
        .await?;
    Ok(parse(&output))
}

/// By what git leaves in the folder of a worktree until the operation ends.
pub(crate) fn in_progress(admin: &Path) -> Option<InProgress> {
    let signs = [
        ("rebase-merge", InProgress::Rebase),
        ("rebase-apply", InProgress::Rebase),
        ("MERGE_HEAD", InProgress::Merge),
        ("CHERRY_PICK_HEAD", InProgress::CherryPick),
        ("REVERT_HEAD", InProgress::Revert),
        ("BISECT_LOG", InProgress::Bisect),
    ];
    let found = signs.iter().find(|(sign, _)| admin.join(sign).exists());
    found.map(|(_, operation)| *operation)
}

fn parse(output: &[u8]) -> Changes {
    let mut changes = Changes::default();
    for entry in output.split(|byte| *byte == 0) {
        // How many fields stand before the path depends on the kind of line.
        let fields = match entry.first() {
            Some(b'1') => 8,
            Some(b'u') => 10,
            Some(b'?') => 1,
            _ => continue,
        };
        let Some(path) = entry.splitn(fields + 1, |byte| *byte == b' ').nth(fields) else {
            continue;
        };
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        match entry.first() {
            Some(b'?') => changes.untracked.push(path),
            _ => changes.changed.push(path),
        }
    }
    changes
}
