//! `mission worker …`.

use clap::{Args, Subcommand};
use missiond_core::{Limit, Text, WorkerDomain, WorkerKind};

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// List them: whether each may work, what waits for it and what it did last.
    #[command(after_help = "Example:\n  mission worker list")]
    List,
    /// Show one: what sets it to work, what waits, what it gave up and why.
    #[command(after_help = "Example:\n  mission worker show experience_harvester")]
    Show {
        /// Its name, as `mission worker list` has it.
        worker: Text<64>,
    },
    /// Begin no work; what has to be done waits and is done later.
    #[command(after_help = "\
Examples:
  mission worker pause embedding
  mission worker pause --memory --drain --reason \"the laptop is on battery\"
  mission worker pause --all")]
    Pause(WorkerPauseArgs),
    /// Let work go on that was paused; what waited is done now.
    #[command(after_help = "\
Examples:
  mission worker resume --memory
  mission worker resume embedding --force    also while all are paused")]
    Resume(WorkerResumeArgs),
    /// Have one look now, and do at once what waits for it.
    #[command(after_help = "Example:\n  mission worker run knowledge_upkeep")]
    Run {
        /// Its name, as `mission worker list` has it.
        worker: Text<64>,
    },
    /// Have one try again what it gave up.
    #[command(after_help = "Example:\n  mission worker retry experience_harvester")]
    Retry {
        /// Its name, as `mission worker list` has it.
        worker: Text<64>,
    },
    /// What one did since the daemon began, the newest first.
    #[command(after_help = "Example:\n  mission worker logs conversation_logger --limit 50")]
    Logs {
        /// Its name, as `mission worker list` has it.
        worker: Text<64>,
        /// At most so many.
        #[arg(long, default_value_t)]
        limit: Limit<200, 20>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct WorkerPauseArgs {
    #[command(flatten)]
    pub(crate) target: WorkerTargetArgs,
    /// Wait for the work at hand, for twenty seconds at most.
    #[arg(long)]
    pub(crate) drain: bool,
    /// Why, for whoever looks at it later.
    #[arg(long)]
    pub(crate) reason: Option<Text<500>>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerResumeArgs {
    #[command(flatten)]
    pub(crate) target: WorkerTargetArgs,
    /// Let this one work whatever is said of all, of its kind or of its domain.
    #[arg(long, requires = "worker")]
    pub(crate) force: bool,
    /// Why, for whoever looks at it later.
    #[arg(long)]
    pub(crate) reason: Option<Text<500>>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WorkerTargetArgs {
    /// One, by its name.
    pub(crate) worker: Option<Text<64>>,
    /// All of them.
    #[arg(long)]
    pub(crate) all: bool,
    /// Those of a domain: knowledge, conversations or code.
    #[arg(long)]
    pub(crate) domain: Option<WorkerDomain>,
    /// Those that need this beside the machine: local (nothing), fast, default or premium (a
    /// model).
    #[arg(long)]
    pub(crate) kind: Option<WorkerKind>,
    /// Those of all three domains: everything that is done for what is remembered.
    #[arg(long)]
    pub(crate) memory: bool,
}
