//! The command line of `mission bench …`, of `mission semantic score`, and of the
//! program in a slot that is measured.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use missiond_console::failure::EXIT_CODES;

/// Measure this build on this machine.
#[derive(Debug, Parser)]
#[command(
    name = "mission-bench",
    // Its help is that of `mission bench`.
    bin_name = "mission bench",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = EXIT_CODES
)]
pub(crate) struct Cli {
    /// Print JSON for programs instead of text for people.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// The `mission` whose daemons are measured; the one this was started by, else
    /// the one beside this program or in PATH.
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

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
    /// How much of what agents are told of earlier conversations has to do with their task.
    Context {
        /// Conversations in the repository.
        #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        conversations: u32,
    },
    /// How fast and how well secrets are found, beside gitleaks where it is installed, how well
    /// text that tries to command is, how long a decision about a permission takes, and what
    /// the wall of the sandbox costs.
    Guard {
        /// Megabytes of each sort of text; twice as many are scanned too.
        #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_024))]
        megabytes: u32,
        /// Secrets of the corpus; four harmless samples come with each.
        #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
        secrets: u32,
        /// Decisions about one command.
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
        decisions: u32,
        /// Starts of a program behind the wall, and as many outside.
        #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        starts: u32,
        /// Builds behind the wall, and as many outside.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        builds: u32,
        /// Texts that try to command, of the injection corpus; as many ordinary ones come
        /// with them.
        #[arg(long, default_value_t = 4_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
        injections: u32,
        /// Also files and folders of texts that try to command: a file is one, of JSON each
        /// string is one, of JSON lines each line.
        #[arg(long, value_name = "FILE")]
        hostile: Vec<std::path::PathBuf>,
        /// Also files and folders of ordinary text, read in pieces of 4,000 bytes.
        #[arg(long, value_name = "FILE")]
        ordinary: Vec<std::path::PathBuf>,
    },
    /// Calls per second and latency of a no-op through the socket.
    Ipc {
        #[arg(long, default_value_t = 20_000)]
        calls: u32,
    },
    /// What the gateway adds to a request of an agent, and how many answers flow at once.
    Llm {
        #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
        requests: u32,
        /// Answers at once.
        #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(2..=450))]
        streams: u32,
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
    /// How many requests are answered while the daemon is killed again and again, and how
    /// long it is away each time. Whoever finds it gone starts it.
    Uptime {
        /// How often it is killed.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        kills: u32,
        /// Milliseconds between two kills, and after the last.
        #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
        every_ms: u64,
    },
    /// What it costs to ask MCP servers for a sign of life every second, against nearly never.
    Health {
        /// How many servers are kept and asked.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=200))]
        servers: u32,
        /// How long each of the two is measured.
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
        seconds: u64,
    },
    /// The daemon's memory under a steady load: at the start, at the end, and its slope.
    Soak {
        #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
        seconds: u64,
    },
    /// How well knowledge is found, on a set of questions with known answers, and how fast.
    Kb(KbBenchArgs),
    /// Output through emulator and parser, and what idle and busy slots cost.
    Terminal {
        /// A few slots for a moment: shows that it works, measures nothing.
        #[arg(long, hide = true)]
        quick: bool,
    },
    /// A turn of an agent that is driven by its protocol, beside the same with nothing
    /// between, and what agents that wait cost.
    Control {
        /// A few agents for a moment: shows that it works, measures nothing.
        #[arg(long, hide = true)]
        quick: bool,
    },
    /// Compare readings with the labels of recordings, per engine and version.
    #[command(
        // Known to people by this name; `mission` hands it over.
        override_usage = "mission semantic score [OPTIONS] <PATH>",
        hide = true,
        after_help = "\
Examples:
  mission semantic score recordings
  mission semantic score recordings/claude --mistakes"
    )]
    Score(ScoreArgs),
    /// Be an MCP server without tools that counts what it is asked; started by `health`.
    #[command(hide = true)]
    ToolServer {
        /// A file that becomes a byte longer with each sign of life.
        counted: PathBuf,
    },
    /// Be the program in a slot that is measured; started by `terminal`.
    #[command(subcommand, hide = true)]
    Writer(WriterMode),
}

#[derive(Debug, Args)]
pub(crate) struct KbBenchArgs {
    /// A set of documents, questions and answers.
    #[arg(long, value_name = "FILE", required_unless_present = "entries")]
    pub(crate) dataset: Option<PathBuf>,
    /// The installed model to embed with; the default one when left out.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Compare words alone.
    #[arg(long, conflicts_with = "model")]
    pub(crate) without_vectors: bool,
    /// Measure the time of a search over so many made-up entries; sizes separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "COUNT")]
    pub(crate) entries: Vec<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    /// A recording, or a folder that is searched for them.
    pub(crate) path: PathBuf,
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
    /// List each stretch that was read wrongly.
    #[arg(long)]
    pub(crate) mistakes: bool,
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
