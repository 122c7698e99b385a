//! A control group for each slot, where the system lets us make one.
//!
//! A group holds every process of a slot however it was started, survives the
//! host, and is ended by the kernel in one step. It needs cgroup version 2 and
//! the right to make groups below the one the daemon is in (root has it, and a
//! service to which systemd delegates). Elsewhere the process group and the
//! subreaper hold a slot together.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use missiond_core::SlotId;

/// What holds the processes of a slot together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Containment {
    /// A control group of its own, made below this folder.
    Cgroup(PathBuf),
    /// Its process group and the host as subreaper; why there is no more.
    ProcessGroup(String),
}

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cgroup(parent) => write!(f, "a control group below {}", parent.display()),
            Self::ProcessGroup(why) => write!(f, "process group and subreaper ({why})"),
        }
    }
}

/// What slots started by this process would be held together by. A group is
/// made and removed again to find out.
#[must_use]
pub fn containment() -> Containment {
    let probe = Cgroup::create(&format!("missiond-probe-{}", std::process::id()));
    match probe {
        Ok(cgroup) => {
            cgroup.remove();
            Containment::Cgroup(cgroup.parent)
        }
        Err(why) => Containment::ProcessGroup(why),
    }
}

#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    parent: PathBuf,
}

impl Cgroup {
    pub(super) fn for_slot(slot: SlotId) -> Result<Self, String> {
        Self::create(&format!("missiond-{slot}"))
    }

    /// The group a host made for its slot.
    pub(super) fn existing(path: &Path) -> Option<Self> {
        path.join("cgroup.kill").exists().then(|| Self {
            path: path.to_owned(),
            parent: path.parent().unwrap_or(path).to_owned(),
        })
    }

    fn create(name: &str) -> Result<Self, String> {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let parent = own_group(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
            .ok_or("cgroup version 2 is not mounted")?;
        let denied =
            |error: io::Error| format!("no group can be made below {}: {error}", parent.display());
        // Without the right to come back, this process would be ended with it.
        let mut options = fs::OpenOptions::new();
        options
            .write(true)
            .open(parent.join("cgroup.procs"))
            .map_err(denied)?;
        let path = parent.join(name);
        fs::create_dir(&path).map_err(denied)?;
        let cgroup = Self { path, parent };
        if cgroup.path.join("cgroup.kill").exists() {
            return Ok(cgroup);
        }
        cgroup.remove();
        Err("the kernel has no cgroup.kill (it came with Linux 5.14)".to_owned())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves this process in: what it starts now is born inside, and nothing of
    /// it can be outside.
    pub(super) fn enter(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), "0")
    }

    /// Moves this process out again; what it has started stays.
    pub(super) fn leave(&self) -> io::Result<()> {
        fs::write(self.parent.join("cgroup.procs"), "0")
    }

    pub(super) fn kill(&self) {
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Whether a process lives in it.
    pub(super) fn is_populated(&self) -> bool {
        let events = fs::read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    }

    /// Removes it with the groups its processes made. Only empty ones go.
    pub(super) fn remove(&self) {
        remove_below(&self.path);
    }
}

fn remove_below(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
        }
    }
    let _ = fs::remove_dir(path);
}

/// The folder of the group this process is in, from what the kernel says about
/// its groups and its mounts.
fn own_group(groups: &str, mounts: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        if kind.split(' ').next()? != "cgroup2" {
            return None;
        }
        // A container may see a part of the tree as its root.
        let mut fields = place.split(' ').skip(3);
        let (root, mounted) = (fields.next()?, fields.next()?);
        let below = Path::new(own).strip_prefix(root).ok()?;
        Some(Path::new(mounted).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
35 24 0:31 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
36 35 0:32 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw
37 35 0:33 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
";

    #[test]
    fn the_own_group_is_found_where_version_2_is_mounted() {
        let groups = "4:memory:/somewhere\n0::/user.slice/me.scope\n";
        let unified = Path::new("/sys/fs/cgroup/unified");
        assert_eq!(
            own_group(groups, HYBRID),
            Some(unified.join("user.slice/me.scope"))
        );
        assert_eq!(own_group("0::/\n", HYBRID), Some(unified.join("")));
        assert_eq!(own_group("4:memory:/somewhere\n", HYBRID), None);
        assert_eq!(own_group(groups, ""), None);
        let container = "9 8 0:3 /docker/a /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(
            own_group("0::/docker/a/b\n", container),
            Some(PathBuf::from("/sys/fs/cgroup/b"))
        );
        assert_eq!(own_group("0::/docker/c\n", container), None);
    }
}
