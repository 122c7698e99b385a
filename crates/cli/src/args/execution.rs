//! `mission run` and `mission execution …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use missiond_api::operations::execution::{Permission, Signals};
use missiond_core::{CliEngine, Controller, Limit, ObservationId, SlotName, Text};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What the agent is to do; `-` reads it from standard input.
    pub(crate) prompt: String,
    /// Which agent CLI: claude, codex, gemini, opencode, rehearsal or another.
    #[arg(long, default_value = "claude")]
    pub(crate) engine: CliEngine,
    /// The folder to work in; this one when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The model, in the words of the CLI.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// What the agent may do without asking.
    #[arg(long, value_enum, default_value = "ask")]
    pub(crate) permission: PermissionArg,
    /// What to call its slot; made up when left out.
    #[arg(long)]
    pub(crate) name: Option<SlotName>,
    /// A variable for the agent: NAME=VALUE, or NAME to pass on your own.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Go on with this conversation, by the CLI's own id.
    #[arg(long, value_name = "CONVERSATION")]
    pub(crate) resume: Option<String>,
    /// By what the agent is driven; `mission engine list` says what it is when left out.
    #[arg(long, value_enum)]
    pub(crate) control: Option<ControlArg>,
    /// How the agent reports; when left out, by MCP where its CLI can be given a server,
    /// otherwise by markers.
    #[arg(long, value_enum)]
    pub(crate) signals: Option<SignalsArg>,
    /// You trust this folder: say so when the CLI asks.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Tell the agent nothing but the prompt; `mission context preview` shows what else it
    /// would be told.
    #[arg(long)]
    pub(crate) no_context: bool,
    /// Show what happens until the turn ends, the agent asks or its program ends.
    #[arg(long)]
    pub(crate) wait: bool,
    /// With --wait: stop waiting after this many seconds; the agent goes on.
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    pub(crate) timeout: Option<u64>,
    /// More arguments for the CLI. For an engine without an adapter, the program and its
    /// arguments; for rehearsal, the script.
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionArg {
    /// It asks before edits and commands.
    Ask,
    /// It edits files in its folder without asking.
    AcceptEdits,
    /// It reads and plans only.
    Plan,
    /// It never asks.
    Bypass,
}

impl From<PermissionArg> for Permission {
    fn from(permission: PermissionArg) -> Self {
        match permission {
            PermissionArg::Ask => Self::Ask,
            PermissionArg::AcceptEdits => Self::AcceptEdits,
            PermissionArg::Plan => Self::Plan,
            PermissionArg::Bypass => Self::Bypass,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ControlArg {
    /// By the protocol its CLI offers: exact, and without a terminal.
    Structured,
    /// By its terminal, which is read and typed into.
    Terminal,
}

impl From<ControlArg> for Controller {
    fn from(control: ControlArg) -> Self {
        match control {
            ControlArg::Structured => Self::Structured,
            ControlArg::Terminal => Self::Terminal,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SignalsArg {
    /// By lines in its output; how is told before the first prompt.
    Markers,
    /// By the tools of an MCP server its CLI is given.
    Mcp,
    /// Not at all: it is only observed.
    None,
}

impl From<SignalsArg> for Signals {
    fn from(signals: SignalsArg) -> Self {
        match signals {
            SignalsArg::Markers => Self::Markers,
            SignalsArg::Mcp => Self::Mcp,
            SignalsArg::None => Self::None,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExecutionCommand {
    /// List the runs of agents and what each is doing.
    List {
        /// Also those that have ended.
        #[arg(long)]
        all: bool,
        /// With --all: at most so many, the newest first.
        #[arg(long, default_value_t)]
        limit: Limit<1000, 50>,
    },
    /// Show a run: its state, its questions, its messages and what happened last.
    Show {
        /// Its id, or the name of its slot.
        execution: String,
    },
    /// Queue a text for an agent; it is given it when it waits for one.
    #[command(after_help = "\
Examples:
  mission execution message fix \"now run the tests\"
  mission execution message fix --now \"leave the docs alone\"     while it works
  mission execution message fix \"what is wrong here?\" --file screenshot.png
  mission execution message fix --key nightly-1 - < prompt.txt")]
    Message {
        /// Its id, or the name of its slot.
        execution: String,
        /// The text; `-` reads it from standard input.
        text: String,
        /// A name for the message: sent again with the same one, it is not typed again.
        #[arg(long)]
        key: Option<Text<200>>,
        /// Do not wait for the end of the turn where the agent takes words while it works:
        /// some hear it at once, most queue it.
        #[arg(long)]
        now: bool,
        /// A picture or another file to show with it; may be given more than once.
        #[arg(long = "file", value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Answer a question an agent has asked.
    Answer {
        /// Its id, or the name of its slot.
        execution: String,
        /// The answer, or the label of one of the offered ones; `-` reads it from standard input.
        text: String,
        /// Which question, as `mission execution show` names it; the only open one when left out.
        #[arg(long, value_name = "QUESTION")]
        request: Option<ObservationId>,
    },
    /// Stop what an agent is doing; its program goes on.
    #[command(after_help = "Example:\n  mission execution interrupt fix")]
    Interrupt {
        /// Its id, or the name of its slot.
        execution: String,
    },
    /// End a run that is no longer wanted, with every process its agent started.
    Cancel {
        /// Its id, or the name of its slot.
        execution: String,
        /// Why, for the journal.
        #[arg(long)]
        reason: Option<Text<2000>>,
    },
    /// Be the MCP server of an execution, on standard input and output.
    ///
    /// An agent's CLI starts this. It carries messages to the daemon, waits when
    /// the daemon is restarted, and sends again what was not answered.
    #[command(after_help = "\
Example, as an agent's CLI is told of it:
  {\"mcpServers\": {\"mission-execution\": {
    \"command\": \"mission\", \"args\": [\"execution\", \"mcp\", \"/run/…/access.json\"]}}}")]
    Mcp(AccessArg),
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The file with the access to an execution; left out in hooks of your own session.
    pub(crate) access_file: Option<PathBuf>,
    /// Which agent CLI the session is of.
    #[arg(long, default_value = "claude")]
    pub(crate) engine: CliEngine,
    /// Answer whether the tool may be used, by the rules; without an answer of the daemon
    /// it may not.
    #[arg(long, requires = "access_file")]
    pub(crate) judge: bool,
    /// Tell the daemon nothing beside: it hears of the agent by its protocol.
    #[arg(long, requires = "judge")]
    pub(crate) unreported: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AccessArg {
    /// The file with the access to the execution; made when the agent is started.
    pub(crate) access_file: PathBuf,
}
