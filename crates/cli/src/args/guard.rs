//! `mission guard …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum GuardCommand {
    /// Find secrets in files, folders or what is staged for a commit.
    ///
    /// Prints where each is and its kind, never the secret, and exits with 1 when there
    /// is one. In a git repository a folder is the files that git knows or would add. A line
    /// that says `guard:allow` is passed over.
    #[command(after_help = "\
Examples:
  mission guard scan
  mission guard scan src/config.rs notes/
  mission guard scan --staged
  some-program | mission guard scan - --json")]
    Scan(ScanArgs),
    /// Find text that tries to command the model that reads it.
    ///
    /// Prints what of each file reads like orders, where and why, and exits with 1 when a
    /// file does by enough to be marked. What is found in a file that reads less like it is
    /// printed with --all.
    #[command(after_help = "\
Examples:
  mission guard inspect README.md
  mission guard inspect downloads/ --json
  some-program | mission guard inspect -")]
    Inspect(InspectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Files and folders, or - for what comes in; the current folder when left out.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Also what is too little to be marked.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Files and folders, or - for what comes in; the current folder when left out.
    #[arg(value_name = "FILE", conflicts_with = "staged")]
    pub(crate) files: Vec<PathBuf>,
    /// The lines that the next commit adds, for a hook of git.
    #[arg(long)]
    pub(crate) staged: bool,
}
