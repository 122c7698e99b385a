//! Who may speak to a host: the daemon of its user, and nobody who runs in a slot.
//!
//! Keys that arrive here are typed, so a program of a slot that could connect would answer
//! its own dialogs. It is told by what stands above it: its own host or another's. A host
//! above this one is no sign: who runs missiond in a slot of another missiond has it above
//! everything. A daemon may stand below a host too, where an agent's command started it; it
//! is known by the lock of its home, which one process holds at a time.

use std::path::{Path, PathBuf};

use missiond_os::lineage::{Lineage, Unknown};
use missiond_os::processes::{Process, holds_lock};
use tokio::net::UnixStream;

/// The word of the command line by which a host is known.
pub(super) const HOST_COMMAND: &str = "pty-host";

#[derive(Debug, Clone)]
pub(super) struct Door {
    daemon_lock: Option<PathBuf>,
}

impl Door {
    /// For a host whose socket is in the folder of hosts of a home.
    pub(super) fn of(socket: &Path) -> Self {
        let run = socket.parent().and_then(Path::parent);
        Self {
            daemon_lock: run.map(|run| run.join("daemon.lock")),
        }
    }

    /// Reads the table of processes: blocks for a moment.
    pub(super) fn admits(&self, stream: &UnixStream) -> bool {
        let Ok(peer) = stream.peer_cred() else {
            return false;
        };
        if peer.uid() != rustix::process::geteuid().as_raw() {
            return false;
        }
        let Some(pid) = peer.pid().and_then(|pid| u32::try_from(pid).ok()) else {
            return false;
        };
        match Lineage::of(pid) {
            Ok(lineage) => {
                !is_in_a_slot(&lineage)
                    || self
                        .daemon_lock
                        .as_deref()
                        .is_some_and(|lock| holds_lock(pid, lock))
            }
            // Nobody can be told from anybody; `mission doctor` says so.
            Err(Unknown::NoTable) => true,
            Err(Unknown::Ended | Unknown::Restless) => false,
        }
    }
}

fn is_in_a_slot(peer: &Lineage) -> bool {
    let own = std::process::id();
    let above: Vec<u32> = match Lineage::of(own) {
        Ok(lineage) => lineage.processes.iter().map(|one| one.pid).collect(),
        Err(_) => Vec::new(),
    };
    let is_foreign = |one: &Process| one.pid == own || !above.contains(&one.pid);
    let is_host = |one: &Process| {
        one.argument(1)
            .is_some_and(|word| word == HOST_COMMAND.as_bytes())
    };
    peer.processes
        .iter()
        .any(|one| is_foreign(one) && is_host(one))
}
