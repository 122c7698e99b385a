//! Taking in what the target has become meanwhile, so that what is checked is
//! what the target will be. The merge that this takes is left out again when the
//! work is brought back: the history of the target shows the work alone.

use std::path::PathBuf;

use crate::error::WorkspaceError;
use crate::finish::Outcome;
use crate::worktree::Worktree;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenIn {
    /// What is in the worktree was all there was to take in: it can be finished.
    Nothing,
    /// The worktree has both now, at this commit.
    Merged { commit: String },
    /// Both sides changed these files; nothing was done.
    Conflict { files: Vec<PathBuf> },
}

/// By this a merge is known that is left out again.
const SUBJECT: &str = "Take in what others did meanwhile";

impl Worktree {
    /// Merges the branch the work goes into into the worktree, where that brings
    /// anything. Uncommitted changes are refused.
    pub async fn take_in(&self, target: &str) -> Result<TakenIn, WorkspaceError> {
        self.expect_settled()?;
        let mut head = self.finishable().await?;
        let tip = self.target_tip(target).await?;
        if let Some((work, taken)) = self.taken_before(&head).await? {
            let asked = self.call("leave out what was taken in");
            asked
                .args(["reset", "--quiet", "--hard", &work])
                .output()
                .await?;
            if taken == tip {
                return Ok(TakenIn::Nothing);
            }
            head = work;
        }
        let has_it = self.repository().is_ancestor(&tip, &head).await?;
        if has_it || head == self.base_commit() {
            return Ok(TakenIn::Nothing);
        }
        if let Outcome::Conflict(files) = self.merged_tree(&head, &tip).await? {
            return Ok(TakenIn::Conflict { files });
        }
        let asked = self.identified(self.call("take in the target")).await?;
        let asked = asked.args(["merge", "--quiet", "--no-ff", "--no-verify"]);
        asked.args(["-m", SUBJECT, &tip]).output().await?;
        let commit = self.head().await?;
        Ok(TakenIn::Merged { commit })
    }

    /// The work and what it was put together with, if that is what this commit
    /// did. What somebody built upon it stays.
    async fn taken_before(&self, head: &str) -> Result<Option<(String, String)>, WorkspaceError> {
        let asked = self.call("look at the last commit");
        let said = asked
            .args(["log", "-1", "--format=%P%n%s", head])
            .text()
            .await?;
        let (parents, subject) = said.split_once('\n').unwrap_or((&said, ""));
        let mut parents = parents.split_whitespace();
        let both = (parents.next(), parents.next(), parents.next());
        Ok(match both {
            (Some(work), Some(taken), None) if subject.trim() == SUBJECT => {
                Some((work.to_owned(), taken.to_owned()))
            }
            _ => None,
        })
    }
}
