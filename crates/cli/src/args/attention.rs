//! `mission inbox`, `answer`, `dismiss` and `permission …`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use missiond_api::operations::attention::{GrantScope, PermissionEffect};
use missiond_core::{
    BoardTaskId, Bounded, BoundedOr, CliEngine, ExecutionId, Limit, QuestionRef, Text,
};

use super::duration::duration;

#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    /// Keep it on the whole terminal, with a key for each answer (`?` lists them). Without a
    /// terminal, or with --json, print it anew whenever something changes.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Also what was answered or dismissed, the newest first.
    #[arg(long, conflicts_with = "watch")]
    pub(crate) all: bool,
    /// With --all: at most so many.
    #[arg(long, default_value_t)]
    pub(crate) limit: Limit<1000, 50>,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Its number, such as Q-7.
    pub(crate) question: QuestionRef,
    /// The answer: words, or an option by its number, its words or how they begin; `-` reads it
    /// from standard input.
    pub(crate) answer: String,
    /// Let it hold for this very use of the tool again, for so long: 30s, 10m, 1h, 2d.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub(crate) for_time: Option<Duration>,
    /// For whom it holds then; for an hour when --for is left out.
    #[arg(long, value_enum)]
    pub(crate) scope: Option<ScopeArg>,
    /// With --for or --scope: also where the dialog is known from its screen alone.
    #[arg(long)]
    pub(crate) by_sight: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// The slot that asked.
    Slot,
    /// The execution that asked.
    Execution,
    /// The task its agent works on.
    Task,
    /// Every agent.
    Everywhere,
}

impl From<ScopeArg> for GrantScope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Slot => Self::Slot,
            ScopeArg::Execution => Self::Execution,
            ScopeArg::Task => Self::Task,
            ScopeArg::Everywhere => Self::Everywhere,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DismissArgs {
    /// Its number, such as Q-7.
    pub(crate) question: QuestionRef,
    /// Why, for whoever reads it later.
    #[arg(long)]
    pub(crate) reason: Option<Text<2000>>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionCommand {
    /// List the rules, and with --decisions what they decided last.
    List {
        /// So many of the last decisions.
        #[arg(long, value_name = "COUNT", default_value_t)]
        decisions: BoundedOr<0, 1000, 0>,
    },
    /// Add a rule.
    #[command(after_help = "\
Examples:
  mission permission add allow --tool Bash --argument 'cargo test*'
  mission permission add allow --tool Edit --path 'src/**' --slot fix --for 8h
  mission permission add deny --path '~/.ssh/**'
  mission permission add allow --tool search --server docs --uses 5

A rule that denies wins over every other, one that asks over those that allow. A
command is allowed only if each of its parts is.")]
    Add(Box<PermissionAddArgs>),
    /// Remove a rule that was added.
    Remove {
        /// Its name, such as P-3.
        rule: String,
    },
    /// Say what the rules decide about a use of a tool, and which one decides.
    #[command(after_help = "\
Examples:
  mission permission test --tool Bash --argument 'rm -rf /'
  mission permission test --batch cases.jsonl --json

With --batch nothing of this machine is looked at and no daemon is needed: each line is
an object with `rules`, `tool`, `argument`, `cwd`, `home` and an `id`, and is answered by
`id`, `verdict` and `reason`. A line or a rule that cannot be read is asked, and the exit
code is 1.")]
    Test(PermissionTestArgs),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffectArg {
    Allow,
    /// A person is asked.
    Ask,
    Deny,
}

impl From<EffectArg> for PermissionEffect {
    fn from(effect: EffectArg) -> Self {
        match effect {
            EffectArg::Allow => Self::Allow,
            EffectArg::Ask => Self::Ask,
            EffectArg::Deny => Self::Deny,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct PermissionAddArgs {
    #[arg(value_enum)]
    pub(crate) effect: EffectArg,
    /// The tool; `*` stands for any characters.
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// The argument or command: a glob, or after `re:` a regular expression.
    #[arg(long)]
    pub(crate) argument: Option<String>,
    /// The file: `**` for any folders; a relative one begins in the agent's folder.
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// The MCP server the tool belongs to.
    #[arg(long)]
    pub(crate) server: Option<String>,
    /// Only agents of this engine.
    #[arg(long)]
    pub(crate) engine: Option<CliEngine>,
    /// Only this slot, by its id or its name.
    #[arg(long)]
    pub(crate) slot: Option<String>,
    /// Only this execution.
    #[arg(long)]
    pub(crate) execution: Option<ExecutionId>,
    /// Only agents that work on this task.
    #[arg(long)]
    pub(crate) task: Option<BoardTaskId>,
    /// It holds for so long: 30s, 10m, 1h, 2d.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub(crate) for_time: Option<Duration>,
    /// It decides so often and no more.
    #[arg(long)]
    pub(crate) uses: Option<Bounded<1, { u32::MAX as i64 }>>,
    /// Allow also what a screen alone shows, where no hook and no protocol says what the
    /// agent's program asks.
    #[arg(long)]
    pub(crate) by_sight: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PermissionTestArgs {
    #[arg(long, required_unless_present = "batch")]
    pub(crate) tool: Option<String>,
    /// A command for Bash, Run and Shell, otherwise any text.
    #[arg(long)]
    pub(crate) argument: Option<Text<100_000, 0>>,
    #[arg(long)]
    pub(crate) path: Option<String>,
    #[arg(long)]
    pub(crate) server: Option<String>,
    #[arg(long)]
    pub(crate) engine: Option<CliEngine>,
    /// As if an agent in this slot asked.
    #[arg(long)]
    pub(crate) slot: Option<String>,
    /// Decide about each line of this file instead, by the line's own rules; `-` is
    /// standard input.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["tool", "argument", "path", "server", "engine", "slot"]
    )]
    pub(crate) batch: Option<PathBuf>,
}
