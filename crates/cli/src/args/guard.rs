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
