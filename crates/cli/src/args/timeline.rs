//! `mission timeline …`

use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};
use missiond_api::operations::communication::PageLimit;
use missiond_core::{
    BoundedOr, Category, Clock, Seq, SystemClock, TaskNumber, Text, Timestamp, TraceId,
};

#[derive(Debug, Subcommand)]
pub(crate) enum TimelineCommand {
    /// Watch events as they happen.
    #[command(after_help = "\
Examples:
  mission timeline tail
  mission timeline tail --after 0 --kind note_added
  mission timeline tail --category slot --json")]
    Tail {
        /// First everything stored after this sequence number.
        #[arg(long, value_parser = seq)]
        after: Option<Seq>,
        /// Also events that are told but not stored.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        filter: EventFilter,
    },
    /// List stored events, the newest first.
    #[command(after_help = "\
Examples:
  mission timeline query --limit 20
  mission timeline query --since 2026-01-04T10:00:00Z --oldest-first")]
    Query {
        #[command(flatten)]
        filter: EventFilter,
        /// Only this causal chain; the last column of a line names it.
        #[arg(long)]
        trace: Option<TraceId>,
        /// Not before this time: RFC 3339, a date, or how long ago (90m, 24h, 7d).
        #[arg(long, value_parser = moment)]
        since: Option<Timestamp>,
        /// Before this time, given in the same ways.
        #[arg(long, value_parser = moment)]
        until: Option<Timestamp>,
        /// Only what comes after this sequence number.
        #[arg(long, value_parser = seq)]
        after: Option<Seq>,
        /// Only what comes before this sequence number.
        #[arg(long, value_parser = seq)]
        before: Option<Seq>,
        /// The oldest first instead of the newest.
        #[arg(long)]
        oldest_first: bool,
        /// At most so many, 1 to 1000.
        #[arg(long, default_value_t = PageLimit::of::<50>())]
        limit: PageLimit,
    },
    /// Show one causal chain as a tree: all that came of a task, for instance.
    #[command(after_help = "Example:\n  mission timeline trace T-3")]
    Trace {
        /// A task, or the last column of `mission timeline query`.
        #[arg(value_name = "TASK|TRACE")]
        of: TraceOf,
    },
    /// Wait for an event, for scripts.
    #[command(after_help = "Example:\n  mission timeline wait --kind note_added --timeout 30")]
    Wait {
        /// Only these kinds, separated by commas.
        #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
        kinds: Vec<String>,
        /// Only what comes after this sequence number.
        #[arg(long, value_parser = seq)]
        after: Option<Seq>,
        /// Seconds to wait, at most 55.
        #[arg(long, default_value_t)]
        timeout: BoundedOr<1, 55, 30>,
    },
    /// Mark this moment with a sentence of your own.
    #[command(after_help = "Example:\n  mission timeline note \"release 1.4 is out\"")]
    Note {
        /// What to remember, in quotes.
        text: Text<4096>,
        /// Continue this causal chain.
        #[arg(long)]
        trace: Option<TraceId>,
    },
    /// Count events per hour and kind.
    Activity {
        /// Not before this time: RFC 3339, a date, or how long ago; 24h when left out.
        #[arg(long, value_parser = moment)]
        since: Option<Timestamp>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct EventFilter {
    /// Only these kinds, separated by commas.
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,
    /// Only these categories, separated by commas: pty, message, task, board, slot, knowledge,
    /// cli_engine, pipeline, system.
    #[arg(long = "category", value_name = "CATEGORY", value_delimiter = ',', value_parser = category)]
    pub(crate) categories: Vec<Category>,
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let ago = |unit: char, seconds: u64| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(Duration::from_secs(number.checked_mul(seconds)?))
    };
    let ago = ago('s', 1)
        .or_else(|| ago('m', 60))
        .or_else(|| ago('h', 3600))
        .or_else(|| ago('d', 86_400));
    if let Some(ago) = ago {
        return Ok(SystemClock.now().minus(ago));
    }
    text.parse()
        .or_else(|_| format!("{text}T00:00:00Z").parse())
        .map_err(|_| "expected a time like 2026-01-04T10:00:00Z, a date like 2026-01-04, or how long ago, like 90m, 24h or 7d".to_owned())
}

fn seq(text: &str) -> Result<Seq, String> {
    match text.parse::<i64>() {
        Ok(number) if number >= 0 => Ok(Seq(number)),
        _ => Err("a sequence number is 0 or more".to_owned()),
    }
}

fn category(text: &str) -> Result<Category, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|_| {
        "use pty, message, task, board, slot, knowledge, cli_engine, pipeline or system".to_owned()
    })
}

/// Whose chain is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceOf {
    Task(TaskNumber),
    Trace(TraceId),
}

impl FromStr for TraceOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(task) = text.parse() {
            return Ok(Self::Task(task));
        }
        let trace = text.parse().map(Self::Trace);
        trace.map_err(|_| "it is neither a task, such as T-3, nor the id of a trace".to_owned())
    }
}
