//! What is in a worktree that is not yet elsewhere.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::git::{Git, GitCall};
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
    /// Where the base is now.
    pub(crate) base_tip: Option<String>,
}

/// Where the work of a worktree is besides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    /// Nothing was committed since the base.
    Nothing,
    /// This branch has it.
    Merged {
        into: String,
    },
    /// It was handed over on its branch.
    OnBranch,
    /// It was handed over as a file.
    InPatch,
    Nowhere,
}

impl WorktreeStatus {
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.changed.is_empty() && self.untracked.is_empty()
    }
}

impl Worktree {
    pub async fn status(&self) -> Result<WorktreeStatus, WorkspaceError> {
        let changes = self.changes().await?;
        let head = changes.head.clone();
        let head = head.ok_or_else(|| WorkspaceError::NoCommits(self.path().to_owned()))?;
        let record = self.record()?;
        let base_tip = match &record.base {
            Some(base) => self.repository().branch_tip(base).await?,
            None => None,
        };
        let without = [Some(record.base_commit.clone()), base_tip.clone()];
        let commits_ahead = self.count(&head, without.into_iter().flatten()).await?;
        let finished = record
            .finished
            .as_ref()
            .is_some_and(|done| done.head == head);
        let merged_into_base = finished
            || match &base_tip {
                // Who is ahead of both is in neither.
                Some(_) if commits_ahead > 0 => false,
                Some(tip) if *tip == head => true,
                Some(tip) => self.repository().is_ancestor(&head, tip).await?,
                None => head == record.base_commit,
            };
        Ok(WorktreeStatus {
            changed: changes.changed,
            untracked: changes.untracked,
            commits_ahead,
            base_commit: record.base_commit,
            head,
            branch: changes.branch,
            merged_into_base,
            in_progress: in_progress(self.admin()),
            base_tip,
        })
    }
}

impl Worktree {
    /// Where what is committed here went.
    pub fn landed(&self, status: &WorktreeStatus) -> Result<Landed, WorkspaceError> {
        if status.head == status.base_commit {
            return Ok(Landed::Nothing);
        }
        let finished = self.record()?.finished;
        Ok(match finished.filter(|done| done.head == status.head) {
            Some(done)
                if done.commit.is_some() || done.how == missiond_core::Finish::PullRequest =>
            {
                Landed::Merged { into: done.into }
            }
            Some(done) if done.how == missiond_core::Finish::Patch => Landed::InPatch,
            Some(_) => Landed::OnBranch,
            None => match self.base() {
                Some(base) if status.merged_into_base => Landed::Merged {
                    into: base.to_owned(),
                },
                _ => Landed::Nowhere,
            },
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The last commit, if there is one.
    pub(crate) head: Option<String>,
    /// The branch; nothing when it is on none.
    pub(crate) branch: Option<String>,
    pub(crate) changed: Vec<PathBuf>,
    /// Those of the changed ones that the last commit does not have.
    pub(crate) added: Vec<PathBuf>,
    /// Those of the changed ones that are another repository.
    pub(crate) submodules: Vec<PathBuf>,
    pub(crate) untracked: Vec<PathBuf>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.untracked.is_empty()
    }

    /// `oid 1234…` or `oid (initial)`, `head main` or `head (detached)`.
    fn note_header(&mut self, header: &[u8]) {
        let header = String::from_utf8_lossy(header);
        match header.split_once(' ') {
            Some(("oid", id)) if id != "(initial)" => self.head = Some(id.to_owned()),
            Some(("head", name)) if name != "(detached)" => self.branch = Some(name.to_owned()),
            _ => {}
        }
    }

    pub(crate) fn all(mut self) -> Vec<PathBuf> {
        self.changed.append(&mut self.untracked);
        self.changed
    }

    /// Without those of which this is true.
    pub(crate) fn without(mut self, is_left_out: impl Fn(&PathBuf) -> bool) -> Self {
        let lists = [
            &mut self.changed,
            &mut self.added,
            &mut self.submodules,
            &mut self.untracked,
        ];
        for list in lists {
            list.retain(|path| !is_left_out(path));
        }
        self
    }
}

/// What differs from the last commit in a checkout.
pub(crate) async fn changes(git: &Git, folder: &Path) -> Result<Changes, WorkspaceError> {
    changes_by(git.call(folder, COMPARE)).await
}

/// The same without new files that this setting of git excludes.
pub(crate) async fn changes_excluding(
    git: &Git,
    folder: &Path,
    excludes: &OsStr,
) -> Result<Changes, WorkspaceError> {
    changes_by(git.call(folder, COMPARE).arg("-c").arg(excludes)).await
}

const COMPARE: &str = "compare the files with the last commit";

async fn changes_by(call: GitCall) -> Result<Changes, WorkspaceError> {
    let output = call
        .args(["status", "--porcelain=v2", "-z", "--no-renames"])
        .args(["--branch", "--no-ahead-behind"])
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
        if let Some(header) = entry.strip_prefix(b"# branch.") {
            changes.note_header(header);
            continue;
        }
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
            _ => {
                // `1 <XY> <sub> <mode in HEAD> …`, and for a conflict `u <XY> <sub>
                // <mode in the ancestor> <ours> …`. A submodule's field begins with
                // an S.
                let fields: Vec<_> = entry.splitn(6, |byte| *byte == b' ').collect();
                if fields.get(2).is_some_and(|field| field.starts_with(b"S")) {
                    changes.submodules.push(path.clone());
                }
                let committed = if entry.first() == Some(&b'u') { 4 } else { 3 };
                if fields.get(committed).is_some_and(|mode| *mode == b"000000") {
                    changes.added.push(path.clone());
                }
                changes.changed.push(path);
            }
        }
    }
    changes
}
