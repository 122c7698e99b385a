//! A daemon of its own for a measurement, in a home that is removed after.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use missiond_api::Home;
use missiond_core::ErrorCode;

use crate::failure::Failure;

pub(super) struct TemporaryDaemon {
    folder: tempfile::TempDir,
}

impl TemporaryDaemon {
    /// A home without a daemon yet.
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self {
            folder: tempfile::Builder::new()
                .prefix("mission-bench-")
                .tempdir()?,
        })
    }

    pub(super) fn home(&self) -> Home {
        Home::under(self.folder.path())
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// This very program, for this home.
    pub(super) fn mission(&self, args: &[&str]) -> Result<Command, Failure> {
        Ok(mission_in(self.folder.path(), args)?)
    }

    pub(super) fn run(&self, args: &[&str]) -> Result<(), Failure> {
        let done = self.mission(args)?.output()?;
        if done.status.success() {
            return Ok(());
        }
        let message = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        Err(Failure::new(
            ErrorCode::Internal,
            format!("`mission {}`: {message}", args.join(" ")),
        ))
    }
}

/// This very program, for the home in this folder.
pub(super) fn mission_in(folder: &Path, args: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(args)
        .env("MISSION_HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    Ok(command)
}

impl Drop for TemporaryDaemon {
    fn drop(&mut self) {
        let _ = self.run(&["daemon", "stop", "--force"]);
    }
}
