//! A disk that fails when a test says so: a filesystem in this process's
//! memory, mounted by FUSE where the daemon keeps its data.
//!
//! A write can be read at once but is durable only after a sync of its file, and
//! a power cut takes every file back to what is durable. Creating, renaming and
//! removing count as durable at once, and so does a mode: what is modelled is
//! the loss of contents and sizes, which is where databases go wrong.

mod contents;
mod nodes;
mod served;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fuser::{BackgroundSession, Errno, INodeNo};

pub(crate) use contents::Unsynced;
use nodes::Nodes;
use served::Served;

use crate::harness::{PATIENCE, TestHome};

/// Whether the disk takes changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    ReadWrite,
    ReadOnly,
}

/// How a sync ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    Succeeds,
    /// The next one fails, those after it succeed.
    FailsOnce,
    Fails,
}

/// How a read ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Succeeds,
    /// Each takes a moment.
    Slow,
    Fails,
}

/// A mounted disk. Dropping it unmounts.
pub(crate) struct FaultDisk {
    disk: Arc<Disk>,
    session: Option<BackgroundSession>,
    mountpoint: PathBuf,
}

/// A home whose data folder is a [`FaultDisk`].
pub(crate) struct FaultyHome {
    pub(crate) home: TestHome,
    pub(crate) disk: FaultDisk,
}

/// The disk, as both the test and the kernel's requests reach it.
#[derive(Debug)]
struct Disk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    nodes: Nodes,
    power: Power,
    /// Bytes that fit on the disk.
    capacity: u64,
    access: Access,
    sync: Sync,
    failed_syncs: u64,
    read: Read,
    /// Files that some process has open or mapped.
    open: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    On,
    /// Goes with the n-th change from now.
    Fading(u64),
    Off,
}

impl FaultDisk {
    /// Mounts an empty disk, or says on stderr why the test cannot run.
    pub(crate) fn mount(at: &Path) -> Option<Self> {
        if !Path::new("/dev/fuse").exists() {
            eprintln!("skipped: there is no /dev/fuse on this machine");
            return None;
        }
        std::fs::create_dir_all(at).unwrap();
        let disk = Arc::new(Disk::default());
        let mut config = fuser::Config::default();
        config.mount_options = vec![fuser::MountOption::FSName("fault-disk".to_owned())];
        match fuser::spawn_mount(Served(Arc::clone(&disk)), at, &config) {
            Ok(session) => Some(Self {
                disk,
                session: Some(session),
                mountpoint: at.to_owned(),
            }),
            Err(error) if std::env::var_os("CI").is_some_and(|ci| ci == "true") => {
                panic!("a FUSE filesystem cannot be mounted although /dev/fuse exists: {error}")
            }
            Err(error) => {
                eprintln!("skipped: a FUSE filesystem cannot be mounted here: {error}");
                None
            }
        }
    }

    /// The power goes at the n-th write, sync or other change from now; after
    /// it every request fails.
    pub(crate) fn lose_power_after(&self, changes: u64) {
        self.disk.lock().power = Power::Fading(changes.max(1));
    }

    pub(crate) fn lose_power(&self) {
        self.disk.lock().power = Power::Off;
        self.disk.changed.notify_all();
    }

    pub(crate) fn power_is_lost(&self) -> bool {
        self.disk.lock().power == Power::Off
    }

    pub(crate) fn wait_until_power_is_lost(&self) {
        drop(
            self.disk
                .wait_until("the power to go", |state| state.power == Power::Off),
        );
    }

    /// Ends a power cut: every file is as durable as it was. Whatever had the
    /// files open must have ended before.
    pub(crate) fn restore_power(&self, unsynced: Unsynced) {
        let mut state = self
            .disk
            .wait_until("every file to be closed", |state| state.open == 0);
        state.nodes.lose_power(unsynced);
        state.power = Power::On;
    }

    /// From now on, only this many bytes more fit on the disk.
    pub(crate) fn full_after(&self, bytes: u64) {
        let mut state = self.disk.lock();
        state.capacity = state.nodes.used() + bytes;
    }

    pub(crate) fn make_room(&self) {
        self.disk.lock().capacity = u64::MAX;
    }

    pub(crate) fn set_access(&self, access: Access) {
        self.disk.lock().access = access;
    }

    pub(crate) fn set_sync(&self, sync: Sync) {
        self.disk.lock().sync = sync;
    }

    pub(crate) fn set_read(&self, read: Read) {
        self.disk.lock().read = read;
    }

    /// Lets the kernel forget its copy of a file, so that whoever reads it next
    /// reads the disk.
    pub(crate) fn drop_cached(&self, file: &Path) {
        let name = file.file_name().unwrap();
        // The kernel may ask for something while it forgets: no lock is held.
        let number = self.disk.lock().nodes.find(INodeNo::ROOT, name).unwrap();
        let session = self.session.as_ref().expect("mounted until dropped");
        session.notifier().inval_inode(number, 0, 0).unwrap();
    }

    /// Waits for that many failed syncs since the disk was mounted.
    pub(crate) fn wait_for_failed_syncs(&self, count: u64) {
        drop(
            self.disk
                .wait_until("a sync to fail", |state| state.failed_syncs >= count),
        );
    }

    pub(crate) fn failed_syncs(&self) -> u64 {
        self.disk.lock().failed_syncs
    }

    fn heal(&self) {
        let mut state = self.disk.lock();
        state.power = Power::On;
        state.capacity = u64::MAX;
        state.access = Access::ReadWrite;
        state.sync = Sync::Succeeds;
        state.read = Read::Succeeds;
    }

    fn unmount(&mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        if session.umount_and_join().is_err() {
            // Someone still has a file open, or is just letting go of it. The
            // mount goes away when they have.
            let _ = Command::new("umount")
                .arg("--lazy")
                .arg(&self.mountpoint)
                .status();
        }
    }
}

impl Drop for FaultDisk {
    fn drop(&mut self) {
        self.unmount();
    }
}

impl FaultyHome {
    /// A home with an empty disk, or `None` where FUSE is not to be had.
    pub(crate) fn new() -> Option<Self> {
        Self::with_config("")
    }

    pub(crate) fn with_config(config: &str) -> Option<Self> {
        let home = TestHome::with_config(config);
        let disk = FaultDisk::mount(home.home().data_dir())?;
        Some(Self { home, disk })
    }

    /// Ends the daemon without a goodbye, if it has not ended by itself.
    pub(crate) fn kill_if_alive(&self) {
        let home = self.home.home();
        if missiond_daemon::Instance::is_held(&home).unwrap()
            && let Some(record) = missiond_daemon::PidRecord::read(&home)
            && record.is_alive()
        {
            let pid = rustix::process::Pid::from_raw(record.pid.cast_signed()).unwrap();
            // It may be gone by now, which is as good.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        self.home.wait_until_gone();
    }
}

impl Drop for FaultyHome {
    fn drop(&mut self) {
        // The daemon must let go of the disk before it is unmounted, and the
        // disk must be gone before the folder it is mounted on is removed.
        self.disk.heal();
        let _ = self.home.command(&["daemon", "stop", "--force"]).output();
        self.disk.unmount();
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                nodes: Nodes::new(),
                power: Power::On,
                capacity: u64::MAX,
                access: Access::ReadWrite,
                sync: Sync::Succeeds,
                failed_syncs: 0,
                read: Read::Succeeds,
                open: 0,
            }),
            changed: Condvar::new(),
        }
    }
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until(&self, what: &str, so: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let (state, waited) = self
            .changed
            .wait_timeout_while(self.lock(), PATIENCE, |state| !so(state))
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "waited in vain for {what}");
        state
    }
}

impl State {
    fn begin_inspect(&self) -> Result<(), Errno> {
        match self.power {
            Power::Off => Err(Errno::EIO),
            Power::On | Power::Fading(_) => Ok(()),
        }
    }

    fn begin_change(&mut self) -> Result<(), Errno> {
        match self.power {
            Power::Off | Power::Fading(0 | 1) => {
                self.power = Power::Off;
                return Err(Errno::EIO);
            }
            Power::Fading(changes) => self.power = Power::Fading(changes - 1),
            Power::On => {}
        }
        match self.access {
            Access::ReadOnly => Err(Errno::EROFS),
            Access::ReadWrite => Ok(()),
        }
    }

    fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.nodes.used())
    }
}

/// Small, seeded, and the same everywhere, so that a failure can be looked at
/// again.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}
