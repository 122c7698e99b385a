//! Building the view: a file system in memory, into which what the plan names is bound
//! piece by piece, and which then becomes the root.
//!
//! Nothing is followed. A path of the plan that has become a link since it was planned is
//! refused, on the machine's side and on the inside; what is mounted is what was opened,
//! so nobody who changes names meanwhile changes what is seen. In the end the table of
//! mounts is read, and each that must be read-only is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::mount::{MsFlags, mount};
use nix::sys::stat::{Mode, SFlag, fstatat, mkdirat};
use nix::unistd::symlinkat;

use crate::mount_table::{Mount, mount_table};
use crate::wall::{Entry, Kind, Wall};

/// The devices that are harmless.
const DEVICES: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("ptmx", "pts/ptmx"),
    ("stderr", "/proc/self/fd/2"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
];

/// Where the new root stands until it is the root. Every system has the folder; what is
/// in it was opened before.
const STAGE: &str = "/tmp";

/// The longest file that is copied.
const LARGEST_COPY: u64 = 64 << 20;

/// The new root, not yet in its place.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    wall: &'a Wall,
    root: OwnedFd,
    /// Inside folders of the machine that may be written these are mounts of their own,
    /// so that nobody can move them and what is mounted below them away.
    pinned: BTreeSet<PathBuf>,
}

type Failure = String;

/// Puts the whole view together and returns where it stands. Needs a table of mounts of
/// one's own.
pub(crate) fn build(wall: &Wall, terminal: Option<&Path>) -> Result<PathBuf, Failure> {
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .map_err(|error| format!("the table of mounts cannot be made private: {error}"))?;
    // Before the stage covers what is in its place.
    let mut sources = Vec::new();
    for entry in &wall.view {
        if entry.kind.is_of_machine() {
            sources.push((entry, open_source(&entry.path)?));
        }
    }
    let devices = open_devices(terminal)?;
    mount_memory(Path::new(STAGE), 64, 0o755)?;
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let root = nix::fcntl::open(STAGE, flags, Mode::empty())
        .map_err(|error| format!("{STAGE} cannot be opened: {error}"))?;
    let mut stage = Stage {
        wall,
        root,
        pinned: BTreeSet::new(),
    };
    let mut sources = sources.into_iter();
    for entry in &wall.view {
        let source = entry.kind.is_of_machine().then(|| sources.next()).flatten();
        stage.put(entry, source.map(|(_, source)| source))?;
    }
    stage.devices(devices)?;
    for door in &wall.doors {
        if let Some(folder) = door.parent() {
            stage.place(folder, Is::Folder)?;
        }
    }
    stage.place(Path::new("/proc"), Is::Folder)?;
    stage.place(Path::new(crate::stages::OLD_ROOT), Is::Folder)?;
    stage.fix_rights()?;
    Ok(PathBuf::from(STAGE))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Folder,
    File,
}

impl Stage<'_> {
    fn put(&mut self, entry: &Entry, source: Option<OwnedFd>) -> Result<(), Failure> {
        let path = &entry.path;
        match (&entry.kind, source) {
            (Kind::Read | Kind::Write, Some(source)) => {
                let is = if is_folder(&source) {
                    Is::Folder
                } else {
                    Is::File
                };
                self.pin_above(path)?;
                let target = self.place(path, is)?;
                bind(&source, &target, path)
            }
            (Kind::Copy, Some(source)) => {
                let target = self.place(path, Is::File)?;
                copy(&source, &target).map_err(|error| cannot("copied", path, error))
            }
            (Kind::Private, _) => {
                self.pin_above(path)?;
                self.place(path, Is::Folder)?;
                let mode = if is_shared(path) { 0o1777 } else { 0o700 };
                mount_memory(&staged(path), self.wall.limits.private_mb, mode)
            }
            (Kind::Hidden, _) => {
                self.pin_above(path)?;
                let Some(target) = self.find(path)? else {
                    return Ok(());
                };
                if is_folder(&target) {
                    mount_memory(&proc_path(&target), 1, 0o755)
                } else {
                    let nothing = open_source(Path::new("/dev/null"))?;
                    bind(&nothing, &target, path)
                }
            }
            (Kind::Link(to), _) => {
                // In a folder of the machine nothing is made.
                if self
                    .wall
                    .covering(path)
                    .is_some_and(|one| one.path != *path)
                    && path.parent().is_some_and(|parent| self.wall.shows(parent))
                {
                    return Ok(());
                }
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(format!("{} cannot be a link", path.display()));
                };
                let parent = self.place(parent, Is::Folder)?;
                match symlinkat(to.as_path(), &parent, name) {
                    Ok(()) | Err(Errno::EEXIST) => Ok(()),
                    Err(error) => Err(cannot("linked", path, error)),
                }
            }
            (Kind::Read | Kind::Write | Kind::Copy, None) => {
                Err(cannot("found", path, Errno::ENOENT))
            }
        }
    }

    /// What is inside a writable folder of the machine and must not be changed stays
    /// where it is only if every folder on the way to it is a mount: those cannot be
    /// renamed.
    fn pin_above(&mut self, path: &Path) -> Result<(), Failure> {
        let above = path.parent().and_then(|parent| self.wall.covering(parent));
        let Some(Entry {
            path: top,
            kind: Kind::Write,
        }) = above
        else {
            return Ok(());
        };
        let between = path.ancestors().skip(1).take_while(|one| one != top);
        let mut between: Vec<_> = between.map(Path::to_owned).collect();
        between.reverse();
        for folder in between {
            if self.pinned.insert(folder.clone())
                && let Some(found) = self.find(&folder)?
            {
                bind(&found, &found, &folder)?;
            }
        }
        Ok(())
    }

    /// What stands at a path inside; nothing when there is nothing.
    fn find(&self, path: &Path) -> Result<Option<OwnedFd>, Failure> {
        match openat2(&self.root, relative(path), opening()) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(None),
            Err(error) => Err(cannot("reached", path, error)),
        }
    }

    /// The same, made if need be: never in a folder of the machine.
    fn place(&self, path: &Path, is: Is) -> Result<OwnedFd, Failure> {
        if let Some(found) = self.find(path)? {
            return Ok(found);
        }
        let covering = path.parent().and_then(|parent| self.wall.covering(parent));
        if let Some(Entry {
            path: top,
            kind: Kind::Read | Kind::Write,
        }) = covering
        {
            let (path, top) = (path.display(), top.display());
            return Err(format!("{path} does not exist in {top}"));
        }
        let parts: Vec<&OsStr> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name),
                _ => None,
            })
            .collect();
        let Some((last, folders)) = parts.split_last() else {
            return Err(cannot("made", path, Errno::EINVAL));
        };
        let mut at = openat2(&self.root, ".", opening()).map_err(|e| cannot("made", path, e))?;
        let last_folder = (is == Is::Folder).then_some(*last);
        for name in folders.iter().copied().chain(last_folder) {
            match mkdirat(&at, name, Mode::from_bits_truncate(0o755)) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(cannot("made", path, error)),
            }
            at = openat2(&at, name, opening()).map_err(|e| cannot("made", path, e))?;
        }
        if is == Is::File {
            let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
            openat(&at, *last, flags, Mode::from_bits_truncate(0o600))
                .map_err(|error| cannot("made", path, error))?;
            at = openat2(&at, *last, opening()).map_err(|e| cannot("made", path, e))?;
        }
        Ok(at)
    }

    fn devices(&self, sources: Vec<(PathBuf, OwnedFd)>) -> Result<(), Failure> {
        let dev = Path::new("/dev");
        self.place(dev, Is::Folder)?;
        mount_memory(&staged(dev), 1, 0o755)?;
        for (path, source) in sources {
            let target = self.place(&path, Is::File)?;
            bind(&source, &target, &path)?;
        }
        for (name, to) in DEVICE_LINKS {
            let at = self.place(dev, Is::Folder)?;
            symlinkat(to, &at, name).map_err(|error| cannot("linked", &dev.join(name), error))?;
        }
        self.place(&dev.join("shm"), Is::Folder)?;
        mount_memory(
            &staged(&dev.join("shm")),
            self.wall.limits.private_mb,
            0o1777,
        )?;
        let pts = dev.join("pts");
        self.place(&pts, Is::Folder)?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
        let options = "newinstance,ptmxmode=0666,mode=620";
        mount(
            Some("devpts"),
            &staged(&pts),
            Some("devpts"),
            flags,
            Some(options),
        )
        .map_err(|error| cannot("mounted", &pts, error))
    }

    /// Makes each mount what its entry says, and looks whether it is.
    fn fix_rights(&self) -> Result<(), Failure> {
        for mount in mount_table()? {
            if let Some((path, wanted)) = self.wanted(&mount)
                && !mount.flags.contains(wanted)
            {
                let flags = mount.flags | wanted | MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
                let none = None::<&str>;
                nix::mount::mount(none, &mount.at, none, flags, none)
                    .map_err(|error| cannot("made read-only", &path, error))?;
            }
        }
        for mount in mount_table()? {
            if let Some((path, wanted)) = self.wanted(&mount)
                && !mount.flags.contains(wanted)
            {
                return Err(format!("{} did not become read-only", path.display()));
            }
        }
        Ok(())
    }

    /// Where a mount of the stage will be, and the flags it must have.
    fn wanted(&self, mount: &Mount) -> Option<(PathBuf, MsFlags)> {
        let path = Path::new("/").join(mount.at.strip_prefix(STAGE).ok()?);
        if path.starts_with("/dev") || path == Path::new("/") {
            return None;
        }
        let mut wanted = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        match self.wall.covering(&path).map(|entry| &entry.kind) {
            Some(Kind::Read | Kind::Hidden) => wanted |= MsFlags::MS_RDONLY,
            Some(Kind::Write | Kind::Private | Kind::Copy | Kind::Link(_)) | None => {}
        }
        // What hides a file is a device, which `nodev` would make unreadable.
        if self
            .wall
            .covering(&path)
            .is_some_and(|one| one.kind == Kind::Hidden)
        {
            wanted.remove(MsFlags::MS_NODEV);
        }
        Some((path, wanted))
    }
}

/// Folders every user may write.
fn is_shared(path: &Path) -> bool {
    path == Path::new("/tmp") || path == Path::new("/var/tmp")
}

fn open_devices(terminal: Option<&Path>) -> Result<Vec<(PathBuf, OwnedFd)>, Failure> {
    let mut devices = Vec::new();
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        // A small root has fewer of them; what the machine lacks is not there inside.
        if path.exists() {
            let source = open_source(&path)?;
            devices.push((path, source));
        }
    }
    // The terminal it was started on has no name in a `/dev/pts` of one's own.
    if let Some(terminal) = terminal {
        devices.push((PathBuf::from("/dev/console"), open_source(terminal)?));
    }
    Ok(devices)
}

fn opening() -> OpenHow {
    OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_BENEATH)
}

/// What the machine has at a path.
fn open_source(path: &Path) -> Result<OwnedFd, Failure> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    openat2(nix::fcntl::AT_FDCWD, path, how).map_err(|error| match error {
        Errno::ELOOP => format!("{} has become a link", path.display()),
        other => cannot("seen", path, other),
    })
}

fn bind(source: &OwnedFd, target: &OwnedFd, path: &Path) -> Result<(), Failure> {
    let none = None::<&str>;
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(
        Some(&proc_path(source)),
        &proc_path(target),
        none,
        flags,
        none,
    )
    .map_err(|error| cannot("bound", path, error))
}

/// What one file holds, into another in memory.
fn copy(source: &OwnedFd, target: &OwnedFd) -> Result<(), Errno> {
    let errno = |error: std::io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(0));
    let from = File::open(proc_path(source)).map_err(errno)?;
    let mut into = File::options()
        .write(true)
        .open(proc_path(target))
        .map_err(errno)?;
    let copied = std::io::copy(&mut from.take(LARGEST_COPY + 1), &mut into).map_err(errno)?;
    if copied > LARGEST_COPY {
        return Err(Errno::EFBIG);
    }
    Ok(())
}

fn mount_memory(target: &Path, size_mb: u64, mode: u32) -> Result<(), Failure> {
    let options = format!("size={size_mb}m,mode={mode:o}");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(
        Some("tmpfs"),
        target,
        Some("tmpfs"),
        flags,
        Some(options.as_str()),
    )
    .map_err(|error| cannot("put in memory", target, error))
}

fn is_folder(file: &OwnedFd) -> bool {
    fstatat(file, "", AtFlags::AT_EMPTY_PATH).is_ok_and(|found| {
        SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR
    })
}

fn proc_path(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn relative(path: &Path) -> &Path {
    match path.strip_prefix("/") {
        Ok(below) if !below.as_os_str().is_empty() => below,
        _ => Path::new("."),
    }
}

fn staged(path: &Path) -> PathBuf {
    Path::new(STAGE).join(relative(path))
}

fn cannot(what: &str, path: &Path, error: Errno) -> Failure {
    format!("{} cannot be {what}: {}", path.display(), error.desc())
}
