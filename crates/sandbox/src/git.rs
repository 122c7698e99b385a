//! What of a git directory a program needs that works in one of its worktrees: it may add
//! objects, move branches and keep its own worktree's files. The configuration, hooks and
//! attributes are the person's, because git runs what stands in them; other worktrees are
//! other agents'.

use std::fs;
use std::path::{Path, PathBuf};

use crate::wall::{Entry, Kind};

/// Written by every commit.
const WRITTEN: [&str; 4] = ["lfs", "logs", "objects", "refs"];
/// Of the files of one worktree, those that say where the others are.
const POINTERS: [&str; 3] = ["commondir", "config.worktree", "gitdir"];

/// The entries for the repository a folder is in; none when it is in none.
pub(crate) fn entries(folder: &Path) -> Vec<Entry> {
    let found = folder.ancestors().map(|above| above.join(".git"));
    let Some(link) = found.into_iter().find(|one| one.symlink_metadata().is_ok()) else {
        return Vec::new();
    };
    let Some(own) = directory_of(&link) else {
        return Vec::new();
    };
    let common = common_of(&own);
    let mut entries = vec![Entry::new(&common, Kind::Read)];
    for name in WRITTEN {
        push_existing(&mut entries, common.join(name), Kind::Write);
    }
    for alternate in alternates(&common) {
        push_existing(&mut entries, alternate, Kind::Read);
    }
    push_existing(&mut entries, common.join("worktrees"), Kind::Hidden);
    if own != common {
        entries.push(Entry::new(&own, Kind::Write));
        for name in POINTERS {
            push_existing(&mut entries, own.join(name), Kind::Read);
        }
    }
    // A file that names the directory must go on naming it.
    if link.is_file() {
        entries.push(Entry::new(link, Kind::Read));
    }
    entries
}

/// What is not there cannot be shown, and a link may lead anywhere.
fn push_existing(entries: &mut Vec<Entry>, path: PathBuf, kind: Kind) {
    if path.canonicalize().is_ok_and(|found| found == path) {
        entries.push(Entry::new(path, kind));
    }
}

fn directory_of(link: &Path) -> Option<PathBuf> {
    if link.is_dir() {
        return link.canonicalize().ok();
    }
    let text = fs::read_to_string(link).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    link.parent()?.join(named).canonicalize().ok()
}

fn common_of(own: &Path) -> PathBuf {
    let named = fs::read_to_string(own.join("commondir")).ok();
    let common = named.and_then(|named| own.join(named.trim()).canonicalize().ok());
    common.unwrap_or_else(|| own.to_owned())
}

fn alternates(common: &Path) -> Vec<PathBuf> {
    let objects = common.join("objects");
    let text = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    let named = text.lines().filter(|line| !line.is_empty());
    let folders = named.filter_map(|line| objects.join(line).canonicalize().ok());
    // Only a folder of objects: the file may be an agent's.
    folders
        .filter(|folder| folder.ends_with("objects"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_sees_its_own_files_and_what_commits_need() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let common = top.join("main/.git");
        let own = common.join("worktrees/one");
        for made in [
            "objects",
            "refs",
            "hooks",
            "worktrees/one",
            "worktrees/other",
        ] {
            fs::create_dir_all(common.join(made)).unwrap();
        }
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let worktree = top.join("elsewhere/one");
        fs::create_dir_all(worktree.join("deep/down")).unwrap();
        let pointer = format!("gitdir: {}\n", own.display());
        fs::write(worktree.join(".git"), pointer).unwrap();
        let expected = vec![
            Entry::new(&common, Kind::Read),
            Entry::new(common.join("objects"), Kind::Write),
            Entry::new(common.join("refs"), Kind::Write),
            Entry::new(common.join("worktrees"), Kind::Hidden),
            Entry::new(&own, Kind::Write),
            Entry::new(own.join("commondir"), Kind::Read),
            Entry::new(worktree.join(".git"), Kind::Read),
        ];
        assert_eq!(entries(&worktree.join("deep/down")), expected);
        assert_eq!(entries(&top), Vec::new());
    }
}
