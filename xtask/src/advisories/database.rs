//! Where the advisories of RustSec are: in a folder that was named, where cargo-deny or
//! cargo-audit keep theirs, or in a fresh copy of their repository.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::advisory::Advisory;
use crate::run;

const REPOSITORY: &str = "https://github.com/RustSec/advisory-db";
const PATIENCE: Duration = Duration::from_secs(30);
const FRESH: Duration = Duration::from_hours(24);

/// The folder of a database; or why there is none, as a sentence. A folder that was
/// named and is none is an error.
pub(super) fn find(named: Option<PathBuf>) -> Result<Result<PathBuf, String>, String> {
    let variable = std::env::var_os("MISSION_ADVISORY_DB").map(PathBuf::from);
    if let Some(named) = named.or(variable) {
        return if is_database(&named) {
            Ok(Ok(named))
        } else {
            Err(format!(
                "{} holds no advisories: it has no folder `crates`",
                named.display()
            ))
        };
    }
    let copy = run::target_folder()?.join("advisory-db");
    let age = |folder: &Path| {
        let changed = std::fs::metadata(folder.join(".git")).and_then(|git| git.modified());
        SystemTime::now().duration_since(changed.ok()?).ok()
    };
    let mut kept: Vec<_> = kept_by_others().into_iter().chain([copy.clone()]).collect();
    kept.retain(|folder| is_database(folder));
    kept.sort_by_key(|folder| age(folder).unwrap_or(Duration::MAX));
    let newest = kept.into_iter().next();
    match newest {
        Some(folder) if age(&folder).is_some_and(|age| age < FRESH) => Ok(Ok(folder)),
        older => Ok(match (clone(&copy), older) {
            (Ok(()), _) => Ok(copy),
            (Err(why), Some(folder)) => {
                println!("an older copy of the advisories is used: {why}");
                Ok(folder)
            }
            (Err(why), None) => Err(format!(
                "the advisories of RustSec could not be had ({why}); MISSION_ADVISORY_DB can \
                 name a copy of {REPOSITORY}"
            )),
        }),
    }
}

/// Every advisory about a crate.
pub(super) fn read(folder: &Path) -> Result<Vec<Advisory>, String> {
    let mut advisories = Vec::new();
    for package in entries(&folder.join("crates"))? {
        if !package.is_dir() {
            continue;
        }
        for file in entries(&package)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with("RUSTSEC-") || !name.ends_with(".md") {
                continue;
            }
            let text = std::fs::read_to_string(&file)
                .map_err(|error| format!("{}: {error}", file.display()))?;
            let advisory = Advisory::parse(&text)
                .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
            advisories.push(advisory);
        }
    }
    Ok(advisories)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let at_folder = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(at_folder)? {
        paths.push(entry.map_err(at_folder)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn is_database(folder: &Path) -> bool {
    folder.join("crates").is_dir()
}

/// The copies of cargo-deny and cargo-audit.
fn kept_by_others() -> Vec<PathBuf> {
    let home = std::env::home_dir().map(|home| home.join(".cargo"));
    let Some(cargo) = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home) else {
        return Vec::new();
    };
    let mut folders = entries(&cargo.join("advisory-dbs")).unwrap_or_default();
    folders.push(cargo.join("advisory-db"));
    folders
}

/// Puts a fresh copy of the repository into a folder, or says in a few words why not.
fn clone(folder: &Path) -> Result<(), String> {
    let beside = folder.with_extension("new");
    let _ = std::fs::remove_dir_all(&beside);
    let child = Command::new("git")
        .args(["clone", "--quiet", "--depth=1", REPOSITORY])
        .arg(&beside)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("git: {error}"))?;
    finish(child)?;
    let _ = std::fs::remove_dir_all(folder);
    std::fs::rename(&beside, folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn finish(mut child: Child) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(_) => break,
            None if began.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer within {} s", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(last.unwrap_or("git failed").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_and_a_broken_advisory_in_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("crates/leaky");
        std::fs::create_dir_all(&package).unwrap();
        let advisory = "```toml\n[advisory]\nid = \"RUSTSEC-2026-0001\"\npackage = \"leaky\"\n\
            date = \"2026-01-02\"\n[versions]\npatched = [\">= 1.1\"]\n```\n# It leaks\n";
        std::fs::write(package.join("RUSTSEC-2026-0001.md"), advisory).unwrap();
        std::fs::write(package.join("notes.md"), "nothing of ours").unwrap();
        let found = find(Some(folder.path().to_owned())).unwrap().unwrap();
        let read_back = read(&found).unwrap();
        assert_eq!(read_back, [Advisory::parse(advisory).unwrap()]);
        std::fs::write(package.join("RUSTSEC-2026-0002.md"), "# no TOML").unwrap();
        let error = read(&found).unwrap_err();
        assert!(
            error.contains("RUSTSEC-2026-0002.md cannot be read"),
            "{error}"
        );
        let error = find(Some(package)).unwrap_err();
        assert!(error.contains("holds no advisories"), "{error}");
    }
}
