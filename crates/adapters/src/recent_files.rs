//! The newest files of a folder, within bounds.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// At most this many files are looked at for a conversation.
const MOST_FILES: usize = 200;

/// At most so many entries of folders are looked at in one go.
const MOST_ENTRIES: usize = 100_000;

pub(crate) struct RecentFile {
    pub(crate) path: PathBuf,
    pub(crate) modified: SystemTime,
    pub(crate) size: u64,
}

/// The newest files below `folder`, down to `depth` folders, whose name is wanted.
pub(crate) fn recent_files(
    folder: &Path,
    depth: usize,
    wanted: impl Fn(&str) -> bool,
) -> Vec<RecentFile> {
    newest_files(folder, depth, MOST_FILES, wanted)
}

pub(crate) fn newest_files(
    folder: &Path,
    depth: usize,
    most: usize,
    wanted: impl Fn(&str) -> bool,
) -> Vec<RecentFile> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    let mut entries = 0;
    while let Some((folder, level)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                folders.clear();
                break;
            }
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if found.is_dir() && level < depth {
                folders.push((entry.path(), level + 1));
            } else if found.is_file() && entry.file_name().to_str().is_some_and(&wanted) {
                files.push(RecentFile {
                    path: entry.path(),
                    modified: found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    size: found.len(),
                });
            }
        }
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.modified));
    files.truncate(most);
    files
}
