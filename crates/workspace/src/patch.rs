//! Handing work over as a file.

use std::path::PathBuf;

use crate::error::WorkspaceError;
use crate::record::{replace, sibling_path};
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
        let command = self.call("find where the work began");
        let began = command.args(["merge-base", target, head]).text().await?;
        let range = format!("{began}..{head}");
        let command = self
            .call("look for merges")
            .args(["rev-list", "--merges", "-n1"]);
        let has_merges = !command.args([&range]).output().await?.is_empty();
        let command = self.call("write the patch");
        let patch = if has_merges {
            let command = command.args(["diff", "--no-renames"]).args(PLAIN);
            command.args([&began, head]).output().await?
        } else {
            let command =
                command.args(["format-patch", "--stdout", "--no-signature", "--no-attach"]);
            let command = command.args(["--no-thread", "--no-cover-letter", "--no-renames"]);
            command.args(PLAIN).args([&range]).output().await?
        };
        let path = sibling_path(self.path(), ".patch");
        replace(&path, &patch)?;
        Ok(path)
    }
}
