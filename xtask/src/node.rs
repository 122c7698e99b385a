//! The Node bindings, tested by Node itself.

use std::process::Command;

use crate::compile::Built;
use crate::report::{Ran, counted};
use crate::run;

/// Whether there is a Node to test with. That there is none is said, and is a
/// failure where everything must hold.
pub(crate) fn is_there() -> Result<bool, String> {
    if run::exists("node") {
        return Ok(true);
    }
    let missing = "the Node bindings were not tested: there is no `node`; install Node.js";
    if std::env::var_os("CI").is_some() {
        return Err(missing.to_owned());
    }
    println!("\n{missing}");
    Ok(false)
}

/// Tests the bindings the build has just made.
pub(crate) fn test(built: &Built) -> Result<Ran, String> {
    let mission = built.program("mission")?;
    let folder = mission.parent().unwrap_or(mission);
    let library = format!(
        "{}semantic_terminal_napi{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    // Node takes a file for a binding by the end of its name.
    let binding = folder.join("semantic-terminal.node");
    std::fs::copy(folder.join(&library), &binding)
        .map_err(|error| format!("{library}: {error}"))?;
    counted(
        Command::new("node")
            .args(["--test", "--test-reporter=tap", "test/"])
            .current_dir(run::root().join("crates/napi"))
            .env("SEMANTIC_TERMINAL_BINDING", &binding)
            .env("MISSION", mission),
    )
}
