//! The one build of the test command.
//!
//! Clippy's driver is the compiler of our own crates, so that one pass over the
//! sources gives both the lints and the binaries that the tests run. Every cargo
//! call of the test command goes through here: what another compiler made would
//! be built anew.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::run;

/// Cargo with clippy's driver in place of the compiler.
#[derive(Debug)]
pub(crate) struct LintingCargo {
    driver: PathBuf,
}

/// What one build made.
#[derive(Debug, Default)]
pub(crate) struct Built {
    /// Each different warning once, as the compiler shows it.
    pub(crate) warnings: BTreeSet<String>,
    /// Programs and examples by the name of their target.
    programs: BTreeMap<String, PathBuf>,
}

impl LintingCargo {
    /// The driver that belongs to the cargo that runs this.
    pub(crate) fn find() -> Result<Self, String> {
        let beside = std::env::var_os("CARGO")
            .map(|cargo| Path::new(&cargo).with_file_name("clippy-driver"))
            .filter(|driver| driver.is_file());
        match beside.or_else(|| run::find("clippy-driver")) {
            Some(driver) => Ok(Self { driver }),
            None => Err("clippy is missing: `rustup component add clippy`".to_owned()),
        }
    }

    /// A cargo call that shares its artifacts with the build.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = run::cargo(arguments);
        command
            .env("RUSTC_WORKSPACE_WRAPPER", &self.driver)
            // Whoever sets it would get other lints, and all crates anew.
            .env_remove("CLIPPY_ARGS");
        if std::env::var_os("CI").is_some() {
            // What is built once is not built the second time for which that is kept,
            // and nobody opens a debugger: a panic names its line without the tables.
            command
                .env("CARGO_INCREMENTAL", "0")
                .env("CARGO_PROFILE_DEV_DEBUG", "0");
        }
        command
    }

    /// Builds everything the tests need. Warnings do not stop it: they are
    /// collected, those of crates that were built before too, because cargo
    /// repeats what the compiler said about them.
    pub(crate) fn build(&self) -> Result<Built, String> {
        let mut child = self
            .command(&["build", "--workspace", "--all-targets", "--keep-going"])
            .arg("--message-format=json")
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cargo build: {error}"))?;
        let mut built = Built::default();
        let messages = child.stdout.take().map(BufReader::new);
        for line in messages.into_iter().flat_map(BufRead::lines) {
            let line = line.map_err(|error| format!("cargo build: {error}"))?;
            // What a build script prints may stand between the messages.
            if let Ok(message) = serde_json::from_str(&line) {
                built.record(&message);
            }
        }
        let status = child
            .wait()
            .map_err(|error| format!("cargo build: {error}"))?;
        if status.success() {
            Ok(built)
        } else {
            Err(format!("the code does not compile ({status})"))
        }
    }
}

impl Built {
    /// A program or an example of the build.
    pub(crate) fn program(&self, name: &str) -> Result<&Path, String> {
        self.programs
            .get(name)
            .map(PathBuf::as_path)
            .ok_or_else(|| format!("the build made no `{name}`"))
    }

    fn record(&mut self, message: &Value) {
        match message["reason"].as_str() {
            Some("compiler-message") => {
                let rendered = message["message"]["rendered"].as_str().unwrap_or_default();
                match message["message"]["level"].as_str() {
                    // A library and its tests are compiled apart and say the same.
                    Some("warning") => {
                        if self.warnings.insert(rendered.to_owned()) {
                            eprint!("{rendered}");
                        }
                    }
                    _ => eprint!("{rendered}"),
                }
            }
            Some("compiler-artifact") if message["profile"]["test"] == false => {
                let name = message["target"]["name"].as_str();
                if let (Some(name), Some(file)) = (name, message["executable"].as_str()) {
                    self.programs.insert(name.to_owned(), PathBuf::from(file));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn warnings_are_counted_once_and_programs_are_found_by_name() {
        let warning = json!({
            "reason": "compiler-message",
            "message": {"level": "warning", "rendered": "warning: unused\n"},
        });
        let error = json!({
            "reason": "compiler-message",
            "message": {"level": "error", "rendered": "error: no\n"},
        });
        let artifact = |test: bool, file: &str| {
            json!({
                "reason": "compiler-artifact",
                "target": {"name": "mission"},
                "profile": {"test": test},
                "executable": file,
            })
        };
        let mut built = Built::default();
        for message in [
            warning.clone(),
            warning,
            error,
            artifact(false, "target/debug/mission"),
            artifact(true, "target/debug/deps/mission-1"),
        ] {
            built.record(&message);
        }
        assert_eq!(
            built.warnings,
            BTreeSet::from(["warning: unused\n".to_owned()])
        );
        assert_eq!(
            built.program("mission").unwrap(),
            Path::new("target/debug/mission")
        );
        assert!(built.program("absent").is_err());
    }
}
