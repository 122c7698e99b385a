//! Handing work over as a file.

use std::path::PathBuf;

use crate::error::WorkspaceError;
use crate::record::{beside, replace};
use crate::worktree::Worktree;

/// Whatever the person has set, a patch looks the same and can be applied.
const PLAIN: [&str; 6] = [
    "--binary",
    "--full-index",
    "--no-ext-diff",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

impl Worktree {
    /// Writes what `head` has and `target` has not beside the worktree: one mail
    /// per commit, for `git am`; or, if there are merges among them, which mails
    /// cannot carry, one difference for `git apply`.
    pub(crate) async fn write_patch(
        &self,
        target: &str,
        head: &str,
    ) -> Result<PathBuf, WorkspaceError> {
        let asked = self.call("find where the work began");
        let began = asked.args(["merge-base", target, head]).text().await?;
        let range = format!("{began}..{head}");
        let asked = self
            .call("look for merges")
            .args(["rev-list", "--merges", "-n1"]);
        let has_merges = !asked.args([&range]).output().await?.is_empty();
        let asked = self.call("write the patch");
        let patch = if has_merges {
            let asked = asked.args(["diff", "--no-renames"]).args(PLAIN);
            asked.args([&began, head]).output().await?
        } else {
            let asked = asked.args(["format-patch", "--stdout", "--no-signature", "--no-attach"]);
            let asked = asked.args(["--no-thread", "--no-cover-letter", "--no-renames"]);
            asked.args(PLAIN).args([&range]).output().await?
        };
        let path = beside(self.path(), ".patch");
        replace(&path, &patch)?;
        Ok(path)
    }
}
