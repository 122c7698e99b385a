//! `mission autopilot …` and `mission demo`.

use clap::{Args, Subcommand};
use missiond_core::{CliEngine, Controller, Text};

#[derive(Debug, Subcommand)]
pub(crate) enum AutopilotCommand {
    /// Say whether it works, and what it has under way.
    #[command(after_help = "Example:\n  mission autopilot status")]
    Status,
    /// Work on the tasks of the board.
    #[command(after_help = "Example:\n  mission autopilot resume")]
    Resume(WhyArg),
    /// Begin nothing and say nothing to agents; they end the turn they are in.
    #[command(after_help = "Example:\n  mission autopilot pause --reason \"I look at it first\"")]
    Pause(WhyArg),
    /// Begin nothing, and see through what runs; then pause.
    #[command(after_help = "Example:\n  mission autopilot drain")]
    Drain(WhyArg),
    /// Stop everything now: agents of tasks are ended, their tasks given back.
    #[command(after_help = "Example:\n  mission autopilot stop --reason \"it burns tokens\"")]
    Stop(WhyArg),
}

#[derive(Debug, Args)]
pub(crate) struct WhyArg {
    /// Why, for whoever looks at it later.
    #[arg(long)]
    pub(crate) reason: Option<Text<500>>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The agent CLI that does the work; without one, rehearsal agents.
    #[arg(long)]
    pub(crate) engine: Option<CliEngine>,
    /// What drives it: structured (the protocol of its CLI) or terminal; as for every run of
    /// the engine when left out.
    #[arg(long)]
    pub(crate) control: Option<Controller>,
    /// Leave the demo's daemon running afterwards.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Do not keep the daemon for a look at the board when all is done.
    #[arg(long, conflicts_with = "keep")]
    pub(crate) no_wait: bool,
}
