//! The program that is shipped: linked statically, the same bytes wherever it is built.
//!
//! What would differ between two builds is named here and nowhere else: the folders of
//! the workspace, of cargo and of the compiler are replaced by fixed names, and the time
//! is that of the commit, whose name the program is given (`mission version`).

use std::path::{Path, PathBuf};
use std::process::Command;

use super::sums::RELEASE_KEY;
use super::target::Target;
use crate::run;

/// The profile of `Cargo.toml` that is shipped unless another is asked for.
pub(super) const PROFILE: &str = "dist";

/// What a program is told of itself when it is built.
#[derive(Debug)]
pub(super) struct Facts {
    /// When its commit was made.
    pub(super) epoch: u64,
    /// Which commit it is built from, where that is known.
    pub(super) commit: Option<String>,
    /// The public key that its upgrades are verified with.
    pub(super) key: Option<String>,
}

/// Builds the program into a target folder; returns where it is.
pub(super) fn program(
    target: &Target,
    profile: &str,
    folder: &Path,
    facts: &Facts,
) -> Result<PathBuf, String> {
    let replaced = replaced_folders(folder)?;
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    flags.extend(
        replaced
            .iter()
            .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())),
    );
    let for_c: Vec<_> = replaced
        .iter()
        .map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display()))
        .collect();
    let triple = target.triple.replace('-', "_");
    let mut cargo = run::cargo(&["build", "--locked", "--package", "mission"]);
    cargo
        // Named even where it is this machine's own: only then are build scripts and
        // macros, which cannot be static, built without these flags.
        .args(["--target", target.triple, "--profile", profile])
        .arg("--target-dir")
        .arg(folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("CARGO_INCREMENTAL", "0")
        .env("SOURCE_DATE_EPOCH", facts.epoch.to_string())
        .env(
            "MISSION_COMMIT",
            facts.commit.as_deref().unwrap_or_default(),
        )
        .env(RELEASE_KEY, facts.key.as_deref().unwrap_or_default())
        .env(format!("CFLAGS_{triple}"), for_c.join(" "))
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    if !target.is_this_machine() {
        let linker = format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase());
        cargo.env(linker, target.compiler);
    }
    run::run(&mut cargo)?;
    let made = folder.join(target.triple).join(folder_of(profile));
    Ok(made.join("mission"))
}

/// A copy without symbols and debug information, which is what a package carries.
/// The profile that is shipped leaves nothing to strip; others do.
pub(super) fn stripped(target: &Target, binary: &Path, copy: &Path) -> Result<(), String> {
    let strip = if target.is_this_machine() {
        "strip".to_owned()
    } else {
        target.compiler.replace("gcc", "strip")
    };
    if !run::exists(&strip) {
        return Err(format!("there is no `{strip}`: install binutils"));
    }
    if let Some(parent) = copy.parent() {
        std::fs::create_dir_all(parent).map_err(|error| super::at_path(parent, &error))?;
    }
    run::output(
        Command::new(strip)
            .args(["--strip-all", "--enable-deterministic-archives", "-o"])
            .args([copy, binary]),
    )
    .map(drop)
}

/// Where cargo puts what a profile makes.
fn folder_of(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// Folders of this machine and the names that stand for them. The compiler takes the
/// last that fits, so the outer folder stands before the inner one.
fn replaced_folders(target_folder: &Path) -> Result<Vec<(PathBuf, &'static str)>, String> {
    let root = run::root();
    let root = root
        .canonicalize()
        .map_err(|error| super::at_path(&root, &error))?;
    let mut replaced = vec![(root, "/missiond")];
    if let Some(home) = cargo_home() {
        replaced.push((home, "/cargo"));
    }
    let sysroot = run::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    replaced.push((PathBuf::from(sysroot.trim()), "/rust"));
    replaced.push((target_folder.to_owned(), "/missiond/target"));
    Ok(replaced)
}

fn cargo_home() -> Option<PathBuf> {
    std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
}
