//! The web board: built from `web/` into `web/dist`, which the program embeds,
//! and tested in a real browser against a real daemon.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compile::Built;
use crate::report::{Ran, counted};
use crate::run;

/// What is needed to build the page and is not here, as a sentence.
pub(crate) fn missing() -> Option<&'static str> {
    match (run::exists("node"), run::exists("npm")) {
        (true, true) => None,
        _ => Some("there is no `node` with `npm`: install Node.js 20 or newer"),
    }
}

/// From the sources to `web/dist`. No Rust is built for it: Vite drops the types
/// unread, and [`check`] holds the page against them.
pub(crate) fn build() -> Result<(), String> {
    if let Some(missing) = missing() {
        return Err(format!("the web board cannot be built: {missing}"));
    }
    install(&folder())?;
    let made = run::target_folder()?.join("web-dist");
    node("node_modules/vite/bin/vite.js", |vite| {
        vite.args(["build", "--logLevel", "warn", "--emptyOutDir", "--outDir"])
            .arg(&made)
    })?;
    node("scripts/compress.mjs", |compress| compress.arg(&made))?;
    publish(&made, &folder().join("dist"))
}

/// Puts a page that was made in the place of another, unless they are the same:
/// the program that embeds it is compiled again for every change of its files.
fn publish(made: &Path, dist: &Path) -> Result<(), String> {
    if contents(made)? == contents(dist)? {
        return Ok(());
    }
    if dist.exists() {
        std::fs::remove_dir_all(dist).map_err(|error| at_path(dist, &error))?;
    }
    // Copied, not moved: the folder of the build may be on another disk.
    for (name, bytes) in contents(made)? {
        let file = dist.join(name);
        let parent = file.parent().unwrap_or(dist);
        std::fs::create_dir_all(parent).map_err(|error| at_path(parent, &error))?;
        std::fs::write(&file, bytes).map_err(|error| at_path(&file, &error))?;
    }
    announce()
}

/// Every file under a folder by its path in it; nothing where it does not exist.
pub(crate) fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(current) = folders.pop() {
        let entries = match std::fs::read_dir(&current) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(at_path(&current, &error)),
        };
        for entry in entries {
            let path = entry.map_err(|error| at_path(&current, &error))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).map_err(|error| at_path(&path, &error))?;
                let name = path.strip_prefix(folder).unwrap_or(&path).to_owned();
                files.insert(name, bytes);
            }
        }
    }
    Ok(files)
}

/// The crate that embeds the page does not watch a folder that was not there:
/// its build script is run again because it looks changed.
fn announce() -> Result<(), String> {
    let script = run::root().join("crates/web/build.rs");
    std::fs::File::options()
        .append(true)
        .open(&script)
        .and_then(|file| file.set_modified(std::time::SystemTime::now()))
        .map_err(|error| at_path(&script, &error))
}

/// `cargo xtask web check`, for those who work on the page alone.
pub(crate) fn check_alone() -> Result<(), String> {
    if let Some(missing) = missing() {
        return Err(format!("the web board cannot be checked: {missing}"));
    }
    install(&folder())?;
    let example = ["run", "--quiet", "--package", "missiond-api", "--example"];
    check(run::cargo(&example).arg("catalogue"))
}

/// Generates the types of every operation from what this command prints, and
/// holds the page and its tests against them.
pub(crate) fn check(catalogue: &mut Command) -> Result<(), String> {
    let generated = folder().join("src/generated");
    std::fs::create_dir_all(&generated).map_err(|error| at_path(&generated, &error))?;
    let file = generated.join("catalogue.json");
    std::fs::write(&file, run::output(catalogue)?).map_err(|error| at_path(&file, &error))?;
    node("scripts/types.mjs", |types| {
        types.args([file, generated.join("operations.ts")])
    })?;
    node("node_modules/typescript/bin/tsc", |tsc| tsc.arg("--noEmit"))
}

/// Runs the tests in the browser.
pub(crate) fn test(built: &Built) -> Result<Ran, String> {
    let board = ["test", "--project", "board"];
    counted(&mut playwright(&board, built.program("mission")?))
}

/// Measures the page in the browser.
pub(crate) fn bench() -> Result<(), String> {
    let program = program()?;
    install(&folder().join("lighthouse"))?;
    run::run(&mut playwright(&["test", "--project", "bench"], &program))
}

/// Puts pictures of the page into a folder.
pub(crate) fn take_pictures(program: &Path, folder: &Path) -> Result<(), String> {
    let arguments = ["test", "--project", "pictures"];
    run::run(playwright(&arguments, program).env("PICTURES", folder))
}

/// A program built for release with the page in it, or the one that MISSION names,
/// whose page is then taken as it is.
pub(crate) fn program() -> Result<PathBuf, String> {
    if let Some(missing) = missing() {
        return Err(format!("the web board cannot be built: {missing}"));
    }
    if let Some(program) = std::env::var_os("MISSION") {
        install(&folder())?;
        return std::path::absolute(program).map_err(|error| error.to_string());
    }
    build()?;
    run::run(&mut run::cargo(&[
        "build",
        "--release",
        "--package",
        "mission",
    ]))?;
    Ok(run::target_folder()?.join("release/mission"))
}

fn folder() -> PathBuf {
    run::root().join("web")
}

/// Runs a script of the web folder.
fn node(script: &str, with: impl FnOnce(&mut Command) -> &mut Command) -> Result<(), String> {
    let mut command = Command::new("node");
    command.arg(script).current_dir(folder());
    run::run(with(&mut command))
}

/// Installs what a folder's lock file names, unless that very lock file was
/// installed.
fn install(folder: &Path) -> Result<(), String> {
    let wanted = folder.join("package-lock.json");
    let installed = folder.join("node_modules/.installed-lock.json");
    let same = match (std::fs::read(&wanted), std::fs::read(&installed)) {
        (Ok(wanted), Ok(installed)) => wanted == installed,
        _ => false,
    };
    if same {
        return Ok(());
    }
    // Not `npm ci`, which refuses a lock file without the packages of platforms
    // that a registry does not carry; `--no-save` keeps the lock file as it is.
    let how = [
        "install",
        "--no-save",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
    ];
    run::output(
        Command::new("npm")
            .args(how)
            .current_dir(folder)
            // A warning about a person's own npm settings is not ours to print.
            .env("npm_config_loglevel", "error")
            .env("npm_config_update_notifier", "false"),
    )?;
    std::fs::copy(&wanted, &installed)
        .map(drop)
        .map_err(|error| format!("{}: {error}", installed.display()))
}

fn at_path(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Playwright with the browser of the system and this program.
fn playwright(arguments: &[&str], program: &Path) -> Command {
    let mut command = Command::new("node");
    command
        .arg("node_modules/@playwright/test/cli.js")
        .args(arguments)
        .current_dir(folder())
        .env("MISSION", program);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_compared_with_all_its_folders() {
        let folder = std::env::temp_dir().join(format!("xtask-web-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("assets")).unwrap();
        std::fs::write(folder.join("index.html"), "page").unwrap();
        std::fs::write(folder.join("assets/app.js"), "code").unwrap();
        let expected = BTreeMap::from([
            (PathBuf::from("assets/app.js"), b"code".to_vec()),
            (PathBuf::from("index.html"), b"page".to_vec()),
        ]);
        assert_eq!(contents(&folder).unwrap(), expected);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(contents(&folder).unwrap().is_empty());
    }
}
