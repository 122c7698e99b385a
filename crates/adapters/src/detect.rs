//! Which agent CLIs this machine has, and in which version.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use missiond_core::CliEngine;
use missiond_os::programs;

use crate::adapter;

/// A CLI that does not say its version in this time is broken or waits for
/// something.
const VERSION_LIMIT: Duration = Duration::from_secs(15);
const LONGEST_ANSWER: u64 = 4 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    pub engine: CliEngine,
    pub program: PathBuf,
    pub version: String,
}

#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    #[error("{engine} is not installed: no program `{program}` in PATH")]
    Missing { engine: CliEngine, program: String },
    #[error("{} does not run: {source}", program.display())]
    DoesNotRun {
        program: PathBuf,
        source: std::io::Error,
    },
    #[error("{} did not say its version within {} s", program.display(), VERSION_LIMIT.as_secs())]
    Silent { program: PathBuf },
    #[error("{} --version says no version: {said}", program.display())]
    NoVersion { program: PathBuf, said: String },
}

/// Looks for an engine's program in `path` (the value of PATH) and asks it for
/// its version. Blocks for as long as the program takes.
pub fn detect(engine: &CliEngine, path: &str) -> Result<Detected, DetectError> {
    let adapter = adapter(engine);
    let name = adapter.program();
    let program = find_program(name, path).ok_or(DetectError::Missing {
        engine: engine.clone(),
        program: name.to_owned(),
    })?;
    let version = ask_version(&program)?;
    Ok(Detected {
        engine: engine.clone(),
        program,
        version,
    })
}

/// The first executable file of this name in `path`. A name with a slash is
/// taken as it is.
#[must_use]
pub fn find_program(name: &str, path: &str) -> Option<PathBuf> {
    if name.contains('/') {
        let program = PathBuf::from(name);
        return programs::is_executable(&program).then_some(program);
    }
    programs::find_program(name, path)
}

fn ask_version(program: &Path) -> Result<String, DetectError> {
    let failed = |source| DetectError::DoesNotRun {
        program: program.to_owned(),
        source,
    };
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let answer = child.stdout.take();
    let (line, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let answer = answer.map(|answer| BufReader::new(answer.take(LONGEST_ANSWER)));
        for read in answer
            .into_iter()
            .flat_map(BufRead::lines)
            .map_while(Result::ok)
        {
            if line.send(read).is_err() {
                return;
            }
        }
    });
    let version = read_version(program, &lines);
    // It has said what it had to say; a program that lingers is not waited for.
    let _ = child.kill();
    let _ = child.wait();
    version
}

fn read_version(program: &Path, lines: &mpsc::Receiver<String>) -> Result<String, DetectError> {
    let until = Instant::now() + VERSION_LIMIT;
    let mut said = String::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => match version_in(&line) {
                Some(version) => return Ok(version),
                None if said.is_empty() => said = line.chars().take(80).collect(),
                None => {}
            },
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Err(DetectError::Silent {
                    program: program.to_owned(),
                });
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(DetectError::NoVersion {
                    program: program.to_owned(),
                    said,
                });
            }
        }
    }
}

/// The first thing that looks like `1.2` or `1.2.3-rc.1`.
fn version_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || c == '(' || c == ')' || c == ',');
    let words = words.map(|word| word.trim_start_matches('v'));
    let is_version = |word: &&str| {
        let mut parts = word.split(['.', '-', '+']);
        let number = |part: Option<&str>| {
            part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        };
        number(parts.next()) && number(parts.next())
    };
    words.into_iter().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn program(folder: &Path, name: &str, script: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn an_installed_cli_is_found_with_its_version() {
        let place = tempfile::tempdir().unwrap();
        let path = format!(":relative:/nowhere:{}", place.path().display());
        let missing = detect(&CliEngine::Claude, &path).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "claude is not installed: no program `claude` in PATH"
        );
        let installed = program(
            place.path(),
            "claude",
            "echo '2.1.325 (Claude Code)'; exec sleep 60",
        );
        let found = detect(&CliEngine::Claude, &path).unwrap();
        assert_eq!(found.program, installed);
        assert_eq!(found.version, "2.1.325");
    }

    #[test]
    fn what_is_no_version_is_shown() {
        let place = tempfile::tempdir().unwrap();
        program(place.path(), "codex", "echo please log in first");
        let path = place.path().display().to_string();
        let error = detect(&CliEngine::Codex, &path).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("says no version: please log in first"),
            "{error}"
        );
    }

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("v0.61.0", Some("0.61.0")),
            ("tool version 1.2.3-rc.1 (abc)", Some("1.2.3-rc.1")),
            ("warning: 3 problems\n1.18.33", Some("1.18.33")),
            ("", None),
            ("x.y.z", None),
        ] {
            assert_eq!(version_in(said).as_deref(), version, "{said}");
        }
    }
}
