//! Files that only their owner can read, and that are there whole or not at all.
//!
//! A file is replaced by writing a new one beside it and renaming that over it:
//! a reader, and whoever comes after a crash or a power loss, finds the old
//! bytes or the new ones. The new file is on disk before the name points to it,
//! and the name is on disk before the function returns.
//!
//! A crash in between leaves the temporary file, named `.<pid>-<number>.tmp`. It is
//! as private as the file it would have become, and no name a reader looks for.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// Makes a folder, and those above it that are missing, for its owner alone.
/// One that is there already stays as it is.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_DIR)
        .create(path)
}

/// What other users must not be able to do in a folder that a person chose for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedTo {
    Writing,
    /// Neither read, write nor reach what is in it.
    Everything,
}

/// Makes a folder for its owner alone, or checks one that is there: it must belong to the
/// user of this process and be closed to others. Its mode is the person's and stays.
pub fn use_own_dir(path: &Path, closed: ClosedTo) -> io::Result<()> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    create_private_dir(path)?;
    let folder = match closed {
        ClosedTo::Writing => fs::metadata(path)?,
        // Whoever owns a link can point it elsewhere.
        ClosedTo::Everything => fs::symlink_metadata(path)?,
    };
    if !folder.is_dir() {
        return refused("it is not a folder");
    }
    if folder.uid() != rustix::process::geteuid().as_raw() {
        return refused("it belongs to another user");
    }
    match closed {
        ClosedTo::Writing if folder.mode() & 0o022 != 0 => {
            refused("other users may write there; `chmod go-w` closes it")
        }
        ClosedTo::Everything if folder.mode() & 0o077 != 0 => {
            refused("other users may enter it; `chmod 700` closes it")
        }
        _ => Ok(()),
    }
}

/// Replaces a file of ours, or makes it: mode 0600, on disk when this returns.
/// A symbolic link of that name is itself replaced, so that nobody who can put
/// a link there chooses what is written to.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let replacement = Replacement::write(path, bytes, PRIVATE_FILE, Durability::Synced)?;
    replacement.put_in_place(path)
}

/// The same without waiting for the disk: after a power loss the file may be
/// old, empty or missing. Only for what is worthless after one, or made again
/// from something else; a crash of the process alone loses nothing.
///
/// The reason to have it is that two flushes of the disk cost milliseconds, and each
/// slot saves its screen up to once a second.
pub fn replace_private_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let replacement = Replacement::write(path, bytes, PRIVATE_FILE, Durability::Unsynced)?;
    replacement.put_in_place(path)
}

/// Which mode a person's file has after it was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// 0600, because it holds secrets, whoever made it.
    Private,
    /// What it had, with its owner; 0600 for a new one.
    Kept,
}

/// Replaces a file that a person also edits, such as a configuration: a link
/// stays a link, and what it points to is replaced. Folders that are missing are
/// made.
pub fn replace_edited(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    let path = &follow(path)?;
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    let before = match fs::metadata(path) {
        Ok(before) => Some(before),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let bits = match (&before, mode) {
        (Some(before), Mode::Kept) => before.permissions().mode() & 0o7777,
        (None, _) | (_, Mode::Private) => PRIVATE_FILE,
    };
    let replacement = Replacement::write(path, bytes, bits, Durability::Synced)?;
    if let Some(before) = before {
        replacement.give_to(&before)?;
    }
    replacement.put_in_place(path)
}

/// Removes a file; when this returns it stays removed.
pub fn remove_synced(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    sync_dir(folder_of(path))
}

/// Opens a file that only its owner can read, to add lines to its end.
pub fn open_private_log(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(PRIVATE_FILE)
        .open(path)
}

/// Makes a file that only its owner can read, to add to its end; an error if there
/// is one of that name already.
pub fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(PRIVATE_FILE)
        .open(path)
}

/// Opens a file a person named for what we give out, to write it anew. One that is
/// not there is made for its owner alone; one that is keeps its mode, and may be a
/// pipe or a terminal.
pub fn open_private_output(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE_FILE)
        .open(path)
}

/// Opens the file of a lock; what stands in it is not touched.
pub fn open_private_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE_FILE)
        .open(path)
}

/// Puts what was made, renamed or removed in a folder on disk.
pub fn sync_dir(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    Synced,
    Unsynced,
}

/// A written file that does not have its name yet; removed if it never gets it.
#[derive(Debug)]
struct Replacement {
    file: File,
    path: Option<PathBuf>,
    durability: Durability,
}

impl Replacement {
    fn write(target: &Path, bytes: &[u8], mode: u32, durability: Durability) -> io::Result<Self> {
        let (file, path) = create_beside(target)?;
        let mut replacement = Self {
            file,
            path: Some(path),
            durability,
        };
        if mode != PRIVATE_FILE {
            // Set afterwards: a umask takes away from the mode of a new file.
            let permissions = fs::Permissions::from_mode(mode);
            replacement.file.set_permissions(permissions)?;
        }
        replacement.file.write_all(bytes)?;
        if durability == Durability::Synced {
            replacement.file.sync_all()?;
        }
        Ok(replacement)
    }

    /// The owner of the file that is replaced, where that is somebody else: a
    /// person keeps a file that root edited for them.
    fn give_to(&self, before: &fs::Metadata) -> io::Result<()> {
        let now = self.file.metadata()?;
        if (now.uid(), now.gid()) == (before.uid(), before.gid()) {
            return Ok(());
        }
        std::os::unix::fs::fchown(&self.file, Some(before.uid()), Some(before.gid()))
    }

    fn put_in_place(mut self, target: &Path) -> io::Result<()> {
        let Some(written) = self.path.as_deref() else {
            return Ok(());
        };
        fs::rename(written, target)?;
        self.path = None;
        match self.durability {
            Durability::Synced => sync_dir(folder_of(target)),
            Durability::Unsynced => Ok(()),
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// A new empty file in the folder of `target`. Its name has nothing of the
/// target's, which may be as long as a name can be. `create_new` makes a link
/// or file that waits there under the name an error, and the next is tried.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    if target.file_name().is_none() {
        let message = format!("{} does not name a file", target.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!(".{}-{number}.tmp", std::process::id());
        let path = folder_of(target).join(name);
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(PRIVATE_FILE)
            .open(&path);
        match created {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Where a link leads in the end.
fn follow(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(_) if path.is_symlink() => {
            let message = format!("{} is a link to a file that does not exist", path.display());
            Err(io::Error::new(io::ErrorKind::NotFound, message))
        }
        Err(_) => Ok(path.to_owned()),
    }
}

/// The folder a file is in; a bare name is in the current one.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Why a file that decides something is not this user's alone to write; none when it is.
/// One that is not there is nobody's.
pub fn written_by_others(path: &Path) -> io::Result<Option<&'static str>> {
    let own = rustix::process::geteuid().as_raw();
    let is_foreign = |uid: u32| uid != own && uid != 0;
    let file = match fs::metadata(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if is_foreign(file.uid()) {
        return Ok(Some("belongs to another user"));
    }
    if file.mode() & 0o022 != 0 {
        return Ok(Some("may be written by others; run `chmod go-w` on it"));
    }
    let folder = path.canonicalize()?;
    let folder = fs::metadata(folder.parent().unwrap_or(Path::new("/")))?;
    // In a sticky folder nobody replaces the file of another.
    if is_foreign(folder.uid()) || folder.mode() & 0o1002 == 0o002 {
        return Ok(Some(
            "is in a folder where others may put another in its place; run `chmod go-w` on that",
        ));
    }
    Ok(None)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
