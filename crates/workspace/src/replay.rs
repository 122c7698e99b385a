//! Rebasing without a checkout: each commit is applied to the target in turn.
//!
//! Author, message and order stay; merges on the way and commits that bring
//! nothing new any more are left out. Work that already stands on the target is
//! taken as it is, merges included, because there is nothing to move.

use crate::error::WorkspaceError;
use crate::finish::MergeOutcome;
use crate::worktree::Worktree;

impl Worktree {
    /// The work on top of the target.
    pub(crate) async fn rebase(
        &self,
        tip: &str,
        head: &str,
    ) -> Result<MergeOutcome, WorkspaceError> {
        if self.repository().is_ancestor(tip, head).await? {
            return Ok(MergeOutcome::At(head.to_owned()));
        }
        let command = self.call("list the commits to move");
        let command = command.args(["rev-list", "--reverse", "--topo-order", "--no-merges"]);
        let commits = command.args([head, "--not", tip]).text().await?;
        let mut at = tip.to_owned();
        for commit in commits.lines() {
            match self.cherry_pick(&at, commit).await? {
                MergeOutcome::At(next) => at = next,
                conflict @ MergeOutcome::Conflict(_) => return Ok(conflict),
            }
        }
        Ok(MergeOutcome::At(at))
    }

    /// `commit`, with `at` as its parent.
    async fn cherry_pick(&self, at: &str, commit: &str) -> Result<MergeOutcome, WorkspaceError> {
        let command = self
            .call("read a commit")
            .args(["cat-file", "commit", commit]);
        let original = command.output().await?;
        let own_tree = self.tree(commit).await?;
        let parent_tree = match header(&original, b"parent ") {
            Some(_) => self.tree(&format!("{commit}^1")).await?,
            None => self.empty_tree().await?,
        };
        let at_tree = self.tree(at).await?;
        // Stand-ins whose common ancestor is what the commit started from: that
        // makes a merge of the two the application of its change.
        let before = self.placeholder_commit(&parent_tree, None).await?;
        let ours = self.placeholder_commit(&at_tree, Some(&before)).await?;
        let theirs = self.placeholder_commit(&own_tree, Some(&before)).await?;
        let tree = match self.merged_tree(&ours, &theirs).await? {
            MergeOutcome::At(tree) => tree,
            conflict @ MergeOutcome::Conflict(_) => return Ok(conflict),
        };
        if tree == at_tree && own_tree != parent_tree {
            return Ok(MergeOutcome::At(at.to_owned()));
        }
        let copy = self.copy_commit(&original, &tree, at).await?;
        Ok(MergeOutcome::At(copy))
    }

    /// The same commit with another tree and parent, byte for byte otherwise; a
    /// signature would not be true any more and is left out.
    async fn copy_commit(
        &self,
        original: &[u8],
        tree: &str,
        parent: &str,
    ) -> Result<String, WorkspaceError> {
        let command = self.identified(self.call("say who commits")).await?;
        let committer = command.args(["var", "GIT_COMMITTER_IDENT"]).text().await?;
        let mut copy = format!("tree {tree}\nparent {parent}\n").into_bytes();
        copy.extend_from_slice(header(original, b"author ").unwrap_or_default());
        copy.extend_from_slice(format!("\ncommitter {committer}\n").as_bytes());
        if let Some(encoding) = header(original, b"encoding ") {
            copy.extend_from_slice(encoding);
            copy.push(b'\n');
        }
        let message = original.windows(2).position(|pair| pair == b"\n\n");
        copy.extend_from_slice(&original[message.map_or(original.len(), |at| at + 1)..]);
        let command = self.call("write a commit");
        let command = command.args(["hash-object", "-t", "commit", "-w", "--stdin"]);
        command.input(copy).text().await
    }

    async fn placeholder_commit(
        &self,
        tree: &str,
        parent: Option<&str>,
    ) -> Result<String, WorkspaceError> {
        let mut command = self.call("prepare a merge").args(["commit-tree", tree]);
        if let Some(parent) = parent {
            command = command.args(["-p", parent]);
        }
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            command = command.variable(name, "stand-in");
        }
        for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            command = command.variable(name, "stand-in@localhost");
        }
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command = command.variable(name, "@1 +0000");
        }
        command.input("stand-in").text().await
    }

    async fn tree(&self, commit: &str) -> Result<String, WorkspaceError> {
        let command = self.call("read a commit").args(["rev-parse", "--verify"]);
        command.arg(format!("{commit}^{{tree}}")).text().await
    }

    async fn empty_tree(&self) -> Result<String, WorkspaceError> {
        self.call("make an empty tree")
            .args(["mktree"])
            .text()
            .await
    }
}

/// The whole line of a header, before the message begins.
fn header<'a>(commit: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut lines = commit
        .split(|byte| *byte == b'\n')
        .take_while(|line| !line.is_empty());
    lines.find(|line| line.starts_with(name))
}
