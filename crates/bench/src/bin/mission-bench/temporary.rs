//! A daemon of its own for a measurement, in a home that is removed after.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use missiond_api::Home;
use missiond_console::failure::Failure;
use missiond_console::sibling;
use missiond_core::ErrorCode;

/// The program whose daemons are measured.
#[derive(Debug, Clone)]
pub(crate) struct Mission {
    named: Option<PathBuf>,
}

impl Mission {
    pub(crate) const fn new(named: Option<PathBuf>) -> Self {
        Self { named }
    }

    /// It, for the home in this folder.
    pub(crate) fn command(&self, folder: &Path, args: &[&str]) -> Result<Command, Failure> {
        let found = self.named.clone().or_else(|| sibling::find("mission"));
        let program = found.ok_or_else(|| {
            let message = "there is no `mission` beside this program or in PATH to be measured: \
                           name one with --program";
            Failure::new(ErrorCode::NotFound, message)
        })?;
        let mut command = Command::new(program);
        command
            .args(args)
            .env("MISSION_HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        Ok(command)
    }
}

pub(crate) struct TemporaryDaemon {
    mission: Mission,
    folder: tempfile::TempDir,
}

impl TemporaryDaemon {
    /// A home without a daemon yet.
    pub(crate) fn new(mission: &Mission) -> Result<Self, Failure> {
        Ok(Self {
            mission: mission.clone(),
            folder: tempfile::Builder::new()
                .prefix("mission-bench-")
                .tempdir()?,
        })
    }

    pub(crate) fn home(&self) -> Home {
        Home::under(self.folder.path())
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Result<(), Failure> {
        self.run_with(args, &[])
    }

    /// The same with these variables in its environment.
    pub(crate) fn run_with(
        &self,
        args: &[&str],
        environment: &[(&str, &OsStr)],
    ) -> Result<(), Failure> {
        let mut command = self.mission.command(self.path(), args)?;
        let done = command.envs(environment.iter().copied()).output()?;
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

impl Drop for TemporaryDaemon {
    fn drop(&mut self) {
        let _ = self.run(&["daemon", "stop", "--force"]);
    }
}
