//! The command line: every command, flag and example.

mod acp;
mod attention;
mod audit;
mod autopilot;
mod code;
#[cfg(test)]
mod commands_page_tests;
mod context;
mod conversation;
mod daemon;
mod docs;
#[cfg(test)]
mod documents_tests;
mod duration;
mod engine;
mod execution;
mod groups;
mod guard;
#[cfg(test)]
mod hints_tests;
mod journal;
mod kb;
mod llm;
mod mcp;
mod policy;
mod rehearse;
mod sandbox;
mod search;
mod semantic;
mod slot;
mod task;
mod timeline;
mod trust;
mod upgrade;
mod web;
mod worktree;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use missiond_core::IncidentId;

use crate::failure::EXIT_CODES;
pub(crate) use acp::AcpArgs;
pub(crate) use attention::{
    AnswerArgs, DismissArgs, InboxArgs, PermissionAddArgs, PermissionCommand, PermissionTestArgs,
};
pub(crate) use audit::AuditCommand;
pub(crate) use autopilot::{AutopilotCommand, DemoArgs, WhyArg};
pub(crate) use code::{BeaconCommand, CodeArgs, CodeCommand};
pub(crate) use context::{ContextCommand, SkillCommand};
pub(crate) use conversation::{ConversationCommand, WithinArgs};
pub(crate) use daemon::{DaemonCommand, Level, LogsArgs, ServiceManager};
pub(crate) use docs::{DocsArgs, DocsCommand};
pub(crate) use engine::{EngineAddArgs, EngineCommand};
pub(crate) use execution::{ExecutionCommand, HookArgs, RunArgs};
use groups::meant_by;
pub(crate) use guard::{GuardCommand, InspectArgs, ScanArgs};
pub(crate) use journal::{JournalCommand, JournalFormat};
pub(crate) use kb::{KbCommand, KbFormat, ModelCommand, RememberArgs, SearchArgs};
pub(crate) use llm::LlmCommand;
pub(crate) use mcp::{
    ImportFrom, InitArgs, KeepArgs, McpAddArgs, McpArgs, McpCommand, McpServeArgs,
};
pub(crate) use policy::{PolicyCommand, PolicyExplainArgs};
pub(crate) use rehearse::RehearseArgs;
pub(crate) use sandbox::{NetworkArg, SandboxCommand, SandboxProbeArgs, SandboxRunArgs};
pub(crate) use search::FindArgs;
pub(crate) use semantic::{AnimateArgs, ReadingArgs, SemanticCommand};
pub(crate) use slot::{AttachArgs, PictureArgs, SlotCommand, SpawnArgs};
pub(crate) use task::{
    AddArgs, DraftArgs, EditArgs, ExportFormatArg, ImportArgs, ImportFormatArg, ListArgs,
    ProposeArgs, TaskCommand,
};
pub(crate) use timeline::{TimelineCommand, TraceOf};
pub(crate) use trust::TrustCommand;
pub(crate) use upgrade::{UninstallArgs, UpgradeArgs};
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
    max_term_width = 100,
    after_help = format!("\
Examples:
  mission status --watch             see who works on what, and answer them
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
    pub(crate) command: Option<Command>,
}

/// The command line as it is read and described.
pub(crate) fn command() -> clap::Command {
    groups::grouped(Cli::command())
}

/// Reads the command line; says what is wrong with it and ends otherwise.
pub(crate) fn parse() -> Cli {
    let matches = command().try_get_matches();
    let read = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    read.unwrap_or_else(|error| {
        if error.kind() == ErrorKind::InvalidSubcommand
            && let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
            && let Some(hint) = meant_by(name)
        {
            let _ = error.print();
            let _ = writeln!(std::io::stderr(), "\nhint: {hint}");
            std::process::exit(error.exit_code());
        }
        error.exit()
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the daemon if it is not running, and say how it is.
    #[command(after_help = "Example:\n  mission up")]
    Up,
    /// Stop the daemon.
    #[command(after_help = "Example:\n  mission down")]
    Down,
    /// Say who needs you, who works on what, and what was finished.
    #[command(after_help = "\
Examples:
  mission status
  mission status --watch
  mission status --json | jq '.needs_you[].question'

`mission daemon status` says where the daemon keeps its things.")]
    Status(StatusArgs),
    /// Show what agents changed: which tasks hold work, or the diff of one.
    #[command(after_help = "\
Examples:
  mission review
  mission review T-12
  mission review T-12 --stat

`mission worktree finish T-12` merges it.")]
    Review(ReviewArgs),
    /// Read the daemon's log; the same as `mission daemon logs`.
    #[command(after_help = "Examples:\n  mission logs -n 20\n  mission logs --follow --level warn")]
    Logs(LogsArgs),
    /// Tell the agents on this machine to use missiond: their configuration gets
    /// its MCP server.
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
    /// Install another version: verified, agents keep running, and back if it does not start.
    #[command(after_help = "\
Examples:
  mission upgrade mission-0.3.0-x86_64-linux.tar.gz
  mission upgrade https://example.com/mission-0.3.0-x86_64-linux.tar.gz --key release.pub

SHA256SUMS and SHA256SUMS.minisig are read from beside the archive. The program and
the database as they were before stay beside the new ones, as mission.before and
mission.db.before.")]
    Upgrade(UpgradeArgs),
    /// Take missiond off this machine. Shows what would be removed; `--yes` does it.
    #[command(after_help = "\
Examples:
  mission uninstall
  mission uninstall --yes --keep-data

`mission worktree list` shows what agents have done that is nowhere else: it goes too.")]
    Uninstall(UninstallArgs),
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
    /// What agents used and what it cost, by day, engine, model and task.
    #[command(after_help = "\
Examples:
  mission usage
  mission usage --days 30 --json

Costs are by the vendors' list prices of the days that are printed with them; a
subscription has none. `usage.prices` of the configuration comes before a list.")]
    Usage(UsageArgs),
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
    /// Read and search the documentation, without a network.
    #[command(after_help = "\
Examples:
  mission docs
  mission docs board
  mission docs board_add
  mission docs autopilot.max_agents
  mission docs search merge conflict
  mission docs --kind operation
  mission docs --web

Every operation and every key of the configuration has a page too.")]
    Docs(DocsArgs),
    /// Find tasks, runs, questions, knowledge, code, conversations and commits by their words.
    #[command(after_help = "\
Examples:
  mission search divide
  mission search \"lost update\" --kind task,commit
  mission search T-12 --json")]
    Search(FindArgs),
    /// Watch five tasks being done by agents, from claim to merge, in twenty seconds.
    ///
    /// In a folder of its own, with a daemon and a small repository of its own:
    /// two branches at once, a permission, a failing check that is mended, a
    /// question. Everything is left there to be looked at.
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
    /// What agents may do, in files that you read and review.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Find secrets where none should be, and text that tries to command a model.
    #[command(subcommand)]
    Guard(GuardCommand),
    /// Run a program behind the wall; see whether the wall holds here.
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// How far tools, servers, engines and skills are trusted, and why.
    #[command(subcommand)]
    Trust(TrustCommand),
    /// Who did what, by which rule and what came of it: list, verify, take out.
    #[command(subcommand)]
    Audit(AuditCommand),
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
    /// The agent CLIs: which there are, by what each is driven; add one.
    #[command(subcommand)]
    Engine(EngineCommand),
    /// Models of providers: ask one, see what was asked and what it cost.
    #[command(subcommand)]
    Llm(LlmCommand),
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
    #[command(after_help = "\
Examples:
  mission rehearse --list
  mission rehearse hello
  mission rehearse --show permission > my-script.yaml
  mission rehearse my-script.yaml \"fix the failing test\" --speed 5
  mission slot spawn --engine rehearsal -- mission rehearse permission")]
    Rehearse(RehearseArgs),
    /// The code map: find, read and map what a repository defines; beacons.
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
    Mcp(McpArgs),
    /// Be the agent of your editor: it drives agents here by the Agent Client Protocol.
    #[command(after_help = "\
An editor starts it and speaks JSON lines with it. Agents outlive the editor.

Examples:
  mission acp
  mission acp --engine codex
  mission acp --engine rehearsal -- hello")]
    Acp(AcpArgs),
    /// Be the process above an MCP server; started by whoever keeps it.
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
    #[command(
        // All of it is read by the program that measures.
        disable_help_flag = true,
        disable_version_flag = true,
        after_help = "\
Examples:
  mission bench --help
  mission bench start
  mission bench ipc --json

Another program does it: `cargo build --release --package missiond-bench` builds it."
    )]
    Bench(BenchArgs),
    /// Print completions for your shell.
    #[command(after_help = "Example:\n  mission completions zsh > ~/.zfunc/_mission")]
    Completions { shell: clap_complete::Shell },
    /// Print the version.
    #[command(after_help = "Example:\n  mission version")]
    Version,
    /// Print the manual page.
    #[command(after_help = "Example:\n  mission man | man -l -")]
    Man,
}

#[derive(Debug, Default, Args)]
pub(crate) struct StatusArgs {
    /// Keep it on the whole terminal, up to date, with keys to answer (`?` lists them).
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// What is listed as finished counts as seen from now on.
    #[arg(long, conflicts_with = "watch")]
    pub(crate) seen: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// A task (`T-12`), a branch, or the path of a worktree; all that hold work when
    /// left out.
    pub(crate) task: Option<String>,
    /// Only which files, and how many lines of each.
    #[arg(long, requires = "task")]
    pub(crate) stat: bool,
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
    /// Print the value of one key that is in force.
    #[command(after_help = "Example:\n  mission config get autopilot.max_agents")]
    Get { key: String },
    /// Set a key: the value is checked, written into the file and, where the key
    /// allows it, in force at once. Works without a daemon too.
    #[command(after_help = "\
Examples:
  mission config set autopilot.max_agents 2
  mission config set autopilot.quiet_hours '[\"22:00-06:30\"]'
  mission config set finish branch --repository ~/project")]
    Set {
        key: String,
        /// As JSON; what is no JSON is a text.
        value: String,
        /// Set it in .mission/config.toml of this repository.
        #[arg(long, value_name = "FOLDER")]
        repository: Option<PathBuf>,
    },
    /// Take a key out of the file, so that it has its default.
    #[command(after_help = "Example:\n  mission config unset autopilot.max_agents")]
    Unset {
        key: String,
        /// Take it out of .mission/config.toml of this repository.
        #[arg(long, value_name = "FOLDER")]
        repository: Option<PathBuf>,
    },
    /// List what was changed with `set`, on the page or in the list of MCP servers.
    #[command(after_help = "Example:\n  mission config history")]
    History,
    /// Take back a change. Works without a daemon too.
    #[command(after_help = "Examples:\n  mission config undo\n  mission config undo 3")]
    Undo {
        /// Its number, as `mission config history` prints it; the newest that stands
        /// when left out.
        change: Option<u64>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// The last so many days, with today; a day is one of UTC.
    #[arg(long, default_value_t = 14, value_name = "N")]
    pub(crate) days: u32,
}

/// What another program is given as it is.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to measure, and its options.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "BENCH"
    )]
    pub(crate) args: Vec<OsString>,
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
