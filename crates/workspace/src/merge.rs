//! Merging without a checkout.

use crate::error::WorkspaceError;
use crate::finish::{FinishPlan, Outcome};
use crate::git::paths;
use crate::worktree::Worktree;

impl Worktree {
    /// A merge commit of the target and the work.
    pub(crate) async fn merged(
        &self,
        plan: &FinishPlan,
        tip: &str,
        head: &str,
    ) -> Result<Outcome, WorkspaceError> {
        let tree = match self.merged_tree(tip, head).await? {
            Outcome::At(tree) => tree,
            conflict @ Outcome::Conflict(_) => return Ok(conflict),
        };
        let message = match &plan.message {
            Some(message) => message.clone(),
            None => format!("Merge branch '{}'", self.branch()),
        };
        let asked = self.identified(self.call("make the merge commit")).await?;
        let asked = asked.args(["commit-tree", &tree, "-p", tip, "-p", head, "-F", "-"]);
        Ok(Outcome::At(asked.input(message).text().await?))
    }

    /// The tree of both commits together, or the files that are in conflict.
    pub(crate) async fn merged_tree(
        &self,
        ours: &str,
        theirs: &str,
    ) -> Result<Outcome, WorkspaceError> {
        // In the worktree, whose attributes say how its files are merged.
        let asked = self
            .call("merge")
            .args(["merge-tree", "--write-tree", "-z"]);
        let asked = asked.args(["--name-only", "--no-messages", ours, theirs]);
        let answer = asked.answer().await?;
        let conflict = match answer.code {
            Some(0) => false,
            Some(1) => true,
            _ => return Err(answer.failure()),
        };
        let mut said = answer.output.splitn(2, |byte| *byte == 0);
        let tree = said.next().unwrap_or_default();
        if conflict {
            let mut files = paths(said.next().unwrap_or_default());
            files.dedup();
            return Ok(Outcome::Conflict(files));
        }
        let tree = String::from_utf8_lossy(tree).trim().to_owned();
        Ok(Outcome::At(tree))
    }
}
