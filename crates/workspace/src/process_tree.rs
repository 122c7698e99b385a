//! A command and everything it started, ended together.
//!
//! A command leads a process group and carries a mark in its environment, which
//! its descendants inherit. On Linux whatever has the group, the mark, or a
//! parent that has either belongs to it, so a process that left the group and
//! lost its parent is still found. Elsewhere only the group is known.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use missiond_os::processes::{Ending, ProcessTable, Signal, signal_each, signal_group};
use tokio::process::Child;

/// How long a process may take to end when asked.
const GRACE: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Processes that multiply faster than they are ended are given up after this.
const GIVE_UP_AFTER: Duration = Duration::from_secs(5);

/// The variable whose value is a command's mark.
pub(crate) const MARK: &str = "MISSION_RUN";
/// The variable that says in which folder a command was run.
pub(crate) const MARK_FOLDER: &str = "MISSION_RUN_FOLDER";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leader {
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
        let leader = || match child.try_wait() {
            Ok(None) => Leader::Held,
            Ok(Some(_)) | Err(_) => Leader::Collected,
        };
        self.end_while(leader).await;
    }

    /// The same for what is left when the leader has ended by itself.
    pub(crate) async fn end_leftovers(&self) {
        self.end_while(|| Leader::Collected).await;
    }

    /// At once, without waiting: for a future that is dropped.
    pub(crate) fn kill_now(&self) {
        signal_group(self.leader, Signal::KILL);
        signal_each(&self.living(Leader::Held), Signal::KILL);
    }

    async fn end_while(&self, mut leader: impl FnMut() -> Leader) {
        let mut ending = Ending::within(GRACE);
        loop {
            let leader = leader();
            let left = self.living(leader);
            if leader == Leader::Collected && left.is_empty() {
                return;
            }
            if ending.is_hopeless(GIVE_UP_AFTER) {
                tracing::warn!(
                    leader = self.leader,
                    left = left.len(),
                    "command processes not ended"
                );
                return;
            }
            let group = (leader == Leader::Held).then_some(self.leader);
            ending.signal(group, &left);
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn living(&self, leader: Leader) -> Vec<u32> {
        let table = ProcessTable::read();
        // While one of a group is left its number is not given away; a process
        // that has the number of a collected leader is somebody else.
        let reused =
            leader == Leader::Collected && table.living().any(|process| process.pid == self.leader);
        table.with_descendants(|process| {
            (process.group == self.leader && !reused) || process.has_variable(&self.mark)
        })
    }
}

/// Ends what commands of a process that is gone left running in this folder.
/// Returns how many there were.
pub async fn end_strays(folder: &Path) -> usize {
    let mut mark = format!("{MARK_FOLDER}=").into_bytes();
    mark.extend_from_slice(folder.as_os_str().as_bytes());
    let began = std::time::Instant::now();
    let mut ended = 0;
    while began.elapsed() < GIVE_UP_AFTER {
        let strays = ProcessTable::read().with_descendants(|process| process.has_variable(&mark));
        if strays.is_empty() {
            break;
        }
        ended = ended.max(strays.len());
        signal_each(&strays, Signal::KILL);
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    ended
}

/// Ends the group of a child that has no mark, and collects it.
pub(crate) async fn end_group(leader: u32, child: &mut Child) {
    signal_group(leader, Signal::TERM);
    if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
        signal_group(leader, Signal::KILL);
        let _ = child.wait().await;
    }
}
