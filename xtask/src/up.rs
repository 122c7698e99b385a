//! `cargo xtask up`: from a clone to a running daemon.

use std::process::Command;

use crate::run;

pub(crate) fn up(arguments: &[String]) -> Result<(), String> {
    if let Some(argument) = arguments.first() {
        return Err(format!("`cargo xtask up` takes no `{argument}`"));
    }
    run::run(&mut run::cargo(&[
        "build",
        "--release",
        "--package",
        "mission",
    ]))?;
    let program = run::target_folder()?.join("release").join("mission");
    run::run(Command::new(&program).arg("up"))?;
    println!("\nThe program is {}.", program.display());
    println!("`cargo install --path crates/cli` puts it into your PATH.");
    Ok(())
}
