//! `cargo xtask dist upgrade`: twenty agents of the release before at work while it is
//! upgraded to the program of this tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{at_path, step};
use crate::run;

/// The commit of the release before.
const RELEASE_BEFORE: &str = "6398a02548dac8594b6bb7ed2a25cbab1889be80";

const TEST: &str = "upgrade::fleet::twenty_agents_of_the_release_before_outlive_its_upgrade";

pub(crate) fn upgrade(arguments: &[String]) -> Result<(), String> {
    if let Some(argument) = arguments.first() {
        return Err(format!("`cargo xtask dist upgrade` takes no `{argument}`"));
    }
    let folder = run::target_folder()?.join("release-before");
    let before = step("program of the release before", || built(&folder))?;
    step("program of this tree", || {
        run::run(&mut run::cargo(&["build", "--workspace", "--all-targets"]))
    })?;
    let mut test = run::cargo(&["test", "--workspace", "--test", "product"]);
    test.args(["--", "--ignored", "--exact", TEST])
        .env("MISSION_RELEASE_BEFORE", before);
    run::run(&mut test)
}

/// Builds the release before from the history, without a page.
fn built(folder: &Path) -> Result<PathBuf, String> {
    let source = folder.join("source");
    let archive = folder.join("source.tar");
    if source.exists() {
        fs::remove_dir_all(&source).map_err(|error| at_path(&source, &error))?;
    }
    fs::create_dir_all(&source).map_err(|error| at_path(&source, &error))?;
    let mut git = Command::new("git");
    git.current_dir(run::root())
        .args(["archive", "--format=tar", RELEASE_BEFORE, "--output"])
        .arg(&archive);
    run::output(&mut git).map_err(|error| {
        format!("{error}; the release before is built from the history, which a whole clone has")
    })?;
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(&archive).arg("-C").arg(&source);
    run::output(&mut tar)?;
    let made = folder.join("target");
    let mut cargo = run::cargo(&["build", "--locked", "--package", "mission"]);
    cargo
        .current_dir(&source)
        .arg("--target-dir")
        .arg(&made)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0");
    run::run(&mut cargo)?;
    Ok(made.join("debug/mission"))
}
