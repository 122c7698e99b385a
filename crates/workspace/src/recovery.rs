//! Undoing a move of a checkout that was cut off.
//!
//! Git writes the files of a checkout first and moves the branch last. A git that
//! is killed in between leaves files of the new commit under the old one, which
//! look like changes of the person. They are put back, but only when every single
//! one of them is what the move would have written: anything else is the
//! person's, and then all is left as it is.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::index_lock;
use crate::record::Finishing;
use crate::repository::{Repository, branch_of};
use crate::status::{Changes, changes};
use crate::target::git_folder;

/// What the new commit has at a path; nothing when it deletes it.
type Incoming = BTreeMap<PathBuf, Option<Blob>>;

struct Blob {
    id: String,
    is_link: bool,
}

pub(crate) async fn undo_interrupted_move(
    repository: &Repository,
    begun: &Finishing,
) -> Result<(), WorkspaceError> {
    let Some(tree) = begun.tree.as_deref().filter(|tree| tree.is_dir()) else {
        return Ok(());
    };
    let on_branch = branch_of(repository.git(), tree).await?.as_ref() == Some(&begun.into);
    let unmoved = repository.branch_tip(&begun.into).await?.as_ref() == Some(&begun.from);
    if !on_branch || !unmoved {
        return Ok(());
    }
    if !index_lock::clear(&git_folder(repository, tree).await?, tree) {
        return Ok(());
    }
    let found = changes(repository.git(), tree).await?;
    let incoming = incoming(repository, begun).await?;
    for path in found.changed.iter().chain(&found.untracked) {
        // New files beside those of the move are the person's, and in nobody's way.
        if !incoming.contains_key(path) && found.untracked.contains(path) {
            continue;
        }
        if !was_written_by_move(repository, tree, path, &incoming).await? {
            return Ok(());
        }
    }
    put_back(repository, begun, tree, &found, &incoming).await
}

async fn incoming(repository: &Repository, begun: &Finishing) -> Result<Incoming, WorkspaceError> {
    let command = repository.call("compare two commits");
    let command = command.args(["diff-tree", "-r", "-z", "--raw", "--no-renames"]);
    let output = command.args([&begun.from, &begun.to]).output().await?;
    let mut fields = output.split(|byte| *byte == 0);
    let mut incoming = Incoming::new();
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        let facts = String::from_utf8_lossy(facts).into_owned();
        // `:old-mode new-mode old-id new-id status`
        let facts: Vec<&str> = facts.split(' ').collect();
        let [_, mode, _, id, _] = facts[..] else {
            break;
        };
        let blob = (mode != "000000").then(|| Blob {
            id: id.to_owned(),
            is_link: mode == "120000",
        });
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        incoming.insert(path.to_owned(), blob);
    }
    Ok(incoming)
}

/// Gone, complete, or cut off: each is a moment of writing the file anew.
async fn was_written_by_move(
    repository: &Repository,
    tree: &Path,
    path: &Path,
    incoming: &Incoming,
) -> Result<bool, WorkspaceError> {
    let Some(blob) = incoming.get(path) else {
        return Ok(false);
    };
    let file = tree.join(path);
    let Ok(found) = file.symlink_metadata() else {
        return Ok(true);
    };
    let Some(blob) = blob else {
        return Ok(false);
    };
    let command = repository.git().call(tree, "read a file of a commit");
    if found.is_symlink() != blob.is_link {
        return Ok(false);
    }
    if blob.is_link {
        let target = std::fs::read_link(&file).map_err(WorkspaceError::io(&file))?;
        let new = command
            .args(["cat-file", "blob", &blob.id])
            .output()
            .await?;
        return Ok(target.as_os_str().as_bytes() == new);
    }
    let mut named = std::ffi::OsString::from("--path=");
    named.push(path);
    let command = command.args(["cat-file", "--filters"]).arg(named);
    let new = command.args([&blob.id]).output().await?;
    let content = std::fs::read(&file).map_err(WorkspaceError::io(&file))?;
    Ok(new.starts_with(&content))
}

async fn put_back(
    repository: &Repository,
    begun: &Finishing,
    tree: &Path,
    found: &Changes,
    incoming: &Incoming,
) -> Result<(), WorkspaceError> {
    let added = found
        .untracked
        .iter()
        .filter(|path| incoming.contains_key(*path));
    for path in added {
        let file = tree.join(path);
        std::fs::remove_file(&file).map_err(WorkspaceError::io(&file))?;
        // Folders that were made for it go too; one that is not empty stays.
        let folders = path
            .ancestors()
            .skip(1)
            .filter(|folder| !folder.as_os_str().is_empty());
        for folder in folders {
            if std::fs::remove_dir(tree.join(folder)).is_err() {
                break;
            }
        }
    }
    if found.changed.is_empty() {
        return Ok(());
    }
    let source = format!("--source={}", begun.from);
    let command = repository.git().call(tree, "put back files of the target");
    let command = command.args(["restore", "--staged", "--worktree", "--quiet", &source]);
    command.only_paths(&found.changed).output().await.map(drop)
}
