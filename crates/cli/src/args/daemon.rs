//! `mission daemon …`

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Start the daemon in the background; returns when it answers.
    Start,
    /// Stop the daemon: it finishes what it has begun, for at most 10 seconds.
    Stop {
        /// Kill it when it does not go.
        #[arg(long)]
        force: bool,
    },
    /// Stop the daemon and start it again.
    Restart {
        /// Kill it when it does not go.
        #[arg(long)]
        force: bool,
    },
    /// Describe the running daemon.
    Status,
    /// Count what the daemon has done.
    Stats,
    /// Make the daemon read its configuration again.
    Reload,
    /// Show the daemon's log.
    #[command(after_help = "\
Examples:
  mission daemon logs -n 20
  mission daemon logs --follow --level warn")]
    Logs(LogsArgs),
    /// Be the daemon, in the foreground.
    Run {
        /// Leave the terminal and report to the process that started this one.
        #[arg(long, hide = true)]
        detached: bool,
    },
    /// Start the daemon at login (systemd on Linux, launchd on macOS).
    Install {
        /// Print the unit instead of installing it.
        #[arg(long)]
        print: bool,
        /// Which service manager; this system's when left out.
        #[arg(long, value_enum)]
        manager: Option<ServiceManager>,
    },
    /// Take back what `install` did.
    Uninstall {
        #[arg(long, value_enum)]
        manager: Option<ServiceManager>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServiceManager {
    Systemd,
    Launchd,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// How many lines.
    #[arg(short = 'n', long, default_value_t = 50)]
    pub(crate) lines: usize,
    /// Go on as lines are written.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only lines at least this severe.
    #[arg(long, value_enum)]
    pub(crate) level: Option<Level>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}
