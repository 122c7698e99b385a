//! The new program before it is in its place: unpacked beside the old one, and asked
//! which version it is.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use missiond_core::ErrorCode;
use missiond_os::files;
use semver::Version;
use serde_json::Value;
use tempfile::TempPath;

use super::archive;
use crate::failure::Failure;

/// To say its version it needs a few milliseconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(5);

/// A program that works on this machine; its file is removed unless it is put in place.
#[derive(Debug)]
pub(super) struct Candidate {
    file: TempPath,
    pub(super) version: Version,
}

impl Candidate {
    /// Unpacks the program of a release into the folder of the one that is installed.
    pub(super) fn unpack(release: &[u8], installed: &Path) -> Result<Self, Failure> {
        let folder = installed.parent().unwrap_or(Path::new("/"));
        let mut file = tempfile::Builder::new()
            .prefix(".mission-")
            .tempfile_in(folder)
            .map_err(|error| unwritable(folder, &error))?;
        archive::unpack(release, &mut file)?;
        let mode = fs::metadata(installed)?.permissions().mode() | 0o500;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(mode & 0o777))?;
        file.as_file().sync_all()?;
        // A file that is open for writing cannot be run.
        let file = file.into_temp_path();
        let version = ask_version(&file)?;
        Ok(Self { file, version })
    }

    /// Takes the place of the installed program, in one step.
    pub(super) fn put_in_place(self, installed: &Path) -> io::Result<()> {
        self.file.persist(installed).map_err(|error| error.error)?;
        installed.parent().map_or(Ok(()), files::sync_dir)
    }
}

fn unwritable(folder: &Path, error: &io::Error) -> Failure {
    let message = format!(
        "not installed: the folder of the program, {}, cannot be written: {error}",
        folder.display()
    );
    Failure::new(ErrorCode::Forbidden, message).hint("run it as the user who installed it")
}

fn ask_version(program: &Path) -> Result<Version, Failure> {
    let unusable = |why: String| {
        let message =
            format!("not installed: the program of the release does not work here: {why}");
        Failure::new(ErrorCode::InvalidParams, message)
    };
    let mut child = Command::new(program)
        .args(["--json", "version"])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| unusable(error.to_string()))?;
    let deadline = Instant::now() + ANSWER_LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            let seconds = ANSWER_LIMIT.as_secs();
            return Err(unusable(format!(
                "it did not say its version in {seconds} s"
            )));
        }
        std::thread::sleep(POLL);
    };
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        // A version is short; a pipe holds more than is read here.
        let _ = stdout.take(4096).read_to_string(&mut said);
    }
    if !status.success() {
        return Err(unusable(format!(
            "asked for its version it ended with {status}"
        )));
    }
    let value: Option<Value> = serde_json::from_str(&said).ok();
    let version = value.as_ref().and_then(|value| value["version"].as_str());
    version
        .and_then(|version| Version::parse(version).ok())
        .ok_or_else(|| unusable("what it says is no version".to_owned()))
}
