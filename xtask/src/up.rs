//! `cargo xtask up`: from a clone to a running daemon; where no agent CLI is
//! installed, also to the demo, which needs none.

use std::process::Command;

use crate::{run, web};

pub(crate) fn up(arguments: &[String]) -> Result<(), String> {
    if let Some(argument) = arguments.first() {
        return Err(format!("`cargo xtask up` takes no `{argument}`"));
    }
    match web::missing() {
        None => web::build()?,
        Some(missing) => println!("mission is built without its web board: {missing}"),
    }
    run::run(&mut run::cargo(&[
        "build",
        "--release",
        "--package",
        "mission",
    ]))?;
    let program = run::target_folder()?.join("release").join("mission");
    // Search by meaning needs a model, and a model needs a registry: without
    // one everything else works, and the daemon says what is missing.
    if run::run(Command::new(&program).args(["model", "install"])).is_err() {
        println!("Knowledge is searched by words alone until `mission model install` succeeds.");
    }
    run::run(Command::new(&program).arg("up"))?;
    if !has_agent() {
        println!("\nNo agent CLI is installed here. This is what it looks like with agents that");
        println!("follow scripts:\n");
        run::run(Command::new(&program).arg("demo"))?;
    }
    println!("\nThe program is {}.", program.display());
    println!("`cargo install --path crates/cli` puts it into your PATH.");
    Ok(())
}

/// Whether one of the agent CLIs is in PATH.
fn has_agent() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed =
        |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    ["claude", "codex", "gemini", "opencode"]
        .iter()
        .any(|name| installed(name))
}
