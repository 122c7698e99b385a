//! Bringing the work of a worktree back.
//!
//! Whatever the way, the person's files are never in between: a result is worked
//! out in git's object store, and only a complete one is put in place, by moving
//! the target branch from exactly the commit it was worked out for. A conflict
//! leaves everything as it was.

use std::path::PathBuf;

use missiond_core::Finish;

use crate::error::WorkspaceError;
use crate::record::{FinishRecord, Finishing, Record};
use crate::recovery::undo_interrupted_move;
use crate::repository::{Lock, Repository};
use crate::target::{BranchMove, Swap, movable_checkout, swap};
use crate::worktree::Worktree;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishPlan {
    pub how: Finish,
    /// The branch the work goes into.
    pub into: String,
    /// Of the one commit of a merge or a squash; without one, which branch it was.
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finished {
    /// The target has the work, at this commit.
    Merged { commit: String },
    /// Nothing was committed since the base.
    NothingToMerge,
    /// Both sides changed these files; nothing was done.
    Conflict { files: Vec<PathBuf> },
    /// The work stays on its branch.
    Branch { name: String },
    /// The work is in this file, and stays on its branch.
    Patch { path: PathBuf },
}

/// What a finish would do if it came now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishPreview {
    /// It brings this many commits.
    Brings {
        commits: u64,
    },
    /// The target has the work already.
    Already,
    NothingToMerge,
    Conflict {
        files: Vec<PathBuf>,
    },
}

/// What the target would become.
#[derive(Debug)]
pub(crate) enum MergeOutcome {
    At(String),
    Conflict(Vec<PathBuf>),
}

/// How often the target may be moved by others before we give up.
const ATTEMPTS: u32 = 20;

impl Worktree {
    /// Brings the work back. Uncommitted changes are refused, not left out.
    pub async fn finish(&self, plan: &FinishPlan) -> Result<Finished, WorkspaceError> {
        let lock = self.repository().lock().await?;
        self.expect_settled()?;
        let record = self.record()?;
        if let Some(begun) = &record.finishing {
            undo_interrupted_move(self.repository(), begun).await?;
        }
        self.settle_checks().await?;
        let head = self.finishable().await?;
        if head == record.base_commit {
            return Ok(Finished::NothingToMerge);
        }
        match plan.how {
            Finish::Merge | Finish::Rebase | Finish::Squash => {
                if let Some(commit) = self.commit_in_target(plan, &head, self.record()?).await? {
                    self.record_finished(plan, &head, Some(commit.clone()))?;
                    return Ok(Finished::Merged { commit });
                }
                self.move_target(plan, &head, &lock).await
            }
            // A pull request has what is on the branch: who says so has seen it merged.
            Finish::Branch | Finish::PullRequest => {
                self.record_finished(plan, &head, None)?;
                let name = self.branch().to_owned();
                Ok(Finished::Branch { name })
            }
            Finish::Patch => {
                let target = self.repository().branch_tip(&plan.into).await?;
                let target = target.unwrap_or(record.base_commit);
                let path = self.write_patch(&target, &head).await?;
                self.record_finished(plan, &head, None)?;
                Ok(Finished::Patch { path })
            }
        }
    }

    /// What `finish` would do, without doing it; what it would refuse is refused.
    pub async fn preview_finish(&self, plan: &FinishPlan) -> Result<FinishPreview, WorkspaceError> {
        self.expect_settled()?;
        let head = self.finishable().await?;
        self.preview_at(plan, &head, self.record()?).await
    }

    /// The same for the work at this commit; no file is looked at.
    async fn preview_at(
        &self,
        plan: &FinishPlan,
        head: &str,
        record: Record,
    ) -> Result<FinishPreview, WorkspaceError> {
        let base_commit = record.base_commit.clone();
        if head == base_commit {
            return Ok(FinishPreview::NothingToMerge);
        }
        let target = self.repository().branch_tip(&plan.into).await?;
        if matches!(plan.how, Finish::Merge | Finish::Rebase | Finish::Squash) {
            if self.commit_in_target(plan, head, record).await?.is_some() {
                return Ok(FinishPreview::Already);
            }
            let tip = self.target_tip(&plan.into).await?;
            if let MergeOutcome::Conflict(files) = self.compute_result(plan, &tip, head).await? {
                return Ok(FinishPreview::Conflict { files });
            }
            movable_checkout(self.repository(), &plan.into).await?;
        }
        let without = [Some(base_commit), target].into_iter().flatten();
        let commits = self.count(head, without).await?;
        Ok(FinishPreview::Brings { commits })
    }

    async fn move_target(
        &self,
        plan: &FinishPlan,
        head: &str,
        lock: &Lock,
    ) -> Result<Finished, WorkspaceError> {
        for _ in 0..ATTEMPTS {
            let tip = self.target_tip(&plan.into).await?;
            let commit = match self.compute_result(plan, &tip, head).await? {
                MergeOutcome::At(commit) => commit,
                MergeOutcome::Conflict(files) => return Ok(Finished::Conflict { files }),
            };
            let movement = BranchMove {
                branch: &plan.into,
                from: &tip,
                to: &commit,
            };
            let swapped = swap(self.repository(), movement, lock, |tree| {
                let begun = Finishing {
                    how: plan.how,
                    into: plan.into.clone(),
                    head: head.to_owned(),
                    from: tip.clone(),
                    to: commit.clone(),
                    tree: tree.map(ToOwned::to_owned),
                };
                self.change_record(|record| record.finishing = Some(begun))
            });
            match swapped.await? {
                Swap::Moved => {
                    self.record_finished(plan, head, Some(commit.clone()))?;
                    return Ok(Finished::Merged { commit });
                }
                Swap::Raced => {}
            }
        }
        Err(WorkspaceError::TargetKeepsMoving {
            branch: plan.into.clone(),
            times: ATTEMPTS,
        })
    }

    /// The commit that is finished: everything is committed, on our branch.
    pub(crate) async fn finishable(&self) -> Result<String, WorkspaceError> {
        self.expect_on_branch().await?;
        let files = self.changes().await?.all();
        if !files.is_empty() {
            return Err(WorkspaceError::Uncommitted {
                path: self.path().to_owned(),
                files,
            });
        }
        self.head().await
    }

    /// The commit of the target that already has the work: by a finish that was
    /// interrupted after the target had moved, or by somebody else.
    async fn commit_in_target(
        &self,
        plan: &FinishPlan,
        head: &str,
        record: Record,
    ) -> Result<Option<String>, WorkspaceError> {
        let tip = self.target_tip(&plan.into).await?;
        let begun = record
            .finishing
            .filter(|f| f.head == head && f.into == plan.into);
        let done = record
            .finished
            .filter(|f| f.head == head && f.into == plan.into);
        let results = [begun.map(|f| f.to), done.and_then(|f| f.commit)];
        for result in results.into_iter().flatten() {
            if self.repository().is_ancestor(&result, &tip).await? {
                return Ok(Some(result));
            }
        }
        let there = self.repository().is_ancestor(head, &tip).await?;
        Ok(there.then_some(tip))
    }

    pub(crate) async fn target_tip(&self, into: &str) -> Result<String, WorkspaceError> {
        let tip = self.repository().branch_tip(into).await?;
        tip.ok_or_else(|| WorkspaceError::NoSuchTarget(into.to_owned()))
    }

    async fn compute_result(
        &self,
        plan: &FinishPlan,
        tip: &str,
        head: &str,
    ) -> Result<MergeOutcome, WorkspaceError> {
        match plan.how {
            Finish::Rebase => self.rebase(tip, head).await,
            Finish::Squash => self.merge(plan, &[tip], tip, head).await,
            _ => self.merge(plan, &[tip, head], tip, head).await,
        }
    }

    fn record_finished(
        &self,
        plan: &FinishPlan,
        head: &str,
        commit: Option<String>,
    ) -> Result<(), WorkspaceError> {
        let done = FinishRecord {
            how: plan.how,
            into: plan.into.clone(),
            head: head.to_owned(),
            commit,
        };
        self.change_record(|record| {
            record.finishing = None;
            record.finished = Some(done);
        })
    }
}

impl Repository {
    /// What the finish of work would do whose worktree is gone: worked out from the
    /// branch it left, and no worktree is made for that.
    pub async fn preview_finish(
        &self,
        branch: &str,
        base_commit: &str,
        plan: &FinishPlan,
    ) -> Result<FinishPreview, WorkspaceError> {
        let head = self.branch_tip(branch).await?;
        let head = head.ok_or_else(|| WorkspaceError::NoSuchTarget(branch.to_owned()))?;
        let record = Record::new(branch, None, base_commit);
        // It stands in the repository, where git can be asked the same of commits.
        let (path, admin) = (self.path().to_owned(), self.common_dir().to_owned());
        let stand_in = Worktree::of(self.clone(), path, admin, record.clone());
        stand_in.preview_at(plan, &head, record).await
    }
}
