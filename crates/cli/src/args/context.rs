//! `mission context …` and `mission skill …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use missiond_api::operations::context::ContextTokens;
use missiond_core::{CliEngine, TaskRef, Text};

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Show what an agent would be told beside a prompt, what would be cut, and why.
    ///
    /// Nothing is started.
    #[command(after_help = "\
Examples:
  mission context preview \"fix the deploy script\"
  mission context preview --task T-12 --tokens 2000
  mission context preview \"fix it\" --engine codex --cwd ~/project --text")]
    Preview(PreviewArgs),
    /// Show what an agent was told beside its first prompt, what was cut, and why.
    #[command(after_help = "Example:\n  mission context show hello")]
    Show {
        /// An execution: its id, or the name of its slot.
        execution: String,
        /// Only the text, as it was typed.
        #[arg(long)]
        text: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    /// What the agent would be asked; that of the task when left out.
    #[arg(required_unless_present = "task")]
    pub(crate) prompt: Option<Text<100_000, 0>>,
    /// A task of the board, by its number.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<TaskRef>,
    /// The folder to work in; that of the task, or else this one.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Which agent CLI; that of the task, or else claude.
    #[arg(long)]
    pub(crate) engine: Option<CliEngine>,
    /// The budget, 100 to 16000; that of the configuration when left out.
    #[arg(long)]
    pub(crate) tokens: Option<ContextTokens>,
    /// Only the text, as it would be typed.
    #[arg(long)]
    pub(crate) text: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List the skills (SKILL.md) that agents in a folder can be told of.
    #[command(after_help = "Examples:\n  mission skill list\n  mission skill list --cwd ~/project")]
    List {
        /// The folder; this one when left out.
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
}
