//! Merging without a checkout.

use crate::error::WorkspaceError;
use crate::finish::{FinishPlan, MergeOutcome};
use crate::git::paths;
use crate::worktree::Worktree;

impl Worktree {
    /// One commit that has the target and the work, with these parents: both for a
    /// merge, the target alone for a squash.
    pub(crate) async fn merge(
        &self,
        plan: &FinishPlan,
        parents: &[&str],
        tip: &str,
        head: &str,
    ) -> Result<MergeOutcome, WorkspaceError> {
        let tree = match self.merged_tree(tip, head).await? {
            MergeOutcome::At(tree) => tree,
            conflict @ MergeOutcome::Conflict(_) => return Ok(conflict),
        };
        let message = match &plan.message {
            Some(message) => message.clone(),
            None => format!("Merge branch '{}'", self.branch()),
        };
        let command = self.identified(self.call("make the merge commit")).await?;
        let command = command.args(["commit-tree", &tree, "-F", "-"]);
        let command = command.args(parents.iter().flat_map(|parent| ["-p", parent]));
        Ok(MergeOutcome::At(command.input(message).text().await?))
    }

    /// The tree of both commits together, or the files that are in conflict.
    pub(crate) async fn merged_tree(
        &self,
        ours: &str,
        theirs: &str,
    ) -> Result<MergeOutcome, WorkspaceError> {
        // In the worktree, whose attributes say how its files are merged.
        let command = self
            .call("merge")
            .args(["merge-tree", "--write-tree", "-z"]);
        let command = command.args(["--name-only", "--no-messages", ours, theirs]);
        let answer = command.run().await?;
        let conflict = match answer.code {
            Some(0) => false,
            Some(1) => true,
            _ => return Err(answer.failure()),
        };
        let mut parts = answer.output.splitn(2, |byte| *byte == 0);
        let tree = parts.next().unwrap_or_default();
        if conflict {
            let mut files = paths(parts.next().unwrap_or_default());
            files.dedup();
            return Ok(MergeOutcome::Conflict(files));
        }
        let tree = String::from_utf8_lossy(tree).trim().to_owned();
        Ok(MergeOutcome::At(tree))
    }
}
