//! `mission bench …`, and the program that is measured.

use std::path::PathBuf;

use clap::Subcommand;

use super::KbBenchArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Durable events per second, beside raw inserts through the same driver.
    Timeline {
        /// Events per measurement.
        #[arg(long, default_value_t = 20_000)]
        events: u32,
        /// A PostgreSQL server to use; a private one is started when left out.
        #[arg(long, env = "MISSION_BENCH_POSTGRES")]
        postgres: Option<String>,
    },
    /// Claims of tasks per second, and how long it takes to say what is ready.
    Board {
        /// Tasks to claim in each round.
        #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u32).range(64..))]
        claims: u32,
        /// A PostgreSQL server to measure as well; a private one is started when left out.
        #[arg(long, env = "MISSION_BENCH_POSTGRES")]
        postgres: Option<String>,
        /// Few claims and small boards: shows that it works, measures nothing.
        #[arg(long, hide = true)]
        quick: bool,
    },
    /// Reading repositories, one change, searches and "where is …" questions.
    Code {
        /// Files of the generated repository.
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..))]
        files: u32,
        /// The repository the questions are about: a checkout of missiond.
        #[arg(long, default_value = ".", value_name = "FOLDER")]
        path: PathBuf,
        /// Questions with known answers, one JSON object a line.
        #[arg(long, value_name = "FILE")]
        questions: Option<PathBuf>,
        /// How long the installed model may read the repository before the questions
        /// are asked once more; 0 leaves meaning out.
        #[arg(long, default_value_t = 60, value_name = "MINUTES", value_parser = clap::value_parser!(u64).range(..=600))]
        embed_minutes: u64,
    },
    /// Calls per second and latency of a no-op through the socket.
    Ipc {
        #[arg(long, default_value_t = 20_000)]
        calls: u32,
    },
    /// Durable appends beside bare writes of the same bytes, replay and opening.
    Journal {
        /// Records of the journal that is replayed.
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
        records: u64,
        /// A few records: shows that it works, measures nothing.
        #[arg(long, hide = true)]
        quick: bool,
    },
    /// From `daemon start` to answering, and memory when idle.
    Start {
        #[arg(long, default_value_t = 10)]
        rounds: u32,
    },
    /// A tool call through the daemon, without it, and by the server alone.
    #[cfg(unix)]
    Mcp {
        /// Calls through a kept connection, and as many by the server alone.
        #[arg(long, default_value_t = 2000)]
        calls: u32,
        /// Fresh processes for each way that needs one.
        #[arg(long, default_value_t = 20)]
        rounds: u32,
        /// The server, if not the one that `cargo xtask mcp-servers` installs.
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// How well knowledge is found, on a set of questions with known answers, and how fast.
    Kb(KbBenchArgs),
    /// Output through emulator and parser, and what idle and busy slots cost.
    #[cfg(unix)]
    Terminal {
        /// A few slots for a moment: shows that it works, measures nothing.
        #[arg(long, hide = true)]
        quick: bool,
    },
}

/// What a measured program does with its terminal.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum WriterMode {
    /// Show a screen and wait.
    Wait,
    /// Write a log of this length, then wait.
    Fill {
        #[arg(long)]
        bytes: u64,
    },
    /// Redraw at this rate, and note the time of changes in a folder.
    Redraw {
        #[arg(long)]
        bytes_per_second: u32,
        /// Without marks at the beginning and end of a frame.
        #[arg(long)]
        unmarked: bool,
        #[arg(long)]
        changes: PathBuf,
    },
}

impl WriterMode {
    /// The arguments this is parsed from.
    pub(crate) fn arguments(&self) -> Vec<String> {
        match self {
            Self::Wait => vec!["wait".to_owned()],
            Self::Fill { bytes } => vec!["fill".to_owned(), format!("--bytes={bytes}")],
            Self::Redraw {
                bytes_per_second,
                unmarked,
                changes,
            } => {
                let mut arguments = vec![
                    "redraw".to_owned(),
                    format!("--bytes-per-second={bytes_per_second}"),
                    format!("--changes={}", changes.display()),
                ];
                if *unmarked {
                    arguments.push("--unmarked".to_owned());
                }
                arguments
            }
        }
    }
}
