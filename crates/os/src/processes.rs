//! Processes by their numbers: which live, who descends from whom, whether one
//! is still the one that was meant, and how a tree of them is ended.
//!
//! What is known comes from `/proc`; where there is none (not Linux), only
//! process groups can be ended and a process is known by its number alone. Who
//! belongs to a tree is for the caller to say: a subreaper's descendants, or
//! those that carry a mark in their environment.

use std::time::{Duration, Instant};

use rustix::process::Pid;
pub use rustix::process::Signal;

/// One process as the system's table has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    /// The terminal that controls it; 0 for none.
    pub terminal: u32,
    /// When it began, in clock ticks since boot.
    pub start_ticks: u64,
    state: char,
}

impl Process {
    /// The process of this number, living or dead and not collected.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may contain anything; only its closing parenthesis is sure.
        let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
        Some(Self {
            pid,
            state: fields.next()?.chars().next()?,
            parent: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
            terminal: fields.nth(1)?.parse::<i32>().ok()?.cast_unsigned(),
            start_ticks: fields.nth(14)?.parse().ok()?,
        })
    }

    pub(crate) fn is_living(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }

    /// A word of its command line, as it is now; the first is its name.
    #[must_use]
    pub fn argument(&self, index: usize) -> Option<Vec<u8>> {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid)).ok()?;
        let word = line.split(|byte| *byte == 0).nth(index)?;
        Some(word.to_owned())
    }

    /// Whether its environment, as it was when the program began, has this
    /// `NAME=value`. Nothing is known of a process of another user.
    #[must_use]
    pub fn has_variable(&self, wanted: &[u8]) -> bool {
        std::fs::read(format!("/proc/{}/environ", self.pid)).is_ok_and(|environment| {
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == wanted)
        })
    }
}

/// Every process at one moment.
#[derive(Debug, Clone)]
pub struct ProcessTable(Vec<Process>);

impl ProcessTable {
    /// Reads the table; empty where the system does not tell.
    #[must_use]
    pub fn read() -> Self {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        Self(
            entries
                .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
                .filter_map(Process::read)
                .collect(),
        )
    }

    /// Those that have not ended.
    pub fn living(&self) -> impl Iterator<Item = &Process> {
        self.0.iter().filter(|process| process.is_living())
    }

    /// The living processes below one, without it.
    #[must_use]
    pub fn descendants_of(&self, ancestor: u32) -> Vec<u32> {
        let mut found = self.with_descendants_of(vec![ancestor]);
        found.remove(0);
        found
    }

    /// The living processes that belong, and those below them. Never this
    /// process, which may have inherited whatever they are known by, or have
    /// been started by one of them.
    #[must_use]
    pub fn with_descendants(&self, belongs: impl Fn(&Process) -> bool) -> Vec<u32> {
        let own = std::process::id();
        let roots = self
            .living()
            .filter(|process| process.pid != own && belongs(process))
            .map(|process| process.pid)
            .collect();
        self.with_descendants_of(roots)
    }

    fn with_descendants_of(&self, mut found: Vec<u32>) -> Vec<u32> {
        let own = std::process::id();
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            next += 1;
            let children = self.living().filter(|process| process.parent == parent);
            for child in children.map(|process| process.pid) {
                if child != own && !found.contains(&child) {
                    found.push(child);
                }
            }
        }
        found
    }

    /// Collects the dead that became children of this process because it is
    /// subreaper. The one whose status somebody else waits for is left to them.
    pub fn reap_orphans(&self, waited_for: Option<u32>) {
        let own = std::process::id();
        let is_orphan = |process: &&Process| {
            !process.is_living() && process.parent == own && Some(process.pid) != waited_for
        };
        for pid in self.0.iter().filter(is_orphan) {
            if let Some(pid) = pid_of(pid.pid) {
                let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
            }
        }
    }
}

/// Ending a tree: its processes are asked once, have a time to comply, and are
/// made to end after it. The caller looks for those that are left, hands them in
/// and waits a little between two looks, so that it fits a thread as well as a
/// task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    kill_at: Instant,
    asked: bool,
}

impl Ending {
    #[must_use]
    pub fn within(grace: Duration) -> Self {
        Self {
            kill_at: Instant::now() + grace,
            asked: false,
        }
    }

    /// Asked again, it can only become sooner.
    pub fn hasten(&mut self, grace: Duration) {
        self.kill_at = self.kill_at.min(Instant::now() + grace);
    }

    /// Whether processes are killed now.
    #[must_use]
    pub fn is_killing(&self) -> bool {
        Instant::now() >= self.kill_at
    }

    /// Whether processes were still left so long after the first kill: they
    /// multiply faster than they end, or the kernel holds them.
    #[must_use]
    pub fn is_hopeless(&self, after: Duration) -> bool {
        Instant::now() >= self.kill_at + after
    }

    /// Sends what is due to the processes that are left, and to a group that is
    /// known to be theirs.
    pub fn signal(&mut self, group: Option<u32>, left: &[u32]) {
        let signals: &[Signal] = if !self.asked {
            // A stopped process hears nothing until it goes on.
            &[Signal::TERM, Signal::CONT]
        } else if self.is_killing() {
            &[Signal::KILL]
        } else {
            &[]
        };
        self.asked = true;
        for signal in signals {
            if let Some(leader) = group {
                signal_group(leader, *signal);
            }
            signal_each(left, *signal);
        }
    }
}

/// Sends a signal to the group of a leader. A number that no child of ours can
/// have is passed over: to the system, group 1 means every process there is.
pub fn signal_group(leader: u32, signal: Signal) {
    if leader > 1
        && let Some(group) = pid_of(leader)
    {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Sends a signal to each; those that have ended meanwhile are passed over.
pub fn signal_each(pids: &[u32], signal: Signal) {
    for pid in pids.iter().copied().filter_map(pid_of) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Whether a process with this number runs; an uncollected dead one does not.
#[must_use]
pub fn process_exists(pid: u32) -> bool {
    if Process::read(pid).is_some_and(|process| !process.is_living()) {
        return false;
    }
    // A process of another user answers with a refusal, which proves it.
    pid_of(pid)
        .is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// When a living process began, in clock ticks since boot; nothing where the
/// system does not tell. Numbers are used again; a number with its start is not.
#[must_use]
pub fn process_start(pid: u32) -> Option<u64> {
    let process = Process::read(pid)?;
    process.is_living().then_some(process.start_ticks)
}

/// The recorded process still lives, and is not another with its number.
#[must_use]
pub fn is_same_process(pid: u32, start: Option<u64>) -> bool {
    match start {
        Some(start) => process_start(pid) == Some(start),
        None => process_exists(pid),
    }
}

/// The processes that hold the lock on a file (`flock`); none where the system does not
/// tell. Files of two file systems may have one number, so there may be one too many.
#[must_use]
pub fn lock_holders(file: &std::path::Path) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt;
    let Ok(found) = std::fs::metadata(file) else {
        return Vec::new();
    };
    let Ok(locks) = std::fs::read_to_string("/proc/locks") else {
        return Vec::new();
    };
    // `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`; who waits for one has `->` before it.
    let holder = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_lock = words.next() == Some("FLOCK");
        let holder = words.nth(2)?.parse().ok()?;
        let inode: u64 = words.next()?.rsplit(':').next()?.parse().ok()?;
        (is_lock && inode == found.ino()).then_some(holder)
    };
    locks.lines().filter_map(holder).collect()
}

/// How much memory of this process is in RAM; nothing where the system does not tell.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// None for 0, which would mean the sender's own group.
fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "processes_tests.rs"]
mod tests;
