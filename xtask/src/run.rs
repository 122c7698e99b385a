//! Running other programs.

use std::path::PathBuf;
use std::process::Command;

/// The repository, wherever the command was called.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The cargo that runs this. It is not told what the cargo above it told us of our own
/// package: build scripts that ask for it (that of `ring`) would run anew, and with them
/// all that stands on their crates, whenever cargo ran by itself in between.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// What cargo knows of the workspace, without what it depends on.
pub(crate) fn metadata() -> Result<serde_json::Value, String> {
    let metadata = output(&mut cargo(&[
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
    ]))?;
    serde_json::from_str(&metadata).map_err(|error| error.to_string())
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> Result<PathBuf, String> {
    metadata()?["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| "cargo names no target folder".to_owned())
}

/// Runs it in view of the person; its failure is the message.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| format!("{}: {error}", shown(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` failed ({status})", shown(command)))
    }
}

/// Runs it quietly and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", shown(command)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{}` failed: {}", shown(command), said.trim()))
    }
}

/// Whether a program can be found.
pub(crate) fn exists(program: &str) -> bool {
    find(program).is_some()
}

/// Where in PATH a program is.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

fn shown(command: &Command) -> String {
    let arguments: Vec<_> = command
        .get_args()
        .map(|argument| argument.to_string_lossy())
        .collect();
    let program = command.get_program().to_string_lossy();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    format!("{program} {}", arguments.join(" "))
}
