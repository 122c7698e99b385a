//! `mission semantic …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::slot::seconds;
use super::{BenchArgs, PictureArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum SemanticCommand {
    /// Print every change of reading in a recording.
    #[command(after_help = "\
Examples:
  mission semantic replay session.cast
  mission semantic replay session.cast --engine codex --json")]
    Replay {
        /// An asciicast v2 file.
        file: PathBuf,
        #[command(flatten)]
        reading: ReadingArgs,
    },
    /// Compare readings with the labels of recordings, per engine and version.
    #[command(
        // All of it is read by the program that measures.
        disable_help_flag = true,
        disable_version_flag = true,
        after_help = "\
Examples:
  mission semantic score --help
  mission semantic score recordings
  mission semantic score recordings/claude --mistakes

Another program does it: `cargo build --release --package missiond-bench` builds it."
    )]
    Score(BenchArgs),
    /// Say which rule decided at a moment, on which rows, and which nearly did.
    #[command(after_help = "Example:\n  mission semantic explain session.cast --at 12.5")]
    Explain {
        /// An asciicast v2 file.
        file: PathBuf,
        /// Seconds from the beginning of the recording.
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        at: std::time::Duration,
        #[command(flatten)]
        reading: ReadingArgs,
    },
    /// Take a picture of what a recording shows.
    #[command(after_help = "\
Examples:
  mission semantic screenshot session.cast -o end.png
  mission semantic screenshot session.cast --at 12.5 --format ansi")]
    Screenshot {
        /// An asciicast v2 file.
        file: PathBuf,
        /// Seconds from the beginning of the recording; its end when left out.
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        at: Option<std::time::Duration>,
        #[command(flatten)]
        picture: PictureArgs,
    },
    /// Check a manifest and say on which line what is wrong.
    #[command(after_help = "Example:\n  mission semantic check-manifest my-agent.yaml")]
    CheckManifest { file: PathBuf },
}

#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// Which manifest to use; the one the recording names when left out, and
    /// `generic` when there is none.
    #[arg(long)]
    pub(crate) engine: Option<String>,
    /// A folder of manifests that take the place of the built-in ones.
    #[arg(long, value_name = "DIR", env = "MISSION_MANIFESTS")]
    pub(crate) manifests: Option<PathBuf>,
    /// Pass over titles and control strings: how far does the screen alone carry?
    #[arg(long)]
    pub(crate) screen_only: bool,
}
