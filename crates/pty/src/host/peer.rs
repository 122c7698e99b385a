//! Who is at the other end of a host's socket: told by the process, and by nothing it says.
//!
//! Keys that arrive at a host are typed, so a program of a slot that could connect would
//! answer its own dialogs, and one that could pose as a host would be told what people type.
//! A host lets in the daemon that started it, and later whoever holds the lock of the
//! daemon's home; nobody below a host is let in, whatever it holds. A daemon believes a
//! socket only if the host on record listens there, and a record only if it names a host
//! that is in no slot.
//!
//! A host above the process that looks is no sign: who runs missiond in a slot of another
//! missiond has it above everything.

use std::path::{Path, PathBuf};

use missiond_os::lineage::{Lineage, Unknown};
use missiond_os::processes::{Process, is_same_process, lock_holders, process_start};
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;

use super::process::{HostFiles, HostRecord};

/// The word of the command line by which a host is known.
pub(super) const HOST_COMMAND: &str = "pty-host";
/// So much of a program's name is told.
const NAME: usize = 80;

/// A process that was turned away, for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stranger {
    pub pid: u32,
    /// What it calls itself.
    pub program: String,
    /// The nearest host above it, by its number and start: then it runs in that host's slot.
    pub host: Option<(u32, u64)>,
    /// How often it came, with others of the same slot.
    pub attempts: u64,
}

impl Stranger {
    /// The process of this number, as far as it can still be read.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        let lineage = Lineage::of(pid).ok();
        Self::known(pid, lineage.as_ref())
    }

    fn known(pid: u32, lineage: Option<&Lineage>) -> Self {
        let first = lineage.and_then(|lineage| lineage.processes.first());
        let name = first
            .and_then(|first| first.argument(0))
            .unwrap_or_default();
        let name = String::from_utf8_lossy(&name);
        let name = name.rsplit('/').next().unwrap_or_default();
        Self {
            pid,
            program: name
                .chars()
                .filter(|one| !one.is_control())
                .take(NAME)
                .collect(),
            host: lineage
                .and_then(host_above)
                .map(|host| (host.pid, host.start_ticks)),
            attempts: 1,
        }
    }
}

/// Who is let in at the socket of a host.
#[derive(Debug, Clone)]
pub(super) struct Door {
    daemon_lock: Option<PathBuf>,
    /// The daemon that started this host, by its number and start.
    starter: Option<(u32, u64)>,
}

impl Door {
    /// For the host that runs in this process and was just started, and whose socket is in
    /// the folder of hosts of a home.
    pub(super) fn of(socket: &Path) -> Self {
        let run = socket.parent().and_then(Path::parent);
        let parent = rustix::process::getppid();
        let parent = parent.map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
        Self {
            daemon_lock: run.map(|run| run.join("daemon.lock")),
            starter: parent.and_then(|pid| Some((pid, process_start(pid)?))),
        }
    }

    /// Reads the table of processes: blocks for a moment.
    pub(super) fn admit(&self, stream: &UnixStream) -> Result<(), Stranger> {
        let peer = stream.peer_cred().ok();
        let pid = peer.and_then(|peer| u32::try_from(peer.pid()?).ok());
        let own = rustix::process::geteuid().as_raw();
        let (Some(peer), Some(pid)) = (peer, pid) else {
            return Err(Stranger::of(0));
        };
        if peer.uid() != own {
            return Err(Stranger::of(pid));
        }
        match Lineage::of(pid) {
            Ok(lineage) if !is_of_a_slot(&lineage) && self.is_daemon(pid) => Ok(()),
            Ok(lineage) => Err(Stranger::known(pid, Some(&lineage))),
            // Nobody can be told from anybody; `mission doctor` says so.
            Err(Unknown::NoTable) => Ok(()),
            Err(Unknown::Ended | Unknown::Restless) => Err(Stranger::known(pid, None)),
        }
    }

    /// Whether this is the daemon of the home. Where nobody is known to hold its lock, it
    /// does not run, or the system does not tell who holds locks; then only what is below a
    /// host is known to be another.
    fn is_daemon(&self, pid: u32) -> bool {
        let is_starter = self
            .starter
            .is_some_and(|(starter, start)| pid == starter && process_start(pid) == Some(start));
        is_starter
            || self.daemon_lock.as_deref().is_none_or(|lock| {
                let holders = lock_holders(lock);
                holders.is_empty() || holders.contains(&pid)
            })
    }
}

/// Whether a process is a program of a slot, or comes of one.
#[must_use]
pub fn is_of_a_slot(lineage: &Lineage) -> bool {
    lineage.is_marked || host_above(lineage).is_some()
}

/// The nearest host above a process that is not above this one too, or is this one: then the
/// process is a program of a slot, or comes of one.
fn host_above(lineage: &Lineage) -> Option<Process> {
    let own = std::process::id();
    let mut hosts = lineage.processes.iter().filter(|one| is_host(one));
    let first = hosts.next()?;
    let above: Vec<u32> = match Lineage::of(own) {
        Ok(lineage) => lineage.processes.iter().map(|one| one.pid).collect(),
        Err(_) => Vec::new(),
    };
    let is_foreign = |one: &&Process| one.pid == own || !above.contains(&one.pid);
    std::iter::once(first)
        .chain(hosts)
        .find(is_foreign)
        .copied()
}

fn is_host(process: &Process) -> bool {
    process
        .argument(1)
        .is_some_and(|word| word == HOST_COMMAND.as_bytes())
}

/// The slot of these hosts in which this process runs, whichever program it is.
#[must_use]
pub fn slot_around(run_dir: &Path) -> Option<HostRecord> {
    let lineage = Lineage::of(std::process::id()).ok()?;
    let mut records = HostFiles::records(run_dir).ok()?.into_iter();
    records.find(|record| {
        lineage.processes.iter().any(|one| {
            one.pid == record.host_pid && record.host_start_ticks == Some(one.start_ticks)
        })
    })
}

impl HostRecord {
    /// Whether it may be believed: a record is a file, and every program of this user can
    /// write files. Of a host that is gone there is nothing to believe.
    #[must_use]
    pub fn is_credible(&self) -> bool {
        if !self.is_alive() {
            return true;
        }
        match Lineage::of(self.host_pid) {
            Ok(mut lineage) => {
                let is_host = lineage.processes.first().is_some_and(is_host);
                // It is a host, and none may be above it.
                lineage.processes.remove(0);
                is_host && host_above(&lineage).is_none()
            }
            Err(Unknown::NoTable | Unknown::Ended) => true,
            Err(Unknown::Restless) => false,
        }
    }

    /// Whether the host on record listens at the other end; who does if it is another. Where
    /// the system does not say who listens, it is believed.
    pub(super) fn listens_at(&self, stream: &UnixStream) -> Result<(), u32> {
        let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let Some(pid) = peer.and_then(|pid| u32::try_from(pid).ok()) else {
            return Ok(());
        };
        if pid == self.host_pid && is_same_process(pid, self.host_start_ticks) {
            Ok(())
        } else {
            Err(pid)
        }
    }
}
