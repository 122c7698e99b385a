//! Merging what the target has become meanwhile into the worktree, so that what
//! is checked is what the target will be. The merge that this takes is left out again when the
//! work is brought back: the history of the target shows the work alone.

use std::path::PathBuf;

use crate::error::WorkspaceError;
use crate::finish::MergeOutcome;
use crate::worktree::Worktree;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetMerge {
    /// What is in the worktree was all there was to take in: it can be finished.
    UpToDate,
    /// The worktree has both now, at this commit.
    Merged { commit: String },
    /// Both sides changed these files; nothing was done.
    Conflict { files: Vec<PathBuf> },
}

/// By this a merge is known that is left out again.
const MERGE_SUBJECT: &str = "Take in what others did meanwhile";

impl Worktree {
    /// Merges the branch the work goes into into the worktree, where that brings
    /// anything. Uncommitted changes are refused.
    pub async fn merge_target(&self, target: &str) -> Result<TargetMerge, WorkspaceError> {
        self.expect_settled()?;
        let mut head = self.finishable().await?;
        let tip = self.target_tip(target).await?;
        if let Some((work, merged)) = self.target_merge_at(&head).await? {
            let command = self.call("leave out what was taken in");
            command
                .args(["reset", "--quiet", "--hard", &work])
                .output()
                .await?;
            if merged == tip {
                return Ok(TargetMerge::UpToDate);
            }
            head = work;
        }
        let has_it = self.repository().is_ancestor(&tip, &head).await?;
        if has_it || head == self.base_commit() {
            return Ok(TargetMerge::UpToDate);
        }
        if let MergeOutcome::Conflict(files) = self.merged_tree(&head, &tip).await? {
            return Ok(TargetMerge::Conflict { files });
        }
        let command = self.identified(self.call("take in the target")).await?;
        let command = command.args(["merge", "--quiet", "--no-ff", "--no-verify"]);
        command.args(["-m", MERGE_SUBJECT, &tip]).output().await?;
        let commit = self.head().await?;
        Ok(TargetMerge::Merged { commit })
    }

    /// The work and what it was put together with, if that is what this commit
    /// did. What somebody built upon it stays.
    async fn target_merge_at(
        &self,
        head: &str,
    ) -> Result<Option<(String, String)>, WorkspaceError> {
        let command = self.call("look at the last commit");
        let output = command
            .args(["log", "-1", "--format=%P%n%s", head])
            .text()
            .await?;
        let (parents, subject) = output.split_once('\n').unwrap_or((&output, ""));
        let mut parents = parents.split_whitespace();
        let both = (parents.next(), parents.next(), parents.next());
        Ok(match both {
            (Some(work), Some(merged), None) if subject.trim() == MERGE_SUBJECT => {
                Some((work.to_owned(), merged.to_owned()))
            }
            _ => None,
        })
    }
}
