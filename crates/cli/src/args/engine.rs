//! `mission engine …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use missiond_core::CliEngine;

#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// List the agent CLIs: which are installed, and by what each is driven and why.
    List,
    /// Show what is known of an agent CLI.
    #[command(after_help = "Example:\n  mission engine show codex")]
    Show {
        /// As `mission engine list` names it.
        engine: CliEngine,
    },
    /// Add an agent that speaks the Agent Client Protocol.
    #[command(after_help = "\
Examples:
  mission engine add mytool --command mytool -- --acp
  mission engine add --from agent.json
  curl -s https://example.com/registry.json | mission engine add mytool --from -")]
    Add(EngineAddArgs),
}

#[derive(Debug, Args)]
pub(crate) struct EngineAddArgs {
    /// What to call it; the id of the entry when left out.
    #[arg(required_unless_present = "from")]
    pub(crate) name: Option<CliEngine>,
    /// The program to start.
    #[arg(long, value_name = "PROGRAM", required_unless_present = "from")]
    pub(crate) command: Option<String>,
    /// An entry of the ACP registry, or the registry and the name of one; `-` reads it from
    /// standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) from: Option<PathBuf>,
    /// Arguments for the program.
    #[arg(last = true, value_name = "ARGS", conflicts_with = "from")]
    pub(crate) args: Vec<String>,
}
