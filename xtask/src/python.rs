//! Python environments for programs of other people that tests run.

use std::path::Path;
use std::process::Command;

use crate::run;

/// Makes `folder/python` anew, with the packages of `requirements`: each is named there
/// with its version, so nothing is resolved. They are compiled when they are imported: most
/// of them never are.
pub(crate) fn environment(python: &str, folder: &Path, requirements: &Path) -> Result<(), String> {
    let venv = ["-m", "venv", "--clear", "python"];
    run::output(Command::new(python).args(venv).current_dir(folder))?;
    let pip = [
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--disable-pip-version-check",
        "-r",
    ];
    run::output(
        Command::new(folder.join("python/bin/pip"))
            .args(pip)
            .arg(requirements)
            .current_dir(folder),
    )?;
    Ok(())
}

/// An interpreter of one of these minor versions of Python 3, the first that is there.
pub(crate) fn interpreter(minors: &[u32]) -> Option<String> {
    let named = minors.iter().map(|minor| format!("python3.{minor}"));
    let mut named: Vec<_> = named.collect();
    named.push("python3".to_owned());
    named.into_iter().find(|python| {
        let version = run::output(Command::new(python).arg("--version")).unwrap_or_default();
        let fits = |minor: &u32| version.starts_with(&format!("Python 3.{minor}."));
        minors.iter().any(fits)
    })
}
