//! Files that git ignores and a worktree still needs, such as `.env`.
//!
//! `.worktreeinclude` in the checkout names them, with the patterns of
//! `.gitignore`. Only files that git ignores are copied, never over one that is
//! there; no link is followed on either side, so nothing from outside the
//! checkout is read and nothing outside the worktree is written.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::WorkspaceError;
use crate::git::{Git, paths};

const LIST: &str = ".worktreeinclude";
const MOST_FILES: usize = 50_000;
const MOST_BYTES: u64 = 2 << 30;

/// Copies what the list in `checkout` names into `worktree`.
pub(crate) async fn copy_included(
    git: &Git,
    checkout: &Path,
    worktree: &Path,
) -> Result<(), WorkspaceError> {
    let list = checkout.join(LIST);
    match list.symlink_metadata() {
        Ok(found) if found.is_file() => {}
        _ => return Ok(()),
    }
    let named = included_files(git, checkout).await?;
    if named.len() > MOST_FILES {
        return Err(WorkspaceError::TooMuchIncluded {
            list,
            what: format!("{} files, more than {MOST_FILES}", named.len()),
        });
    }
    let (from, to) = (checkout.to_owned(), worktree.to_owned());
    let copied = tokio::task::spawn_blocking(move || copy(&list, &from, &to, &named)).await;
    copied.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// Files that match the list and that git ignores.
async fn included_files(git: &Git, checkout: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
    let command = git.call(checkout, "find the files of .worktreeinclude");
    let command = command.args(["ls-files", "-z", "--others", "--ignored"]);
    let named = command
        .args([format!("--exclude-from={LIST}")])
        .output()
        .await?;
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let command = git.call(checkout, "ask which files are ignored");
    let answer = command
        .args(["check-ignore", "-z", "--stdin"])
        .input(named)
        .run()
        .await?;
    match answer.code {
        Some(0) => Ok(paths(&answer.output)),
        Some(1) => Ok(Vec::new()),
        _ => Err(answer.failure()),
    }
}

fn copy(list: &Path, from: &Path, to: &Path, named: &[PathBuf]) -> Result<(), WorkspaceError> {
    let source = open_folder(from).map_err(io(from))?;
    let target = open_folder(to).map_err(io(to))?;
    let mut bytes = 0;
    for path in named {
        let copied = copy_file(&source, &target, path).map_err(io(&from.join(path)))?;
        bytes += copied.unwrap_or(0);
        if copied.is_none() {
            tracing::warn!(file = %path.display(), "included file not copied: not a plain file");
        }
        if bytes > MOST_BYTES {
            return Err(WorkspaceError::TooMuchIncluded {
                list: list.to_owned(),
                what: format!("more than {} GB", MOST_BYTES >> 30),
            });
        }
    }
    Ok(())
}

/// How many bytes were copied; nothing when it is not a plain file all the way.
fn copy_file(source: &OwnedFd, target: &OwnedFd, path: &Path) -> Result<Option<u64>, Errno> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let Some(from) = walk(source, parent, Missing::IsMissing)? else {
        return Ok(None);
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::openat(&from, name, flags, Mode::empty()) {
        Ok(file) => file,
        // A link, a socket, or gone since it was listed.
        Err(Errno::LOOP | Errno::NXIO | Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error),
    };
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let Some(to) = walk(target, parent, Missing::IsMade)? else {
        return Ok(None);
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Never more than the person gave it, and the worktree's owner can read it.
    let mode = Mode::from_raw_mode((stat.st_mode & 0o777) | 0o600);
    let copy = match rustix::fs::openat(&to, name, flags, mode) {
        Ok(copy) => copy,
        Err(Errno::EXIST) => return Ok(Some(0)),
        Err(error) => return Err(error),
    };
    let copied = std::io::copy(&mut File::from(file), &mut File::from(copy));
    copied
        .map(Some)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    IsMissing,
    IsMade,
}

/// The folder at `path` below `root`, through real folders only.
fn walk(root: &OwnedFd, path: &Path, missing: Missing) -> Result<Option<OwnedFd>, Errno> {
    let mut folder = root.try_clone().map_err(|_| Errno::MFILE)?;
    for component in path.components() {
        let Component::Normal(name) = component else {
            return Ok(None);
        };
        if missing == Missing::IsMade {
            match rustix::fs::mkdirat(&folder, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        folder = match rustix::fs::openat(&folder, name, folder_flags(), Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error),
        };
    }
    Ok(Some(folder))
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(
        CWD,
        path.as_os_str().as_bytes(),
        folder_flags(),
        Mode::empty(),
    )
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn io(path: &Path) -> impl FnOnce(Errno) -> WorkspaceError + '_ {
    move |error| WorkspaceError::io(path)(error.into())
}
