//! `cargo xtask clis`: the agent CLIs the tests run, and the vendors' clients that are run
//! against the gateway, from npm and PyPI, at the versions that `tests/clis` and
//! `tests/sdks` pin. They go into `target/clis` and `target/sdks` and nowhere else.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::{python, run};

/// The lock file of the last complete installation.
const INSTALLED: &str = "installed-lock.json";

/// What the Python environment was made for.
const INSTALLED_PYTHON: &str = "installed-python";

/// The Pythons that aider runs with.
const PYTHONS: [u32; 3] = [12, 11, 10];

/// Installs what is not there yet, or says why it cannot.
pub(crate) fn install() -> Result<(), String> {
    install_from_npm("clis", "the agent CLIs")?;
    install_from_npm("sdks", "the vendors' clients")?;
    install_from_pypi(
        &run::root().join("tests/clis"),
        &run::target_folder()?.join("clis"),
    )
}

fn install_from_npm(name: &str, what: &str) -> Result<(), String> {
    let pinned = run::root().join("tests").join(name);
    let folder = run::target_folder()?.join(name);
    let lock = read(&pinned.join("package-lock.json"))?;
    if fs::read_to_string(folder.join(INSTALLED)).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    if !run::exists("npm") {
        return Err(format!(
            "{what} need npm (Node 20 or newer): install it, or leave their tests out with \
             `cargo xtask test --skip-clis`"
        ));
    }
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(problem)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(pinned.join(file), folder.join(file)).map_err(problem)?;
    }
    println!("installing {what} from npm");
    let began = Instant::now();
    // The scripts of packages are not run: what the tests start needs none. Not
    // `npm ci`, which refuses a lock file without the packages of platforms that
    // a registry does not carry; versions are checked below, contents by npm
    // against the checksums of the lock file.
    let flags = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
    run::output(Command::new("npm").args(flags).current_dir(&folder)).map_err(|error| {
        format!(
            "{what} could not be installed: {error}; \
             `cargo xtask test --skip-clis` leaves their tests out"
        )
    })?;
    check_versions(&pinned, &folder)?;
    fs::write(folder.join(INSTALLED), lock).map_err(problem)?;
    println!("installed in {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// aider. Without a Python that runs it, its test is left out, unless everything must hold.
fn install_from_pypi(pinned: &Path, folder: &Path) -> Result<(), String> {
    let requirements = pinned.join("requirements.txt");
    // An environment names its own folder, and is none after that was moved.
    let wanted = format!("{}\n{}", folder.display(), read(&requirements)?);
    let installed = folder.join(INSTALLED_PYTHON);
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let Some(interpreter) = python::interpreter(&PYTHONS) else {
        let missing = "aider needs Python 3.10 to 3.12, and there is none";
        if std::env::var_os("CI").is_some() {
            return Err(missing.to_owned());
        }
        println!("{missing}: its test is left out");
        return Ok(());
    };
    println!("installing aider from PyPI");
    let began = Instant::now();
    python::environment(&interpreter, folder, &requirements).map_err(|error| {
        format!(
            "aider could not be installed: {error}; \
             `cargo xtask test --skip-clis` leaves the tests of the agent CLIs out"
        )
    })?;
    fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))?;
    println!("installed in {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// Each package that is named is there in the version that is named.
fn check_versions(pinned: &Path, folder: &Path) -> Result<(), String> {
    let manifest = json(&pinned.join("package.json"))?;
    let wanted = manifest["dependencies"].as_object();
    for (name, version) in wanted.into_iter().flatten() {
        let package = folder.join("node_modules").join(name).join("package.json");
        let found = json(&package)?["version"].clone();
        if found != *version {
            return Err(format!(
                "{name} is {found}, not {version}: remove {}",
                folder.display()
            ));
        }
    }
    Ok(())
}

fn json(path: &Path) -> Result<serde_json::Value, String> {
    serde_json::from_str(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
