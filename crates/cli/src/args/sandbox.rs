//! `mission sandbox …`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a program behind the wall that checks and agents run behind.
    ///
    /// It sees the current folder, toolchains and its own temporary folder, and ends as it
    /// would outside. 125 means that no wall could be built; then nothing was run.
    #[command(after_help = "\
Examples:
  mission sandbox run -- cargo test
  mission sandbox run --network none -- ./script-from-somewhere
  mission sandbox run --profile sealed -- sh
  mission sandbox run --read ~/data --write ~/out -- python3 train.py")]
    Run(SandboxRunArgs),
    /// Build a wall and try each part of it from inside.
    Probe(SandboxProbeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SandboxRunArgs {
    /// How thick the wall is: open, guarded or sealed.
    #[arg(long, default_value = "guarded")]
    pub(crate) profile: missiond_sandbox::Profile,
    /// Which network there is; sealed has none.
    #[arg(long, default_value = "host")]
    pub(crate) network: NetworkArg,
    /// The Unix socket of an HTTP proxy, which is then the only way out.
    #[arg(long, value_name = "SOCKET", conflicts_with = "network")]
    pub(crate) proxy: Option<PathBuf>,
    /// A file or folder it may read beside; again for more.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// A file or folder it may change beside; again for more.
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// Let it build sandboxes of its own inside.
    #[arg(long)]
    pub(crate) nesting: bool,
    /// Memory for all its processes, in megabytes.
    #[arg(long, value_name = "MB")]
    pub(crate) memory: Option<u64>,
    /// How many processes it may have.
    #[arg(long, value_name = "COUNT")]
    pub(crate) processes: Option<u64>,
    /// The size of each of its own folders in memory, in megabytes.
    #[arg(long, value_name = "MB")]
    pub(crate) scratch: Option<u64>,
    /// The longest file it may write, in megabytes.
    #[arg(long, value_name = "MB")]
    pub(crate) longest_file: Option<u64>,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum NetworkArg {
    /// That of this machine.
    Host,
    /// A loopback of its own.
    None,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxProbeArgs {
    /// How thick the wall is: guarded or sealed.
    #[arg(long, default_value = "guarded")]
    pub(crate) profile: missiond_sandbox::Profile,
}
