//! The folder an agent works in, and the repository it lies in.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use missiond_codemap::Checkout;
use missiond_core::Timestamp;

/// Folders that are looked at on the way up.
const HIGHEST: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkingDirectory {
    /// Without links in its path.
    pub cwd: PathBuf,
    /// The checkout it lies in; the folder itself without git.
    pub root: PathBuf,
    /// The repository's own folder: of a worktree, the one it was made from.
    pub main: PathBuf,
    pub git: bool,
    pub branch: Option<String>,
}

impl WorkingDirectory {
    /// Blocks.
    pub(super) fn of(cwd: &Path) -> Result<Self, String> {
        let checkout = Checkout::of(cwd).map_err(|error| error.to_string())?;
        let cwd = cwd.canonicalize().map_err(|error| error.to_string())?;
        let main = match checkout.family.parent() {
            Some(parent) if checkout.git && checkout.family.ends_with(".git") => parent.to_owned(),
            _ => checkout.root.clone(),
        };
        Ok(Self {
            branch: checkout.git.then(|| branch(&checkout.root)).flatten(),
            cwd,
            main,
            git: checkout.git,
            root: checkout.root,
        })
    }

    /// What the project is called: what entries of it have as their scope.
    pub(super) fn project(&self) -> Option<String> {
        let name = self.main.file_name()?;
        Some(name.to_str()?.to_owned())
    }

    /// From the folder up to the root of its checkout.
    pub(super) fn upwards(&self) -> Vec<&Path> {
        let mut folders = Vec::new();
        for folder in self.cwd.ancestors().take(HIGHEST) {
            folders.push(folder);
            if folder == self.root {
                break;
            }
        }
        folders
    }

    /// A path as people say it: from the root of the checkout where it is below it.
    pub(super) fn relative(&self, path: &Path) -> String {
        let short = path.strip_prefix(&self.root).unwrap_or(path);
        short.display().to_string()
    }
}

/// The branch that is checked out; nothing for a bare commit.
fn branch(root: &Path) -> Option<String> {
    const LONGEST: usize = 4096;
    let dot_git = root.join(".git");
    let folder = if dot_git.is_dir() {
        dot_git
    } else {
        let named = read_bounded(&dot_git, LONGEST).ok()?;
        root.join(named.strip_prefix("gitdir:")?.trim())
    };
    let head = read_bounded(&folder.join("HEAD"), LONGEST).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(branch.to_owned())
}

/// The text of a plain file, if it is no longer than this. A pipe that nobody
/// writes to, or a device, is no plain file.
pub(super) fn read_bounded(path: &Path, most: usize) -> Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = file.take(most as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() > most {
        return Err(format!("it is larger than {most} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// When a file was last changed.
pub(super) fn changed_at(path: &Path) -> Option<Timestamp> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let micros = i64::try_from(since.as_micros()).ok()?;
    Some(Timestamp::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_knows_its_branch_and_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let main = folder.path().canonicalize().unwrap().join("app");
        let git = main.join(".git/worktrees/w");
        std::fs::create_dir_all(&git).unwrap();
        std::fs::write(main.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/mission/T-1\n").unwrap();
        std::fs::write(git.join("commondir"), "../..\n").unwrap();
        let worktree = folder.path().canonicalize().unwrap().join("w");
        std::fs::create_dir_all(worktree.join("src")).unwrap();
        let link = format!("gitdir: {}\n", git.display());
        std::fs::write(worktree.join(".git"), link).unwrap();
        let directory = WorkingDirectory::of(&worktree.join("src")).unwrap();
        assert_eq!(directory.branch.as_deref(), Some("mission/T-1"));
        assert_eq!(directory.main, main);
        assert_eq!(directory.project().as_deref(), Some("app"));
        assert_eq!(
            directory.upwards(),
            [worktree.join("src"), worktree.clone()]
        );
        let home = WorkingDirectory::of(&main).unwrap();
        assert_eq!(home.branch.as_deref(), Some("main"));
        assert_eq!(home.main, main);
    }

    #[test]
    fn only_plain_text_within_bounds_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, "0123456789").unwrap();
        assert_eq!(read_bounded(&file, 10).as_deref(), Ok("0123456789"));
        assert!(read_bounded(&file, 9).unwrap_err().contains("larger"));
        std::fs::write(&file, b"\xff\xfe").unwrap();
        assert!(read_bounded(&file, 9).unwrap_err().contains("UTF-8"));
        assert!(
            read_bounded(folder.path(), 9)
                .unwrap_err()
                .contains("not a file")
        );
    }
}
