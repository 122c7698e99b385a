//! `mission conversation …`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use missiond_api::operations::conversation::TurnLimit;
use missiond_core::{
    Bounded, BoundedOr, CliEngine, ExecutionId, Limit, MAX_EXACT, TaskRef, Text, Timestamp,
};

#[derive(Debug, Subcommand)]
pub(crate) enum ConversationCommand {
    /// List conversations, the one in which something was said last first.
    #[command(after_help = "\
Examples:
  mission conversation list
  mission conversation list --project . --engine claude
  mission conversation list --task T-12")]
    List {
        #[command(flatten)]
        within: WithinArgs,
        /// Only those led in this execution last.
        #[arg(long)]
        execution: Option<ExecutionId>,
        /// At most so many, up to 200.
        #[arg(long, default_value_t)]
        limit: Limit<200, 20>,
        /// Go on where an earlier list ended.
        #[arg(long, value_name = "NEXT")]
        after: Option<Text<200, 0>>,
    },
    /// Read a conversation, from its beginning or its end.
    #[command(after_help = "\
Examples:
  mission conversation show 1f2e3d4c
  mission conversation show 1f2e3d4c --turn 3
  mission conversation show 1f2e3d4c --newest --limit 20")]
    Show {
        /// Its id, or enough of the CLI's own name of it.
        conversation: String,
        /// Only this turn.
        #[arg(long)]
        turn: Option<Bounded<0, MAX_EXACT>>,
        /// Behind this place.
        #[arg(long, value_name = "PLACE")]
        after: Option<Bounded<0, MAX_EXACT>>,
        /// The last instead of the first.
        #[arg(long, conflicts_with = "after")]
        newest: bool,
        /// At most so many messages and calls, up to 500.
        #[arg(long, default_value_t)]
        limit: Limit<500, 100>,
        /// Also what is no part of the talk, and what tools gave back.
        #[arg(long)]
        all: bool,
    },
    /// Find what was said by its words.
    #[command(after_help = "\
Examples:
  mission conversation search why did the migration fail
  mission conversation search '\"connection reset\"' --project .
  mission conversation search E0502 --engine codex --since 2026-01-04T10:00:00Z")]
    Search {
        /// Words, names, or a phrase in quotes.
        #[arg(required = true)]
        query: Vec<String>,
        #[command(flatten)]
        within: WithinArgs,
        /// At most so many hits, up to 50.
        #[arg(long, default_value_t)]
        limit: Limit<50, 10>,
        /// Leave out so many of the best.
        #[arg(long, default_value_t)]
        offset: BoundedOr<0, 1000, 0>,
    },
    /// Say what was asked and answered in a project lately, or about something.
    #[command(after_help = "\
Examples:
  mission conversation turns
  mission conversation turns lease renewal --project ~/src/app")]
    Turns {
        /// Only turns about this; the newest when left out.
        query: Vec<String>,
        /// A folder of the project; the current one when left out.
        #[arg(long, value_name = "FOLDER", default_value = ".")]
        project: PathBuf,
        /// At most so many, up to 50.
        #[arg(long, default_value_t)]
        limit: TurnLimit,
    },
}

#[derive(Debug, Args)]
pub(crate) struct WithinArgs {
    /// claude, codex, gemini, opencode …
    #[arg(long)]
    pub(crate) engine: Option<CliEngine>,
    /// A folder of the project.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// A task of the board, as T-12.
    #[arg(long)]
    pub(crate) task: Option<TaskRef>,
    /// Said at or after this moment.
    #[arg(long)]
    pub(crate) since: Option<Timestamp>,
    /// Said before this moment.
    #[arg(long)]
    pub(crate) until: Option<Timestamp>,
}
