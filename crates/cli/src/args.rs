//! The command line: every command, flag and example.

mod attention;
mod autopilot;
mod code;
mod context;
mod conversation;
mod execution;
mod journal;
mod kb;
#[cfg(unix)]
mod mcp;
mod slot;
mod task;
mod timeline;
mod web;
mod worktree;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use missiond_core::IncidentId;

use crate::failure::EXIT_CODES;
pub(crate) use attention::{
    AnswerArgs, DismissArgs, InboxArgs, PermissionAddArgs, PermissionCommand, PermissionTestArgs,
};
pub(crate) use autopilot::{AutopilotCommand, DemoArgs, WhyArg};
pub(crate) use code::{BeaconCommand, CodeArgs, CodeCommand};
pub(crate) use context::{ContextCommand, SkillCommand};
pub(crate) use conversation::{ConversationCommand, WithinArgs};
pub(crate) use execution::{ExecutionCommand, HookArgs, RunArgs};
pub(crate) use journal::{JournalCommand, JournalFormat};
pub(crate) use kb::{KbBenchArgs, KbCommand, KbFormat, ModelCommand, RememberArgs, SearchArgs};
#[cfg(unix)]
pub(crate) use mcp::{
    ImportFrom, InitArgs, KeepArgs, McpAddArgs, McpArgs, McpCommand, McpServeArgs,
};
use slot::seconds;
pub(crate) use slot::{AttachArgs, PictureArgs, SlotCommand, SpawnArgs};
pub(crate) use task::{
    AddArgs, DraftArgs, EditArgs, ExportFormatArg, ImportArgs, ImportFormatArg, ListArgs,
    TaskCommand,
};
pub(crate) use timeline::TimelineCommand;
pub(crate) use web::{OpenArgs, TokenCommand};
pub(crate) use worktree::WorktreeCommand;

/// Run many coding agents from one place.
///
/// One daemon, started on first use, owns everything; the commands ask it.
#[derive(Debug, Parser)]
#[command(
    name = "mission",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = format!("\
Examples:
  mission up                         start the daemon and say how it is
  mission run \"fix the bug\" --wait   give an agent work and watch it
  mission slot spawn -- claude       run any program, it outlives the daemon
  mission timeline tail              watch what happens
  mission doctor                     find out what is wrong
  mission daemon logs --follow       read the daemon's log

Environment:
  MISSION_HOME      keep everything below this folder instead of the XDG folders
  MISSION_NO_START  as --no-start
  NO_COLOR          no colours

{EXIT_CODES}")
)]
pub(crate) struct Cli {
    /// Print JSON for programs instead of text for people.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Do not start the daemon when it is not running.
    #[arg(long, global = true, env = "MISSION_NO_START", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) no_start: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the daemon if it is not running, and say how it is.
    #[command(after_help = "Example:\n  mission up")]
    Up,
    /// Stop the daemon.
    #[command(after_help = "Example:\n  mission down")]
    Down,
    /// Say what runs and what wants attention.
    #[command(after_help = "Examples:\n  mission status\n  mission status --json | jq .database")]
    Status,
    /// Tell the agents on this machine to use missiond: their configuration gets
    /// its MCP server.
    #[cfg(unix)]
    #[command(after_help = "\
Examples:
  mission init --dry-run
  mission init claude codex
  mission init --undo

Each file is changed in one place; what it was is kept, and --undo restores it
byte for byte. A file that was changed since is left alone.")]
    Init(InitArgs),
    /// Check this installation and say what to do about what is wrong.
    #[command(after_help = "Example:\n  mission doctor")]
    Doctor,
    /// Start, stop and look into the daemon.
    #[command(subcommand)]
    Daemon(DaemonCommand),
    /// What happened, and why.
    #[command(subcommand)]
    Timeline(TimelineCommand),
    /// What went wrong and wants attention.
    #[command(subcommand)]
    Incident(IncidentCommand),
    /// The configuration and its keys.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Give an agent work, in a slot of its own and with a journal.
    #[command(after_help = "\
Examples:
  mission run \"fix the failing test\"
  mission run \"say hello\" --engine rehearsal --wait -- hello
  mission run \"review this\" --engine codex --cwd ~/project --permission plan --wait --timeout 600
  mission run \"hi\" --engine my-agent -- my-agent --flag

With --wait the exit code says how it went:
  0  the turn has ended, or the program has ended in order
  1  the run failed, was cancelled or was lost, or the prompt did not arrive
  9  it took longer than --timeout; the agent goes on
 10  the agent waits for an answer")]
    Run(RunArgs),
    /// Runs of agents: what each is doing, messages, answers.
    #[command(subcommand)]
    Execution(ExecutionCommand),
    /// The board: tasks with dependencies, what is ready and what waits for what.
    #[command(subcommand)]
    Task(TaskCommand),
    /// Watch five tasks being done by agents, from claim to merge, in half a minute.
    ///
    /// In a folder of its own, with a daemon and a small repository of its own:
    /// two branches at once, a permission, a failing check that is mended, a
    /// question. Everything is left there to be looked at.
    #[cfg(unix)]
    #[command(
        after_help = "Examples:\n  mission demo\n  mission demo --json\n  mission demo --engine claude"
    )]
    Demo(DemoArgs),
    /// What waits for you: the questions of agents and tasks.
    #[command(after_help = "\
Examples:
  mission inbox
  mission inbox --watch")]
    Inbox(InboxArgs),
    /// Answer a question; the answer goes to the dialog, agent or task that asked.
    #[command(after_help = "\
Examples:
  mission answer Q-7 1
  mission answer Q-7 1 --for 1h
  mission answer Q-8 \"use the staging database\"

An approval is one approval, unless --for or --scope makes a rule of it.")]
    Answer(AnswerArgs),
    /// Close a question without an answer; who asked goes on waiting.
    #[command(after_help = "Example:\n  mission dismiss Q-7")]
    Dismiss(DismissArgs),
    /// What agents may do without asking.
    #[command(subcommand)]
    Permission(PermissionCommand),
    /// Open the web board in a browser, logged in.
    #[command(after_help = "Examples:\n  mission open\n  mission open --print")]
    Open(OpenArgs),
    /// Tokens with which programs use the daemon over HTTP, and browsers that are logged in.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Work on the tasks of the board without anybody watching.
    #[command(subcommand)]
    Autopilot(AutopilotCommand),
    /// Run programs in terminals that outlive the daemon, and look after them.
    #[command(subcommand)]
    Slot(SlotCommand),
    /// Worktrees of attempts: what each holds, bringing it back, removing them.
    #[command(subcommand)]
    Worktree(WorktreeCommand),
    /// Report an event of an agent's CLI; run by that CLI, with the event on its input.
    ///
    /// As a hook of your own session it makes that session the foreground slot:
    /// `mission slot list` shows what it does.
    #[cfg(unix)]
    #[command(after_help = "\
Example, in ~/.claude/settings.json, for SessionStart, UserPromptSubmit, PreToolUse,
PostToolUse, Notification, Stop and SessionEnd:
  {\"hooks\": {\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mission hook\"}]}]}}")]
    Hook(HookArgs),
    /// What was said to an agent, observed of it and decided: read, verify, replay.
    #[command(subcommand)]
    Journal(JournalCommand),
    /// What was learned: remember it, find it again, set it right.
    #[command(subcommand)]
    Kb(KbCommand),
    /// Models that run on this machine.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Be the host of one terminal; started by the daemon.
    #[command(hide = true)]
    PtyHost,
    /// Be an agent that follows a script: no model, no key, no network.
    ///
    /// It draws, streams, asks, runs and fails as a real agent does, for
    /// demonstrations and tests.
    #[cfg(unix)]
    #[command(after_help = "\
Examples:
  mission rehearse --list
  mission rehearse hello
  mission rehearse --show permission > my-script.yaml
  mission rehearse my-script.yaml \"fix the failing test\" --speed 5
  mission slot spawn --engine rehearsal -- mission rehearse permission")]
    Rehearse(RehearseArgs),
    /// Be the program in a slot that is measured; started by `bench terminal`.
    #[command(subcommand, hide = true)]
    BenchWriter(WriterMode),
    /// The code map: find, read and map what a repository defines; landmarks.
    Code(CodeArgs),
    /// What agents are told beside their first prompt: what would be, what was, and why.
    #[command(subcommand)]
    Context(ContextCommand),
    /// Skills: what agents can do with the files of a folder.
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Conversations with agents: list, read, search.
    #[command(subcommand)]
    Conversation(ConversationCommand),
    /// Other people's MCP servers: list, call, add, import.
    #[cfg(unix)]
    Mcp(McpArgs),
    /// Be the process above an MCP server; started by whoever keeps it.
    #[cfg(unix)]
    #[command(hide = true)]
    McpKeep(KeepArgs),
    /// Call an operation of the catalogue by name.
    #[command(after_help = "\
Examples:
  mission call --list
  mission call health
  mission call timeline_note '{\"text\": \"deployed\"}'
  echo '{\"limit\": 5}' | mission call timeline_query -")]
    Call(CallArgs),
    /// How terminal screens are read: replay, score and explain recordings.
    #[command(subcommand)]
    Semantic(SemanticCommand),
    /// Measure this build on this machine.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Print completions for your shell.
    #[command(after_help = "Example:\n  mission completions zsh > ~/.zfunc/_mission")]
    Completions { shell: clap_complete::Shell },
    /// Print the manual page.
    #[command(after_help = "Example:\n  mission man | man -l -")]
    Man,
}

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

#[derive(Debug, Subcommand)]
pub(crate) enum IncidentCommand {
    /// List incidents, open ones unless asked for all.
    List {
        /// Also those that are resolved.
        #[arg(long)]
        all: bool,
    },
    /// Close an incident that has been dealt with.
    Resolve {
        /// As `mission incident list` shows it.
        incident: IncidentId,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every key with the value in force.
    Show,
    /// List every key, its default and what it means.
    Keys,
    /// Check a configuration file without using it.
    Check {
        /// The file in use when left out.
        file: Option<PathBuf>,
    },
    /// Print where the configuration file is.
    Path,
}

#[cfg(unix)]
#[derive(Debug, Args)]
pub(crate) struct RehearseArgs {
    /// A script file, or the name of a script that comes with the program.
    #[arg(required_unless_present_any = ["list", "show"])]
    pub(crate) script: Option<String>,
    /// A prompt to begin with.
    pub(crate) prompt: Option<String>,
    /// List the scripts that come with the program.
    #[arg(long, conflicts_with_all = ["script", "show"])]
    pub(crate) list: bool,
    /// Print a script that comes with the program, as a start for your own.
    #[arg(long, value_name = "NAME", conflicts_with = "script")]
    pub(crate) show: Option<String>,
    /// How many times faster than written, from 0.01 to 1000.
    #[arg(long, default_value = "1", value_parser = speed)]
    pub(crate) speed: missiond_rehearsal::Speed,
    /// Go on with a session, at the turn after the last one taken.
    #[arg(long, value_name = "SESSION_ID")]
    pub(crate) resume: Option<missiond_rehearsal::SessionId>,
    /// The id of the new session; made up when left out.
    #[arg(long, value_name = "SESSION_ID", conflicts_with = "resume")]
    pub(crate) session_id: Option<missiond_rehearsal::SessionId>,
    /// Where sessions are kept; below the data folder when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
    /// Where what is said goes, as JSON lines; beside the session when left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) transcript: Option<PathBuf>,
    /// Write each state it truly is in, as JSON lines, to check those who watch it.
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// MCP servers to use, in the shape of `.mcp.json`.
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp_config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The operation's name.
    #[arg(required_unless_present_any = ["list", "openapi"])]
    pub(crate) operation: Option<String>,
    /// Its parameters as JSON; `-` reads them from standard input.
    pub(crate) params: Option<String>,
    /// List the operations.
    #[arg(long, conflicts_with_all = ["operation", "params"])]
    pub(crate) list: bool,
    /// Print the OpenAPI document of what HTTP serves.
    #[arg(long, conflicts_with_all = ["operation", "params", "list"])]
    pub(crate) openapi: bool,
}

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
    #[command(after_help = "\
Examples:
  mission semantic score recordings
  mission semantic score recordings/claude --mistakes")]
    Score {
        /// A recording, or a folder that is searched for them.
        path: PathBuf,
        #[command(flatten)]
        reading: ReadingArgs,
        /// List each stretch that was read wrongly.
        #[arg(long)]
        mistakes: bool,
    },
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

#[cfg(unix)]
fn speed(text: &str) -> Result<missiond_rehearsal::Speed, String> {
    let factor = text.parse().ok();
    factor
        .and_then(missiond_rehearsal::Speed::new)
        .ok_or_else(|| "a number from 0.01 to 1000".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
