//! The worktrees of a repository, as git lists them, and which of them are ours.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::record::Record;
use crate::repository::{Repository, worktree_path_of};

/// One worktree of git's own list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeEntry {
    pub path: PathBuf,
    /// The commit it is at; nothing for a bare repository.
    pub head: Option<String>,
    /// Nothing when it is on no branch.
    pub branch: Option<String>,
    pub bare: bool,
    /// The folder exists.
    pub present: bool,
    /// Made by us, and so ours to finish and remove.
    pub ours: bool,
}

/// Every worktree of the repository, the person's own first.
pub async fn worktrees(repository: &Repository) -> Result<Vec<WorktreeEntry>, WorkspaceError> {
    let command = repository.call("list the worktrees");
    let output = command
        .args(["worktree", "list", "--porcelain", "-z"])
        .output()
        .await?;
    let mut listed = parse(&output);
    for worktree in &mut listed {
        worktree.present = worktree.path.exists();
        if let Some(admin) = admin_of(repository, &worktree.path)? {
            worktree.ours = Record::read(&admin)?.is_some();
        }
    }
    Ok(listed)
}

/// The folder git keeps for the linked worktree at this path, whether or not the
/// worktree itself is still there.
pub(crate) fn admin_of(
    repository: &Repository,
    path: &Path,
) -> Result<Option<PathBuf>, WorkspaceError> {
    let folder = repository.common_dir().join("worktrees");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(WorkspaceError::io(&folder)(error)),
    };
    for entry in entries {
        let admin = entry.map_err(WorkspaceError::io(&folder))?.path();
        if worktree_path_of(&admin).is_some_and(|found| is_same_path(&found, path)) {
            return Ok(Some(admin));
        }
    }
    Ok(None)
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn parse(output: &[u8]) -> Vec<WorktreeEntry> {
    let mut listed: Vec<WorktreeEntry> = Vec::new();
    for line in output.split(|byte| *byte == 0) {
        let (word, rest) = match line.iter().position(|byte| *byte == b' ') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        if word == b"worktree" {
            listed.push(WorktreeEntry {
                path: PathBuf::from(OsString::from_vec(rest.to_vec())),
                head: None,
                branch: None,
                bare: false,
                present: false,
                ours: false,
            });
            continue;
        }
        let Some(worktree) = listed.last_mut() else {
            continue;
        };
        let text = || String::from_utf8_lossy(rest).into_owned();
        match word {
            b"HEAD" => worktree.head = Some(text()),
            b"branch" => {
                let name = std::ffi::OsStr::from_bytes(rest).to_string_lossy();
                worktree.branch = name.strip_prefix("refs/heads/").map(str::to_owned);
            }
            b"bare" => worktree.bare = true,
            _ => {}
        }
    }
    listed
}
