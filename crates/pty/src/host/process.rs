//! What a daemon and a host say about a program before and after it runs: the
//! order to start it, the record by which it is found again, and how it ended.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_core::{CliEngine, SlotId};
use missiond_os::files::replace_private_unsynced;
use missiond_os::hex;
use missiond_os::processes::{Signal, signal_group};
use missiond_sandbox::{Place, Profile};
use missiond_secrets::Detector;
use missiond_semantic::Size;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cgroup::Cgroup;
use super::channel::Channel;
use super::recording::RecordingLimits;

/// What to run and where. Reaches the host on its standard input, so that
/// nothing of it shows in a list of processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    pub slot: SlotId,
    pub name: String,
    pub engine: CliEngine,
    /// The program and its arguments; never a line for a shell.
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// The whole environment of the program.
    pub environment: BTreeMap<String, String>,
    pub size: Size,
    #[serde(default)]
    pub channel: Channel,
    /// What the daemon that starts it wants the next one to know. Nothing secret: it is
    /// in the record and in the recording.
    #[serde(default)]
    pub handover: Option<Value>,
    pub recording: PathBuf,
    pub limits: RecordingLimits,
    /// The slot of the agent that had it started; in the recording, so that what agents
    /// have others record for them is known to be theirs.
    #[serde(default)]
    pub agent: Option<SlotId>,
    /// Behind which wall the program runs; none for no wall.
    #[serde(default)]
    pub sandbox: Option<Place>,
    /// A private folder for the socket and the record.
    pub run_dir: PathBuf,
    #[serde(default = "first_generation")]
    pub generation: u32,
}

/// What a host is told when it starts: what to run, and what it has to mask beside the
/// secrets that have a form. Neither is written anywhere.
#[derive(Serialize, Deserialize)]
pub(super) struct Order {
    #[serde(flatten)]
    pub(super) spec: LaunchSpec,
    /// In hexadecimal digits, because they may be any bytes.
    #[serde(default)]
    known: Vec<String>,
}

impl Order {
    pub(super) fn new(spec: &LaunchSpec) -> Self {
        let known = Detector::learned();
        Self {
            spec: spec.clone(),
            known: known.iter().map(|value| hex::encode(value)).collect(),
        }
    }

    /// From now on this process masks what the daemon knew.
    pub(super) fn learn(&self) {
        Detector::learn(self.known.iter().filter_map(hex::decode));
    }
}

/// The program that takes the place of the one that runs in a slot. The host ends that,
/// starts this, and from then on listens to nobody who spoke to the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// One more than that of the program before.
    pub generation: u32,
    pub argv: Vec<String>,
    /// Added to what the program before was given.
    pub environment: BTreeMap<String, String>,
    pub size: Size,
    pub channel: Channel,
    pub handover: Option<Value>,
    pub recording: PathBuf,
    /// How long the program before may take to end by itself.
    pub grace_ms: u64,
}

impl Handoff {
    /// The whole order for the program, behind the one before.
    pub(super) fn after(self, before: &LaunchSpec) -> LaunchSpec {
        let mut environment = before.environment.clone();
        environment.extend(self.environment);
        LaunchSpec {
            generation: self.generation,
            argv: self.argv,
            environment,
            size: self.size,
            channel: self.channel,
            handover: self.handover,
            recording: self.recording,
            ..before.clone()
        }
    }
}

/// That of a program that follows no other, also where nobody counted.
fn first_generation() -> u32 {
    1
}

/// Names a running host. Written when the program runs, and once more when it
/// has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    pub slot: SlotId,
    pub name: String,
    pub engine: CliEngine,
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub recording: PathBuf,
    pub host_pid: u32,
    /// Process numbers are used again; number and start time together are not.
    pub host_start_ticks: Option<u64>,
    pub program_pid: u32,
    #[serde(default)]
    pub program_start_ticks: Option<u64>,
    /// The slot's control group; without one its process group and the host
    /// hold it together.
    #[serde(default)]
    pub cgroup: Option<PathBuf>,
    #[serde(default)]
    pub channel: Channel,
    #[serde(default)]
    pub handover: Option<Value>,
    /// How many programs have had the slot, with this one.
    #[serde(default = "first_generation")]
    pub generation: u32,
    /// Microseconds since 1970: time zero of the recording.
    pub started_at_us: i64,
    pub exited: Option<ExitStatus>,
    /// How thick the wall around it is; none for no wall.
    #[serde(default)]
    pub sandbox: Option<Profile>,
}

impl HostRecord {
    /// The host still lives, and is not another process with its number.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        crate::is_same_process(self.host_pid, self.host_start_ticks)
    }

    /// Its program runs: a host stays for a while when that has ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.exited.is_none() && self.is_alive()
    }

    /// Ends what a host that was killed could not end itself. Without a control
    /// group that is the program and its process group; a process that left the
    /// group has no one who knows of it.
    pub fn end_leftovers(&self) {
        if self.is_alive() {
            return;
        }
        if self.program_start_ticks.is_some()
            && crate::is_same_process(self.program_pid, self.program_start_ticks)
        {
            signal_group(self.program_pid, Signal::KILL);
        }
        let Some(cgroup) = self.cgroup.as_deref().and_then(Cgroup::existing) else {
            return;
        };
        cgroup.kill();
        // The kernel is done with it within moments, and nobody else waits for it.
        for _ in 0..100 {
            if !cgroup.is_populated() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        cgroup.remove();
    }
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitStatus {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl ExitStatus {
    /// Of a program whose end nobody saw.
    pub const UNSEEN: Self = Self {
        code: None,
        signal: None,
    };
}

impl From<std::process::ExitStatus> for ExitStatus {
    fn from(status: std::process::ExitStatus) -> Self {
        Self {
            code: status.code(),
            signal: std::os::unix::process::ExitStatusExt::signal(&status),
        }
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "the program ended with status {code}"),
            (None, Some(signal)) => write!(f, "the program was ended by signal {signal}"),
            (None, None) => f.write_str("the program ended"),
        }
    }
}

/// The files of one host in the run folder.
#[derive(Debug, Clone)]
pub struct HostFiles {
    pub socket: PathBuf,
    pub record: PathBuf,
}

impl HostFiles {
    #[must_use]
    pub fn new(run_dir: &Path, slot: SlotId) -> Self {
        Self {
            socket: run_dir.join(format!("{slot}.sock")),
            record: run_dir.join(format!("{slot}.json")),
        }
    }

    /// The record as it is now; none where there is no host.
    #[must_use]
    pub fn read(&self) -> Option<HostRecord> {
        let json = std::fs::read(&self.record).ok()?;
        serde_json::from_slice(&json).ok()
    }

    /// Every record in a run folder. A file that is none is passed over.
    pub fn records(run_dir: &Path) -> io::Result<Vec<HostRecord>> {
        let entries = match std::fs::read_dir(run_dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut records = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let record = std::fs::read(&path)
                .ok()
                .and_then(|json| serde_json::from_slice::<HostRecord>(&json).ok());
            records.extend(record);
        }
        records.sort_by_key(|record| record.slot);
        Ok(records)
    }

    /// Puts the record in place whole: a reader sees the old or the new one.
    /// A power loss ends the process it names, so nothing waits for the disk.
    pub(super) fn write(&self, record: &HostRecord) -> io::Result<()> {
        let json = serde_json::to_vec(record).map_err(io::Error::from)?;
        replace_private_unsynced(&self.record, &json)
    }

    /// Removes what is there.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.socket);
        let _ = std::fs::remove_file(&self.record);
    }
}
