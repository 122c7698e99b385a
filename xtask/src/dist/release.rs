//! What a release consists of before it is packed: the programs, what belongs beside
//! them, and the facts every package repeats.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::archive::{Effort, Tree};
use super::at_path;
use super::target::{Linkage, Target};
use crate::run;

/// A sentence for the lists of package managers.
pub(super) const SUMMARY: &str = "Run many coding agents from one place";

/// Everything that goes into packages.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) version: String,
    /// The licence of the workspace, as SPDX says it.
    pub(super) licence: String,
    /// When the commit was made, in seconds since 1970: the time of every file.
    pub(super) epoch: u64,
    /// The public key that it is signed with, or will be.
    pub(super) key: Option<String>,
    /// Where the files of this release will be found, without a slash at the end.
    pub(super) url: String,
    pub(super) effort: Effort,
    pub(super) programs: Vec<Program>,
    pub(super) documents: Documents,
}

/// The program for one kind of machine.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) target: &'static Target,
    pub(super) linkage: Linkage,
    pub(super) bytes: Vec<u8>,
}

/// What is the same on every machine.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) manual: Vec<u8>,
    bash: Vec<u8>,
    zsh: Vec<u8>,
    fish: Vec<u8>,
    pub(super) readme: Vec<u8>,
    /// Each licence by the name of its file.
    pub(super) licences: Vec<(&'static str, Vec<u8>)>,
}

impl Program {
    pub(super) fn read(target: &'static Target, file: &Path) -> Result<Self, String> {
        let bytes = fs::read(file).map_err(|error| at_path(file, &error))?;
        let linkage =
            Linkage::of(&bytes).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Self {
            target,
            linkage,
            bytes,
        })
    }
}

impl Documents {
    /// Asks a program that runs here for its manual and completions.
    pub(super) fn of(program: &Path) -> Result<Self, String> {
        let ask = |words: &[&str]| {
            // Without the person's own folder: what is printed must not depend on it.
            let printed = run::output(
                Command::new(program)
                    .args(words)
                    .env_clear()
                    .env("PATH", "/usr/bin:/bin"),
            )?;
            if printed.trim().is_empty() {
                return Err(format!("`mission {}` prints nothing", words.join(" ")));
            }
            Ok(printed.into_bytes())
        };
        let read = |name: &'static str| {
            let file = run::root().join(name);
            fs::read(&file).map_err(|error| at_path(&file, &error))
        };
        let licences = ["LICENSE-APACHE", "LICENSE-FONTS", "LICENSE-MIT"];
        Ok(Self {
            manual: ask(&["man"])?,
            bash: ask(&["completions", "bash"])?,
            zsh: ask(&["completions", "zsh"])?,
            fish: ask(&["completions", "fish"])?,
            readme: read("README.md")?,
            licences: licences
                .into_iter()
                .map(|name| Ok((name, read(name)?)))
                .collect::<Result<_, String>>()?,
        })
    }

    /// The completions where shells look for them under a prefix; only the folder of
    /// zsh is not the same everywhere.
    pub(super) fn completions<'a>(&'a self, tree: &mut Tree<'a>, prefix: &str, zsh: &str) {
        let bash = "share/bash-completion/completions/mission";
        tree.file(format!("{prefix}{bash}"), &self.bash);
        tree.file(format!("{prefix}{zsh}/_mission"), &self.zsh);
        let fish = "share/fish/vendor_completions.d/mission.fish";
        tree.file(format!("{prefix}{fish}"), &self.fish);
    }
}

/// When the last commit was made; `SOURCE_DATE_EPOCH` says it where there is no
/// repository, as every tool for reproducible builds has it.
pub(super) fn epoch() -> Result<u64, String> {
    let said = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(said) => said,
        Err(_) => run::output(
            Command::new("git")
                .args(["log", "-1", "--format=%ct"])
                .current_dir(run::root()),
        )?,
    };
    said.trim()
        .parse()
        .map_err(|error| format!("the time of the commit: {error}"))
}

/// Which commit is built; `MISSION_COMMIT` says it where there is no repository. Files
/// that differ from it are said too: then it is not what the commit holds.
pub(super) fn commit() -> Result<Option<String>, String> {
    if let Ok(said) = std::env::var("MISSION_COMMIT") {
        return Ok(Some(said.trim().to_owned()).filter(|said| !said.is_empty()));
    }
    if !run::root().join(".git").exists() {
        return Ok(None);
    }
    let git = |arguments: &[&str]| {
        run::output(Command::new("git").args(arguments).current_dir(run::root()))
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let suffix = if changed.trim().is_empty() {
        ""
    } else {
        "-modified"
    };
    Ok(Some(format!("{}{suffix}", commit.trim())))
}

/// A time as RFC 3339 writes it. Days are turned into a date as in Howard Hinnant's
/// `civil_from_days`, whose years begin in March.
pub(crate) fn timestamp(epoch: u64) -> String {
    let (days, second) = (epoch / 86_400 + 719_468, epoch % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year + next;
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z",
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(timestamp(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(timestamp(1_794_979_320), "2026-11-18T05:22:00Z");
        assert_eq!(timestamp(4_102_444_799), "2099-12-31T23:59:59Z");
    }
}
