//! The Node bindings, tested by Node itself.

use std::process::Command;

use crate::run;
use crate::tests::{Suite, checked, counted};

/// Tests the bindings the build has just made. Without Node there is nothing to
/// test them with, which is said, and is a failure where everything must hold.
pub(crate) fn test() -> Result<Option<Suite>, String> {
    if !run::exists("node") {
        let missing = "the Node bindings were not tested: there is no `node`; install Node.js";
        if std::env::var_os("CI").is_some() {
            return Err(missing.to_owned());
        }
        println!("\n{missing}");
        return Ok(None);
    }
    checked("Node bindings", || {
        let built = run::target_folder()?.join("debug");
        let library = format!(
            "{}semantic_terminal_napi{}",
            std::env::consts::DLL_PREFIX,
            std::env::consts::DLL_SUFFIX
        );
        // Node takes a file for a binding by the end of its name.
        let binding = built.join("semantic-terminal.node");
        std::fs::copy(built.join(&library), &binding)
            .map_err(|error| format!("{library}: {error}"))?;
        counted(
            Command::new("node")
                .args(["--test", "--test-reporter=tap", "test/"])
                .current_dir(run::root().join("crates/napi"))
                .env("SEMANTIC_TERMINAL_BINDING", &binding)
                .env("MISSION", built.join("mission")),
        )
    })
    .map(Some)
}
