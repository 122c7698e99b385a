//! `mission semantic …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use missiond_pty::screenshot::{AnimationTheme, Speed};

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
    /// Make a moving picture of a recording: an SVG that plays by itself in any browser.
    #[command(after_help = "\
It has no script and needs no font or anything else from outside, so that it plays where
an image is shown, as in a README. It stands still for who wants no motion.

Examples:
  mission semantic animate session.cast -o session.svg
  mission semantic animate session.cast --speed 2 --longest-pause 1 --theme dark -o session.svg")]
    Animate(AnimateArgs),
    /// Check a manifest and say on which line what is wrong.
    #[command(after_help = "Example:\n  mission semantic check-manifest my-agent.yaml")]
    CheckManifest { file: PathBuf },
}

#[derive(Debug, Args)]
pub(crate) struct AnimateArgs {
    /// An asciicast v2 file.
    pub(crate) file: PathBuf,
    /// Write to this file; to standard output when left out.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Play so many times faster, from 0.1 to 100.
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = speed)]
    pub(crate) speed: Speed,
    /// Cut longer pauses of the recording to this.
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub(crate) longest_pause: std::time::Duration,
    /// Colours for light or dark surroundings, or as the viewer's system is set.
    #[arg(long, value_enum, default_value_t = Theme::Auto)]
    pub(crate) theme: Theme,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Theme {
    Auto,
    Light,
    Dark,
}

impl From<Theme> for AnimationTheme {
    fn from(theme: Theme) -> Self {
        match theme {
            Theme::Auto => Self::Auto,
            Theme::Light => Self::Light,
            Theme::Dark => Self::Dark,
        }
    }
}

fn speed(text: &str) -> Result<Speed, String> {
    let times = text.parse().ok().and_then(Speed::new);
    times.ok_or_else(|| "a number from 0.1 to 100".to_owned())
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
