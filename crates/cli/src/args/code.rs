//! `mission code …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use missiond_core::{Limit, SymbolKind, Text};

#[derive(Debug, Args)]
pub(crate) struct CodeArgs {
    /// A folder of the repository; the current one when left out.
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) path: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: CodeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CodeCommand {
    /// Read a repository into the code map, or bring the map up to date.
    ///
    /// The other commands do it themselves in a git repository; a folder without
    /// git is read only if it is named here.
    #[command(after_help = "Examples:\n  mission code index\n  mission code index ~/notes/scripts")]
    Index {
        /// The folder; as with --path.
        folder: Option<PathBuf>,
        /// Forget what is known and read everything again.
        #[arg(long)]
        rebuild: bool,
        /// Return at once; `mission code status` says how far it is.
        #[arg(long)]
        no_wait: bool,
    },
    /// Say what the map holds, and which files were skipped and why.
    Status,
    /// Find functions, types and files by name or in plain words.
    #[command(after_help = "\
Examples:
  mission code search MissionDb::write
  mission code search where are expired leases collected
  mission code search \"parse http\" --kind function --limit 5")]
    Search {
        /// A name, a path, or words.
        #[arg(required = true)]
        query: Vec<String>,
        /// Only this kind.
        #[arg(long, value_enum)]
        kind: Option<SymbolKind>,
        /// At most so many hits, up to 50.
        #[arg(long, default_value_t)]
        limit: Limit<50, 10>,
    },
    /// Show the source of a function, type or beacon, or what a file defines.
    #[command(after_help = "\
Examples:
  mission code show MissionDb::write
  mission code show src/db.rs:120
  mission code show src/db.rs")]
    Show {
        /// A name, `file:name`, `file:line`, a file, or a beacon.
        symbol: String,
    },
    /// Draw what the rest of the repository leans on most, within a token budget.
    #[command(after_help = "\
Examples:
  mission code map
  mission code map --tokens 8000 --focus crates/store")]
    Map {
        /// Tokens, estimated on the safe side; up to 100,000.
        #[arg(long, default_value_t)]
        tokens: Limit<100_000, 2_000>,
        /// Files or folders to look from: what they lean on comes first.
        #[arg(long, value_name = "PATH")]
        focus: Vec<String>,
    },
    /// Beacons: names for code that follow it when it moves.
    #[command(subcommand)]
    Beacon(BeaconCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum BeaconCommand {
    /// Set a beacon on functions, types or files.
    #[command(after_help = "\
Example:
  mission code beacon set \"auth middleware\" src/auth.rs:check_token --note \"all requests pass here\"")]
    Set {
        name: Text<100>,
        /// What it stands for, each as for `mission code show`.
        #[arg(required = true)]
        symbols: Vec<String>,
        /// Why it is worth knowing.
        #[arg(long, default_value = "")]
        note: Text<2000, 0>,
    },
    /// List the beacons: where their code is now, and which are lost.
    List,
    /// Remove a beacon.
    Remove { name: String },
}
