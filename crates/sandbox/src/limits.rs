//! How much may be used: by a control group where one can be made (version 2, else 1),
//! and by the limits of each process in any case.

use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use missiond_os::processes::process_exists;
use nix::fcntl::OFlag;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::wall::Limits;

/// Behind it stands the number of the stage outside.
const NAME: &str = "missiond-wall-";

/// A group that can be made below the one this process is in.
#[derive(Debug)]
struct Group {
    parent: PathBuf,
    /// Stays in hand when the folder goes out of sight.
    folder: OwnedFd,
    /// Of the parent: to come back.
    back: fs::File,
    name: String,
}

#[derive(Debug, Default)]
pub(crate) struct Limiter {
    groups: Vec<Group>,
}

impl Limiter {
    /// Makes the groups that can be made. No group is no failure: then the limits of each
    /// process are what there is.
    pub(crate) fn create(limits: &Limits) -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let name = format!("{NAME}{}", std::process::id());
        let memory = (limits.memory_mb << 20).to_string();
        let processes = limits.processes.to_string();
        let unified = folder_of(&own, &mounts, "").and_then(|parent| {
            let wanted = [("memory.max", memory.as_str()), ("pids.max", &processes)];
            Group::create(&parent, &name, &wanted)
        });
        if let Some(group) = unified {
            return Self {
                groups: vec![group],
            };
        }
        let wanted = [
            ("memory", "memory.limit_in_bytes", &memory),
            ("pids", "pids.max", &processes),
        ];
        let groups = wanted.into_iter().filter_map(|(controller, file, value)| {
            let parent = folder_of(&own, &mounts, controller)?;
            Group::create(&parent, &name, &[(file, value)])
        });
        Self {
            groups: groups.collect(),
        }
    }

    /// Moves this process in: what it starts is born inside.
    pub(crate) fn enter(&self) -> Result<(), String> {
        for group in &self.groups {
            let file = group.parent.join(&group.name).join("cgroup.procs");
            fs::write(&file, "0")
                .map_err(|error| format!("{} cannot be entered: {error}", file.display()))?;
        }
        Ok(())
    }

    /// Moves this process out again, from wherever its root is by now.
    pub(crate) fn leave(&self) -> Result<(), String> {
        for group in &self.groups {
            (&group.back)
                .write_all(b"0")
                .map_err(|error| format!("the control group cannot be left: {error}"))?;
        }
        Ok(())
    }

    /// Removes the groups, which nobody must be in any more.
    pub(crate) fn remove(&self) {
        for group in &self.groups {
            let name = group.name.as_str();
            let _ = unlinkat(&group.folder, name, UnlinkatFlags::RemoveDir);
        }
    }
}

impl Group {
    fn create(parent: &Path, name: &str, limits: &[(&str, &str)]) -> Option<Self> {
        let mut options = fs::OpenOptions::new();
        // Without the right to come back none is made.
        let back = options.write(true).open(parent.join("cgroup.procs")).ok()?;
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let folder = nix::fcntl::open(parent, flags, Mode::empty()).ok()?;
        remove_left(parent);
        let path = parent.join(name);
        fs::create_dir(&path).ok()?;
        let set = limits.iter().all(|(file, value)| {
            path.join(file).exists() && fs::write(path.join(file), value).is_ok()
        });
        if !set {
            let _ = fs::remove_dir(&path);
            return None;
        }
        Some(Self {
            parent: parent.to_owned(),
            folder,
            back,
            name: name.to_owned(),
        })
    }
}

/// Those of stages that were killed before they could remove theirs.
fn remove_left(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(NAME)?.parse().ok());
        if owner.is_some_and(|owner| !process_exists(owner)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The folder of the group this process is in: of a controller of version 1, or with no
/// name that of version 2.
fn folder_of(groups: &str, mounts: &str, controller: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let is_it = controllers.split(',').any(|one| one == controller);
        is_it.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let is_it = match kind.next()? {
            "cgroup2" => controller.is_empty(),
            "cgroup" => kind.nth(1)?.split(',').any(|one| one == controller),
            _ => false,
        };
        if !is_it {
            return None;
        }
        let mut fields = place.split(' ').skip(3);
        let (root, mounted) = (fields.next()?, fields.next()?);
        // A container may see a part of the tree as its root.
        let below = Path::new(own).strip_prefix(root).ok()?;
        Some(Path::new(mounted).join(below))
    })
}

/// The limits of this process and what it starts. One that is lower already stays.
pub(crate) fn restrict_process(limits: &Limits) -> Result<(), String> {
    let wanted = [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, limits.file_mb << 20),
        (Resource::RLIMIT_NOFILE, limits.open_files),
        (Resource::RLIMIT_NPROC, limits.processes),
        (Resource::RLIMIT_DATA, limits.memory_mb << 20),
        (Resource::RLIMIT_MEMLOCK, 64 << 20),
    ];
    for (resource, most) in wanted {
        let failed = |error| format!("a limit cannot be set ({resource:?}): {error}");
        let (soft, hard) = getrlimit(resource).map_err(failed)?;
        let most = most.min(hard);
        setrlimit(resource, soft.min(most), most).map_err(failed)?;
    }
    Ok(())
}
