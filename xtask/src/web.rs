//! The web board: built from `web/` into `web/dist`, which the program embeds,
//! and tested in a real browser against a real daemon.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;
use crate::tests::{Suite, checked, counted};

/// What is needed to build the page and is not here, as a sentence.
pub(crate) fn missing() -> Option<&'static str> {
    match (run::exists("node"), run::exists("npm")) {
        (true, true) => None,
        _ => Some("there is no `node` with `npm`: install Node.js 20 or newer"),
    }
}

/// From the sources to `web/dist`.
pub(crate) fn build() -> Result<(), String> {
    if let Some(missing) = missing() {
        return Err(format!("the web board cannot be built: {missing}"));
    }
    install(&folder())?;
    generate_types()?;
    npm(&["run", "--silent", "check"])?;
    npm(&["run", "--silent", "build"])?;
    announce()
}

/// The crate that embeds the page does not watch a folder that was not there:
/// its build script is run again because it looks changed.
fn announce() -> Result<(), String> {
    let script = run::root().join("crates/web/build.rs");
    std::fs::File::options()
        .append(true)
        .open(&script)
        .and_then(|file| file.set_modified(std::time::SystemTime::now()))
        .map_err(|error| said(&script, &error))
}

/// Runs the tests in the browser. Without Node there is no board to test, which
/// is said, and is a failure where everything must hold.
pub(crate) fn test() -> Result<Option<Suite>, String> {
    if let Some(missing) = missing() {
        let said = format!("the web board was not tested: {missing}");
        if std::env::var_os("CI").is_some() {
            return Err(said);
        }
        println!("\n{said}");
        return Ok(None);
    }
    checked("web board in the browser", || {
        counted(&mut browser(&["test", "--project", "board"], "debug")?)
    })
    .map(Some)
}

/// Measures the page in the browser, with a program built for release or the one
/// that MISSION names, whose page is then measured as it is.
pub(crate) fn bench() -> Result<(), String> {
    if let Some(missing) = missing() {
        return Err(format!("the web board cannot be measured: {missing}"));
    }
    let arguments = ["test", "--project", "bench"];
    let mut measured = match std::env::var_os("MISSION") {
        Some(program) => {
            install(&folder())?;
            playwright(&arguments, Path::new(&program))
        }
        None => {
            build()?;
            let release = ["build", "--release", "--package", "mission"];
            run::run(&mut run::cargo(&release))?;
            browser(&arguments, "release")?
        }
    };
    install(&folder().join("lighthouse"))?;
    run::run(&mut measured)
}

fn folder() -> PathBuf {
    run::root().join("web")
}

fn npm(arguments: &[&str]) -> Result<(), String> {
    npm_in(&folder(), arguments)
}

fn npm_in(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    run::run(
        Command::new("npm")
            .args(arguments)
            .current_dir(folder)
            // A warning about a person's own npm settings is not ours to print.
            .env("npm_config_loglevel", "error")
            .env("npm_config_update_notifier", "false"),
    )
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
    npm_in(folder, &how)?;
    std::fs::copy(&wanted, &installed)
        .map(drop)
        .map_err(|error| format!("{}: {error}", installed.display()))
}

/// The types of every operation, from the catalogue itself.
fn generate_types() -> Result<(), String> {
    let catalogue = run::output(&mut run::cargo(&[
        "run",
        "--quiet",
        "--package",
        "missiond-api",
        "--example",
        "catalogue",
    ]))?;
    let generated = folder().join("src/generated");
    std::fs::create_dir_all(&generated).map_err(|error| said(&generated, &error))?;
    let file = generated.join("catalogue.json");
    std::fs::write(&file, catalogue).map_err(|error| said(&file, &error))?;
    run::run(
        Command::new("node")
            .args(["scripts/types.mjs"])
            .args([file, generated.join("operations.ts")])
            .current_dir(folder()),
    )
}

fn said(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Playwright with the browser of the system and the program of this profile.
fn browser(arguments: &[&str], profile: &str) -> Result<Command, String> {
    let program = run::target_folder()?.join(profile).join("mission");
    Ok(playwright(arguments, &program))
}

fn playwright(arguments: &[&str], program: &Path) -> Command {
    let mut command = Command::new("node");
    command
        .arg("node_modules/@playwright/test/cli.js")
        .args(arguments)
        .current_dir(folder())
        .env("MISSION", program);
    command
}
