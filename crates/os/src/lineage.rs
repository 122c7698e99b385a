//! Where a process comes from: itself and every process above it, up to the first of the
//! system. A caller is known by this, because it is the one thing about a process that
//! the process cannot choose: it may clear its environment, fork, leave its session and
//! close every file, and is still below whoever is subreaper above it.
//!
//! A process is only ever handed up, to one of those above it, so a reading that ends well
//! has passed every subreaper on the way. One during which somebody on the way ended begins
//! anew, and one that cannot be brought to an end says so. Only Linux tells all of this.

use std::fs;

use crate::mark;
use crate::processes::{Process, process_exists};

/// Readings that may come to nothing because somebody on the way ended.
const ATTEMPTS: usize = 16;
/// No honest process has so many above it.
const DEEPEST: usize = 1024;

/// A process and those above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The process, its parent, and so on.
    pub processes: Vec<Process>,
    pub top: Top,
    /// The control group of the process, as the kernel names it; only version 2 has one.
    pub group: Option<String>,
    /// The process carries the mark of what a slot started, see [`mark`](crate::mark); also
    /// where nothing above it tells so any more.
    pub is_marked: bool,
}

/// How far up a reading came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    /// To the first process of the system, or of this container.
    First,
    /// To one whose parent the system does not show: it is another user's, and those are
    /// hidden here.
    Hidden,
}

/// Why nothing is known of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The system has no table of processes that can be read.
    NoTable,
    /// It has ended, or its number means nothing here.
    Ended,
    /// Those above it change faster than they can be read, or are too many.
    Restless,
}

impl Lineage {
    /// Those above the process of this number, which lives from before the reading until
    /// after it.
    pub fn of(pid: u32) -> Result<Self, Unknown> {
        if !has_table() {
            return Err(Unknown::NoTable);
        }
        let handle = Handle::open(pid);
        for _ in 0..ATTEMPTS {
            let Some(first) = Process::read(pid).filter(Process::is_living) else {
                return Err(Unknown::Ended);
            };
            let Some((processes, top)) = climb(first) else {
                continue;
            };
            let group = group_of(pid);
            let is_marked = mark::is_on(pid);
            let again = Process::read(pid).filter(Process::is_living);
            if again.is_none_or(|again| again.start_ticks != first.start_ticks)
                || handle.has_ended()
            {
                return Err(Unknown::Ended);
            }
            return Ok(Self {
                processes,
                top,
                group,
                is_marked,
            });
        }
        Err(Unknown::Restless)
    }

    /// The one below the first process of the system.
    #[must_use]
    pub fn topmost(&self) -> Option<&Process> {
        self.processes.iter().rev().find(|process| process.pid > 1)
    }
}

/// Everything above a process; none when somebody on the way ended meanwhile.
fn climb(first: Process) -> Option<(Vec<Process>, Top)> {
    let mut processes = vec![first];
    let mut below = first;
    while below.parent != 0 && processes.len() < DEEPEST {
        match Process::read(below.parent) {
            // Who is above began before; another with that number did not.
            Some(above) if above.is_living() && above.start_ticks <= below.start_ticks => {
                processes.push(above);
                below = above;
            }
            Some(_) => return None,
            None if process_exists(below.parent) => return Some((processes, Top::Hidden)),
            None => return None,
        }
    }
    (below.parent == 0).then_some((processes, Top::First))
}

/// Whether the system tells of its processes.
#[must_use]
pub fn has_table() -> bool {
    Process::read(std::process::id()).is_some()
}

/// Whether the system hides the processes of other users.
#[must_use]
pub fn hides_others() -> bool {
    Process::read(1).is_none()
}

/// What the system lets a process do to others of its user: 0 for anything, more for less;
/// none where the system does not say.
#[must_use]
pub fn tracing_limit() -> Option<u8> {
    let text = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    text.trim().parse().ok()
}

/// Whether a process may put words into the terminal that controls it, as if they had been
/// typed. Kernels that do not say so let everybody; the root user always may.
#[must_use]
pub fn allows_typing_for_others() -> bool {
    let said = fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
    let is_kept = said.is_ok_and(|text| text.trim() == "0");
    !is_kept || rustix::process::geteuid().is_root()
}

fn group_of(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let group = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(group.to_owned())
}

/// Tells whether a process has ended, whoever has its number by then; knows nothing where
/// the kernel has no such handles.
struct Handle(#[cfg(target_os = "linux")] Option<std::os::fd::OwnedFd>);

impl Handle {
    #[cfg(target_os = "linux")]
    fn open(pid: u32) -> Self {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Self(pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()))
    }

    #[cfg(not(target_os = "linux"))]
    fn open(_: u32) -> Self {
        Self()
    }

    #[cfg(target_os = "linux")]
    fn has_ended(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let now = Timespec::default();
        self.0.as_ref().is_some_and(|handle| {
            let mut watched = [PollFd::new(handle, PollFlags::IN)];
            poll(&mut watched, Some(&now)).is_ok_and(|ended| ended > 0)
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn has_ended(&self) -> bool {
        false
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_known_with_those_above_it() {
        let own = std::process::id();
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60; :"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lineage = Lineage::of(child.id()).unwrap();
        let numbers: Vec<_> = lineage.processes.iter().map(|one| one.pid).collect();
        assert_eq!(&numbers[..2], &[child.id(), own]);
        assert_eq!(numbers[1..], {
            let own = Lineage::of(own).unwrap().processes;
            own.iter().map(|one| one.pid).collect::<Vec<_>>()
        });
        assert!(lineage.topmost().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Lineage::of(child.id()), Err(Unknown::Ended));
    }

    /// The shell in the middle ends at once, and what it left leaves its session.
    #[test]
    fn one_that_forks_away_stays_below_the_subreaper() {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
        let script = "env -i setsid sh -c 'sleep 60; :' >/dev/null 2>&1 & echo $!";
        let said = Command::new("sh").args(["-c", script]).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let left: u32 = said.trim().parse().unwrap();
        let lineage = Lineage::of(left).unwrap();
        let own = std::process::id();
        assert!(lineage.processes.iter().any(|one| one.pid == own));
        assert_eq!(lineage.top, Top::First);
        crate::processes::signal_each(&[left], crate::processes::Signal::KILL);
    }

    #[test]
    fn a_number_that_nobody_has_is_of_nobody() {
        assert_eq!(Lineage::of(0), Err(Unknown::Ended));
        assert_eq!(Lineage::of(u32::MAX), Err(Unknown::Ended));
    }
}
