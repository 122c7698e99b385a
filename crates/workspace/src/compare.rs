//! What two commits differ in, and what the repository's own configuration would have a
//! git run: what whoever takes work over wants to know before.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;

use crate::error::WorkspaceError;
use crate::repository_programs::Listing;
use crate::worktree::Worktree;

/// Files that define a check are read by people; a larger one is compared as a whole.
const MOST_TEXT: usize = 1 << 20;
const MOST_HOOKS: usize = 1_000;

impl Worktree {
    /// The paths in which two commits differ; what was renamed is there under both names.
    pub async fn changed_paths(&self, from: &str, to: &str) -> Result<Vec<String>, WorkspaceError> {
        let command = self.call("compare two commits");
        let command = command.args(["diff-tree", "-r", "-z", "--name-only", "--no-renames"]);
        let output = command.args([from, to]).output().await?;
        let paths = output
            .split(|&byte| byte == 0)
            .filter(|path| !path.is_empty());
        Ok(paths
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect())
    }

    /// The text of a file in a commit; nothing when it is not there, is no text or is large.
    pub async fn text_at(
        &self,
        commit: &str,
        path: &str,
    ) -> Result<Option<String>, WorkspaceError> {
        let command = self.call("read a file of a commit");
        let file = format!("{commit}:{path}");
        let command = command.args(["cat-file", "blob", &file]);
        let answer = command.at_most(MOST_TEXT + 1).run().await?;
        let is_whole = answer.code == Some(0) && answer.output.len() <= MOST_TEXT;
        Ok(is_whole
            .then(|| String::from_utf8(answer.output).ok())
            .flatten())
    }

    /// Whether a path is a file in a commit.
    pub async fn has_file(&self, commit: &str, path: &str) -> Result<bool, WorkspaceError> {
        let command = self.call("look for a file in a commit");
        let file = format!("{commit}:{path}");
        let answer = command.args(["cat-file", "-t", &file]).run().await?;
        Ok(answer.code == Some(0) && answer.output.starts_with(b"blob"))
    }

    /// What the configuration of the repository and its hooks would run, each under the
    /// name people know it by, with what tells it from another.
    pub async fn programs(&self) -> Result<BTreeSet<(String, u64)>, WorkspaceError> {
        let command = self.call("list its settings");
        let command = command.args(["config", "--list", "--show-scope", "--includes", "-z"]);
        let listed = Listing::parse(&command.output().await?);
        let settings = listed.programs().into_iter().map(|setting| {
            let key = setting.split('=').next().unwrap_or_default().to_owned();
            (key, hash(setting.as_bytes()))
        });
        let hooks = hooks(&self.repository().common_dir().join("hooks"));
        Ok(settings.chain(hooks).collect())
    }
}

fn hooks(folder: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let hooks = entries.take(MOST_HOOKS).filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_file = entry.file_type().ok()?.is_file();
        if name.ends_with(".sample") || !is_file {
            return None;
        }
        let mut text = Vec::new();
        let file = std::fs::File::open(entry.path()).ok()?;
        file.take(MOST_TEXT as u64).read_to_end(&mut text).ok()?;
        Some((format!("the hook {name}"), hash(&text)))
    });
    hooks.collect()
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
