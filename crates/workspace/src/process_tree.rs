//! A command and everything it started, ended together.
//!
//! A command leads a process group and carries a mark in its environment, which
//! its descendants inherit. On Linux whatever has the group, the mark, or a
//! parent that has either belongs to it, so a process that left the group and
//! lost its parent is still found. Elsewhere only the group is known.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::Child;

/// How long a process may take to end when asked.
const GRACE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Processes that multiply faster than they are ended are given up after this.
const ROUNDS: u32 = 500;

/// The variable whose value is a command's mark.
pub(crate) const MARK: &str = "MISSION_RUN";
/// The variable that says in which folder a command was run.
pub(crate) const MARK_FOLDER: &str = "MISSION_RUN_FOLDER";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leader {
    /// Not waited for yet: its number is its own.
    Held,
    /// Its number may already be another's, if none of its group is left.
    Collected,
}

#[derive(Debug, Clone)]
pub(crate) struct Tree {
    leader: u32,
    /// `NAME=value` as it stands in an environment.
    mark: Vec<u8>,
}

impl Tree {
    pub(crate) fn new(leader: u32, mark: &str) -> Self {
        Self {
            leader,
            mark: format!("{MARK}={mark}").into_bytes(),
        }
    }

    /// Asks every process to end and makes those end that do not; also collects
    /// the leader.
    pub(crate) async fn end(&self, child: &mut Child) {
        self.signal(Leader::Held, Signal::TERM);
        let _ = tokio::time::timeout(GRACE, async {
            let _ = child.wait().await;
            self.until_gone().await;
        })
        .await;
        if child.try_wait().is_ok_and(|status| status.is_none()) {
            self.signal(Leader::Held, Signal::KILL);
            let _ = child.wait().await;
        }
        self.end_rest().await;
    }

    /// The same for what is left when the leader has ended by itself.
    pub(crate) async fn end_leftovers(&self) {
        if self.signal(Leader::Collected, Signal::TERM) == 0 {
            return;
        }
        let _ = tokio::time::timeout(GRACE, self.until_gone()).await;
        self.end_rest().await;
    }

    /// At once, without waiting: for a future that is dropped.
    pub(crate) fn kill_now(&self) {
        self.signal(Leader::Held, Signal::KILL);
    }

    async fn end_rest(&self) {
        for _ in 0..ROUNDS {
            if self.signal(Leader::Collected, Signal::KILL) == 0 {
                return;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        tracing::warn!(
            leader = self.leader,
            "processes of a command could not be ended"
        );
    }

    async fn until_gone(&self) {
        while !self.living(Leader::Collected).is_empty() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// To how many it was sent.
    fn signal(&self, leader: Leader, signal: Signal) -> usize {
        if leader == Leader::Held
            && let Some(group) = pid_of(self.leader)
        {
            let _ = rustix::process::kill_process_group(group, signal);
        }
        let living = self.living(leader);
        for pid in living.iter().copied().filter_map(pid_of) {
            let _ = rustix::process::kill_process(pid, signal);
        }
        living.len()
    }

    fn living(&self, leader: Leader) -> Vec<u32> {
        let processes = processes();
        // While one of a group is left its number is not given away; a process
        // that has the number of a collected leader is somebody else.
        let reused = leader == Leader::Collected && processes.iter().any(|p| p.pid == self.leader);
        let belongs = |process: &Process| {
            (process.group == self.leader && !reused) || has_variable(process.pid, &self.mark)
        };
        with_descendants(&processes, belongs)
    }
}

/// Ends what commands of a process that is gone left running in this folder.
/// Returns how many there were.
pub async fn end_strays(folder: &Path) -> usize {
    let mut mark = format!("{MARK_FOLDER}=").into_bytes();
    mark.extend_from_slice(folder.as_os_str().as_bytes());
    let mut ended = 0;
    for _ in 0..ROUNDS {
        let strays = with_descendants(&processes(), |process| has_variable(process.pid, &mark));
        if strays.is_empty() {
            break;
        }
        ended = ended.max(strays.len());
        for pid in strays.into_iter().filter_map(pid_of) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    ended
}

/// Ends the group of a child that has no mark, and collects it.
pub(crate) async fn end_group(leader: u32, child: &mut Child) {
    let Some(group) = pid_of(leader) else { return };
    let _ = rustix::process::kill_process_group(group, Signal::TERM);
    if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
        let _ = child.wait().await;
    }
}

struct Process {
    pid: u32,
    parent: u32,
    group: u32,
}

/// Every living process; none where the system does not tell.
fn processes() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(process)
        .collect()
}

fn process(pid: u32) -> Option<Process> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything; only its closing parenthesis is sure.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    Some(Process {
        pid,
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
    })
}

fn has_variable(pid: u32, wanted: &[u8]) -> bool {
    std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
        environ
            .split(|byte| *byte == 0)
            .any(|variable| variable == wanted)
    })
}

fn with_descendants(processes: &[Process], belongs: impl Fn(&Process) -> bool) -> Vec<u32> {
    let own = std::process::id();
    let mut found: Vec<u32> = processes
        .iter()
        .filter(|process| process.pid != own && belongs(process))
        .map(|process| process.pid)
        .collect();
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        next += 1;
        for child in processes.iter().filter(|process| process.parent == parent) {
            if !found.contains(&child.pid) {
                found.push(child.pid);
            }
        }
    }
    found
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
