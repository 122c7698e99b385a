//! `mission acp`.

use clap::Args;
use missiond_core::CliEngine;

use super::execution::PermissionArg;

#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// Which agent CLI: claude, codex, gemini, opencode, rehearsal or another; that of
    /// `autopilot.engine` when left out.
    #[arg(long)]
    pub(crate) engine: Option<CliEngine>,
    /// The model, in the words of the CLI.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// What agents may do without asking, unless the editor chooses another mode.
    #[arg(long, value_enum, default_value = "ask")]
    pub(crate) permission: PermissionArg,
    /// A variable for agents: NAME=VALUE, or NAME to pass on your own.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// You trust the folders you open: say so when the CLI asks.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Tell agents nothing but the prompt.
    #[arg(long)]
    pub(crate) no_context: bool,
    /// More arguments for the CLI; for rehearsal, the script.
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}
