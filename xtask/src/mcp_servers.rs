//! `cargo xtask mcp-servers`: other people's MCP servers and the conformance
//! suite, from npm and PyPI, at the versions that `tests/mcp-servers` pins. They
//! go into `target/mcp-servers` and nowhere else.

use std::fs;
use std::process::Command;
use std::time::Instant;

use crate::{python, run};

/// What was pinned at the last complete installation.
const INSTALLED: &str = "installed";

const PINNED: [&str; 3] = ["package.json", "package-lock.json", "requirements.txt"];

/// Installs what is not there yet, or says why it cannot.
pub(crate) fn install() -> Result<(), String> {
    let pinned = run::root().join("tests/mcp-servers");
    let folder = run::target_folder()?.join("mcp-servers");
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    // A Python environment names its own folder, and is none after that was moved.
    let mut wanted = format!("{}\n", folder.display());
    for file in PINNED {
        wanted += &fs::read_to_string(pinned.join(file)).map_err(problem)?;
    }
    if fs::read_to_string(folder.join(INSTALLED)).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    for tool in ["npm", "python3"] {
        if !run::exists(tool) {
            return Err(format!(
                "the MCP servers need {tool}: install it, or leave their tests out with \
                 `cargo xtask test --skip-mcp-servers`"
            ));
        }
    }
    fs::create_dir_all(&folder).map_err(problem)?;
    for file in PINNED {
        fs::copy(pinned.join(file), folder.join(file)).map_err(problem)?;
    }
    println!("installing MCP servers from npm and PyPI");
    let began = Instant::now();
    let skip = |error: String| {
        format!(
            "the MCP servers could not be installed: {error}; \
             `cargo xtask test --skip-mcp-servers` leaves their tests out"
        )
    };
    let npm = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
    run::output(Command::new("npm").args(npm).current_dir(&folder)).map_err(skip)?;
    python::environment("python3", &folder, &folder.join("requirements.txt")).map_err(skip)?;
    fs::write(folder.join(INSTALLED), wanted).map_err(problem)?;
    println!("installed in {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}
