//! One daemon per home.
//!
//! The lock on a file is what says that a daemon lives: the kernel lets go of
//! it however the process ends, so there is nothing stale to clean up. The PID
//! file is information for people and for a stop that gets no answer; it
//! carries the start time of the process, because PIDs are used again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use missiond_api::Home;
use missiond_core::DaemonId;
use missiond_os::files;
use missiond_os::processes::{is_same_process, process_start};
use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    #[error("a daemon already runs for this home{}", pid.map_or(String::new(), |pid| format!(" (process {pid})")))]
    AlreadyRunning { pid: Option<u32> },
    #[error("cannot create the folder {path}: {source}")]
    CreateDir { path: PathBuf, source: io::Error },
    #[error("the folder {path} belongs to another user: nothing private can be kept there")]
    ForeignDir { path: PathBuf },
    #[error("cannot use the lock file {path}: {source}")]
    Lock { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}")]
    PidFile { path: PathBuf, source: io::Error },
}

/// What the PID file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidRecord {
    pub pid: u32,
    /// This run of the daemon.
    pub daemon: DaemonId,
    /// The process's start in clock ticks since boot, where the system tells.
    pub start_ticks: Option<u64>,
    pub version: String,
}

/// Held for the life of a daemon.
#[derive(Debug)]
pub struct Instance {
    _lock: File,
    pid_file: PathBuf,
    /// This run.
    pub id: DaemonId,
    /// The run before it in this home, when it left its PID file behind: it did
    /// not close, and it is dead, because it no longer holds the lock.
    pub crashed: Option<DaemonId>,
}

impl Instance {
    /// Makes the private folders and takes the lock.
    pub fn acquire(home: &Home) -> Result<Self, InstanceError> {
        for folder in [home.data_dir(), home.run_dir(), &home.log_dir()] {
            private_dir(folder)?;
        }
        let path = home.lock_file();
        let lock = files::open_private_lock(&path).map_err(|source| InstanceError::Lock {
            path: path.clone(),
            source,
        })?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let pid = PidRecord::read(home).map(|record| record.pid);
                return Err(InstanceError::AlreadyRunning { pid });
            }
            Err(TryLockError::Error(source)) => return Err(InstanceError::Lock { path, source }),
        }
        let pid_file = home.pid_file();
        let crashed = PidRecord::read(home).map(|record| record.daemon);
        let id = DaemonId::generate();
        let record = PidRecord::of_this_process(id);
        let written = serde_json::to_vec(&record).map_err(io::Error::from);
        written
            .and_then(|json| files::replace_private_unsynced(&pid_file, &json))
            .map_err(|source| InstanceError::PidFile {
                path: pid_file.clone(),
                source,
            })?;
        Ok(Self {
            _lock: lock,
            pid_file,
            id,
            crashed,
        })
    }

    /// Whether a daemon holds the lock right now.
    pub fn is_held(home: &Home) -> io::Result<bool> {
        match OpenOptions::new()
            .read(true)
            .write(true)
            .open(home.lock_file())
        {
            Ok(file) => match file.try_lock() {
                Ok(()) => Ok(false),
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(error)) => Err(error),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The lock file itself stays: removing it would let a second daemon
        // lock a new file while a third still waits on the old one.
        let _ = std::fs::remove_file(&self.pid_file);
    }
}

impl PidRecord {
    fn of_this_process(daemon: DaemonId) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            daemon,
            start_ticks: process_start(pid),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// What the file says, if it is there and makes sense.
    #[must_use]
    pub fn read(home: &Home) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(home.pid_file()).ok()?).ok()
    }

    /// The recorded process still lives and is not another one that was given
    /// the same number.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        is_same_process(self.pid, self.start_ticks)
    }
}

/// Makes the folder for its owner alone, and closes one that stood open.
fn private_dir(path: &Path) -> Result<(), InstanceError> {
    let failed = |source| InstanceError::CreateDir {
        path: path.to_owned(),
        source,
    };
    files::create_private_dir(path).map_err(failed)?;
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(InstanceError::ForeignDir {
                path: path.to_owned(),
            });
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            let closed = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(path, closed).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_daemon_for_the_same_home_is_refused_until_the_first_ends() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::under(dir.path());
        let first = Instance::acquire(&home).unwrap();
        assert!(Instance::is_held(&home).unwrap());
        let refused = Instance::acquire(&home).unwrap_err().to_string();
        let pid = std::process::id();
        assert_eq!(
            refused,
            format!("a daemon already runs for this home (process {pid})")
        );
        drop(first);
        assert!(!Instance::is_held(&home).unwrap());
        Instance::acquire(&home).unwrap();
    }

    #[test]
    fn folders_are_private_even_if_they_stood_open() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = Home::under(dir.path());
        std::fs::create_dir_all(home.run_dir()).unwrap();
        std::fs::set_permissions(home.run_dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let _instance = Instance::acquire(&home).unwrap();
        for path in [home.run_dir(), home.data_dir()] {
            assert_eq!(
                std::fs::metadata(path).unwrap().permissions().mode() & 0o777,
                0o700
            );
        }
    }
}
