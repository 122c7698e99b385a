//! `mission task …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use missiond_api::operations::board::TaskField;
use missiond_core::{
    Alternative, BoardTaskStatus, Check, CliEngine, Clock, Controller, EngineeringPhase, Finish,
    Isolation, Limit, MOST_CHECK_SECS, Permission, Priority, ReviewGate, SystemClock, TaskRef,
    Text, Timestamp,
};

use super::duration::duration;

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Put a task on the board.
    #[command(after_help = "\
Examples:
  mission task add \"Fix the lexer\" --check \"cargo test\" --touches 'src/lexer/**'
  mission task add \"Write the docs\" --after T-1 --priority high --label docs
  mission task add \"Tidy up\" --template chore --engine codex
  mission task add \"Try the prompt\" --engine claude --control terminal
  mission task add \"Summarize the thread\" --isolation none
  mission task add \"Speed up the parser\" --engine claude --also-engine codex

The repository is the one this folder is in, unless --repository names another.
What is left out is taken from the template, then from .mission/config.toml of
the repository.")]
    Add(Box<AddArgs>),
    /// List the tasks, the most wanted first.
    #[command(after_help = "\
Examples:
  mission task list
  mission task list --status blocked,failed
  mission task list --all --label docs --json")]
    List(ListArgs),
    /// Show one task: what it waits for, its notes and its attempts.
    #[command(after_help = "Example:\n  mission task show T-1")]
    Show {
        /// Its number, like T-1, or its id.
        task: TaskRef,
    },
    /// Change a task.
    #[command(after_help = "\
Examples:
  mission task edit T-2 --priority urgent --title \"Fix the lexer first\"
  mission task edit T-2 --after T-1 --not-after T-3
  mission task edit T-2 --clear due,engine
  mission task edit T-2 --engine rehearsal -- other-script.yaml")]
    Edit(Box<EditArgs>),
    /// Say what can be worked on now, and what the rest waits for.
    #[command(after_help = "Example:\n  mission task ready")]
    Ready {
        /// At most so many of each, 1 to 200.
        #[arg(long, default_value_t)]
        limit: Limit<200, 50>,
    },
    /// Draw what depends on what.
    #[command(after_help = "\
Examples:
  mission task graph
  mission task graph T-2
  mission task graph --all --dot | dot -Tsvg > board.svg")]
    Graph {
        /// Only what this task depends on and what depends on it.
        task: Option<TaskRef>,
        /// Also tasks that are done or failed.
        #[arg(long)]
        all: bool,
        /// In the words of Graphviz.
        #[arg(long)]
        dot: bool,
    },
    /// Read a plan in plain words as tasks: lists, numbered lines, "then", "and".
    ///
    /// Only says what it would be, unless --add puts it on the board.
    #[command(after_help = "\
Examples:
  mission task propose \"add divide, then document it and release 1.2\"
  mission task propose --add \"$(cat PLAN.md)\"
  mission task propose --template chore \"bump the version, then write the changelog\"")]
    Propose(ProposeArgs),
    /// Divide a task into steps, all of them or none.
    ///
    /// The steps are parts of the task, and it waits for all of them; what it
    /// waited for before, the steps wait for too.
    #[command(after_help = "\
Examples:
  mission task decompose T-1 --step \"api: Write the API\" --step \"ui(api): Write the page\"
  mission task decompose T-1 --file steps.json

A step is KEY: TITLE, or KEY(KEY, T-7): TITLE with what it depends on. The file
is a JSON list of {\"key\", \"task\": {\"title\", …}, \"depends_on\": […]}; - is
standard input.")]
    Decompose {
        /// Its number, like T-1, or its id.
        task: TaskRef,
        /// One step: KEY: TITLE, or KEY(KEY, …): TITLE.
        #[arg(long = "step", value_name = "STEP", required_unless_present = "file")]
        steps: Vec<String>,
        /// Steps with all they may have, as JSON.
        #[arg(long, conflicts_with = "steps")]
        file: Option<PathBuf>,
    },
    /// Have one more engine try a task that is not worked on and has not ended.
    ///
    /// It gets a task of its own with the same text, checks and dependencies. None of
    /// the alternatives is merged by itself: compare them, and finish the one to keep.
    #[command(after_help = "\
Examples:
  mission task alternative T-1 --engine codex
  mission task alternative T-1 --engine claude --model haiku
  mission task alternative T-1 --engine claude --control terminal")]
    Alternative {
        /// Its number, like T-1, or its id.
        task: TaskRef,
        /// Which agent CLI: claude, codex, gemini, opencode, rehearsal or another.
        #[arg(long)]
        engine: CliEngine,
        /// The model, in the words of the CLI.
        #[arg(long)]
        model: Option<String>,
        /// By what it is driven: structured or terminal.
        #[arg(long)]
        control: Option<Controller>,
    },
    /// Write a note on a task.
    #[command(after_help = "Example:\n  mission task note T-1 \"the lexer lives in src/lex\"")]
    Note {
        /// Its number, like T-1, or its id.
        task: TaskRef,
        /// The note; `-` reads it from standard input.
        text: String,
    },
    /// Have a task tried again that is blocked, failed or in review.
    #[command(after_help = "\
Examples:
  mission task retry T-1
  mission task retry T-1 --fresh")]
    Retry {
        /// Its number, like T-1, or its id.
        task: TaskRef,
        /// From scratch, in a new worktree from the base; what was tried stays.
        #[arg(long)]
        fresh: bool,
    },
    /// Cancel a task.
    #[command(after_help = "Example:\n  mission task cancel T-1 --reason \"not needed\"")]
    Cancel {
        /// Its number, like T-1, or its id.
        task: TaskRef,
        /// Why, for whoever looks at it later.
        #[arg(long)]
        reason: Option<Text<2000>>,
    },
    /// Put the tasks of a file on the board, all of them or none.
    #[command(after_help = "\
Examples:
  mission task import TODO.md
  mission task import board.jsonl --dry-run
  mission task import .beads/issues.jsonl --format beads
  mission task import ~/.local/share/vibe-kanban/db.sqlite --format vibe-kanban")]
    Import(ImportArgs),
    /// Print the board, as JSON lines or a Markdown checklist.
    #[command(after_help = "\
Examples:
  mission task export > board.jsonl
  mission task export --format markdown -o TODO.md")]
    Export {
        #[arg(long, value_enum, default_value = "jsonl")]
        format: ExportFormatArg,
        /// Write it to this file instead.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file; `-` is standard input.
    pub(crate) file: PathBuf,
    /// What kind of file; told by its name and its beginning when left out.
    #[arg(long, value_enum)]
    pub(crate) format: Option<ImportFormatArg>,
    /// The repository of tasks that name none; the one this folder is in when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) repository: Option<PathBuf>,
    /// Where the agents of tasks that do not say work: worktree, shared or none.
    #[arg(long)]
    pub(crate) isolation: Option<Isolation>,
    /// A label for each of them; may be given again.
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// Only look whether it could be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also when all of its tasks are on the board already.
    #[arg(long)]
    pub(crate) again: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormatArg {
    /// Our own: one task a line.
    Jsonl,
    /// A checklist.
    Markdown,
    /// The issues of beads.
    Beads,
    /// The SQLite file of vibe-kanban.
    VibeKanban,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormatArg {
    /// One task a line.
    Jsonl,
    /// A checklist.
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// One line that says what is to be done.
    pub(crate) title: String,
    #[command(flatten)]
    pub(crate) draft: DraftArgs,
    /// The phases to go through, separated by commas: investigate, consult, plan, execute,
    /// finalize.
    #[arg(long, value_name = "PHASES", value_delimiter = ',')]
    pub(crate) phases: Vec<EngineeringPhase>,
    /// A template to take from what is left out.
    #[arg(long, value_name = "NAME")]
    pub(crate) template: Option<String>,
    /// The task it is a part of.
    #[arg(long, value_name = "TASK")]
    pub(crate) parent: Option<TaskRef>,
    /// A task that must be done first; may be given again.
    #[arg(long = "after", value_name = "TASK", value_delimiter = ',')]
    pub(crate) after: Vec<TaskRef>,
    /// One more engine to try it at the same time, maybe with a model: codex or
    /// claude:haiku; may be given up to three times. A person keeps one of them.
    #[arg(long = "also-engine", value_name = "ENGINE[:MODEL]")]
    pub(crate) also_engines: Vec<Alternative>,
    /// More arguments for the engine's program.
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

/// What both adding and editing take.
#[derive(Debug, Args)]
pub(crate) struct DraftArgs {
    /// All an agent needs to know; `-` reads it from standard input.
    #[arg(long, short = 'd', value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// urgent, high, normal or low; P0 to P3 too.
    #[arg(long, short = 'p')]
    pub(crate) priority: Option<Priority>,
    /// The place among tasks of the same priority: smaller comes first.
    #[arg(long)]
    pub(crate) rank: Option<f64>,
    /// A label; may be given again.
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// A glob of paths it will change; may be given again. Tasks that touch the same paths
    /// never run together.
    #[arg(long = "touches", value_name = "GLOB")]
    pub(crate) touches: Vec<String>,
    /// When it is wanted: RFC 3339, a date, or how long from now (90m, 24h, 7d).
    #[arg(long, value_parser = due)]
    pub(crate) due: Option<Timestamp>,
    /// Which agent CLI: claude, codex, gemini, opencode, rehearsal or another.
    #[arg(long)]
    pub(crate) engine: Option<CliEngine>,
    /// The model, in the words of the CLI.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// What drives it: structured (the protocol of its CLI) or terminal; as for every run of
    /// the engine when left out.
    #[arg(long)]
    pub(crate) control: Option<Controller>,
    /// What the agent may do without asking: ask, accept-edits, plan or bypass.
    #[arg(long)]
    pub(crate) permission: Option<Permission>,
    /// The repository to work in.
    #[arg(long, value_name = "DIR")]
    pub(crate) repository: Option<PathBuf>,
    /// Where the agent works: worktree (of its own), shared (the repository's tree) or none.
    #[arg(long)]
    pub(crate) isolation: Option<Isolation>,
    /// What the work starts from: a branch, a tag or a commit.
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,
    /// What becomes of verified work: merge, squash, rebase, branch, patch or
    /// pull_request.
    #[arg(long)]
    pub(crate) finish: Option<Finish>,
    /// Whether a person looks at verified work first: merge_at_once or after_approval.
    #[arg(long)]
    pub(crate) review: Option<ReviewGate>,
    /// A command that must succeed before the task is done; may be given again. Words are
    /// split as a shell does; no shell runs.
    #[arg(long = "check", value_name = "COMMAND", value_parser = command)]
    pub(crate) checks: Vec<Check>,
    /// Files that say what the checks check, beside those known for their commands: work
    /// that changes one is shown to a person first. `*` stands for any characters; may be
    /// given again.
    #[arg(long, value_name = "PATTERN", requires = "checks")]
    pub(crate) protect: Vec<String>,
    /// A command that prepares the place of work; may be given again.
    #[arg(long = "setup", value_name = "COMMAND", value_parser = command)]
    pub(crate) setup: Vec<Check>,
    /// A command that tidies it up; may be given again.
    #[arg(long = "teardown", value_name = "COMMAND", value_parser = command)]
    pub(crate) teardown: Vec<Check>,
    /// Seconds each of these commands may take.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=MOST_CHECK_SECS))]
    pub(crate) check_timeout: Option<u64>,
    /// How often it is tried before it fails.
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_attempts: Option<u32>,
    /// The most tokens it may use.
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget_tokens: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only these, separated by commas: open, running, done, failed, blocked.
    #[arg(long, value_delimiter = ',')]
    pub(crate) status: Vec<BoardTaskStatus>,
    /// Also tasks that are done or failed.
    #[arg(long, conflicts_with = "status")]
    pub(crate) all: bool,
    /// Only with this label.
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// Only parts of this task.
    #[arg(long, value_name = "TASK")]
    pub(crate) parent: Option<TaskRef>,
    /// Only with these words in the title or the description.
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<Text<500, 0>>,
    /// At most so many, 1 to 500.
    #[arg(long, default_value_t)]
    pub(crate) limit: Limit<500, 100>,
}

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Its number, like T-1, or its id.
    pub(crate) task: TaskRef,
    /// Another title.
    #[arg(long)]
    pub(crate) title: Option<String>,
    #[command(flatten)]
    pub(crate) draft: DraftArgs,
    /// Go to this phase.
    #[arg(long)]
    pub(crate) phase: Option<EngineeringPhase>,
    /// A task that must be done first, too.
    #[arg(long = "after", value_name = "TASK", value_delimiter = ',')]
    pub(crate) after: Vec<TaskRef>,
    /// A task that need not be done first any longer.
    #[arg(long = "not-after", value_name = "TASK", value_delimiter = ',')]
    pub(crate) not_after: Vec<TaskRef>,
    /// What it is to be without, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) clear: Vec<ClearArg>,
    /// Other arguments for the engine's program, instead of those it had.
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClearArg {
    Due,
    Engine,
    Permission,
    Model,
    Control,
    Repository,
    Base,
    Budget,
}

impl From<ClearArg> for TaskField {
    fn from(field: ClearArg) -> Self {
        match field {
            ClearArg::Due => Self::Due,
            ClearArg::Engine => Self::Engine,
            ClearArg::Permission => Self::Permission,
            ClearArg::Model => Self::Model,
            ClearArg::Control => Self::Control,
            ClearArg::Repository => Self::Repository,
            ClearArg::Base => Self::Base,
            ClearArg::Budget => Self::Budget,
        }
    }
}

fn command(text: &str) -> Result<Check, String> {
    let run = shlex::split(text)
        .ok_or("a quote is opened and not closed, or a backslash stands before nothing")?;
    if run.is_empty() {
        Err("a command has at least a program".to_owned())
    } else {
        Ok(Check::of(run))
    }
}

fn due(text: &str) -> Result<Timestamp, String> {
    if let Ok(from_now) = duration(text) {
        return Ok(SystemClock.now().plus(from_now));
    }
    text.parse()
        .or_else(|_| format!("{text}T00:00:00Z").parse())
        .map_err(|_| {
            "expected a time like 2026-01-04T10:00:00Z, a date like 2026-01-04, or how long from \
             now, like 90m, 24h or 7d"
                .to_owned()
        })
}

#[derive(Debug, Args)]
pub(crate) struct ProposeArgs {
    /// The plan; read from standard input when it is `-`.
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
    /// The repository to work in; the one this folder is in when left out.
    #[arg(long)]
    pub(crate) repository: Option<PathBuf>,
    /// A template for every task that names none.
    #[arg(long)]
    pub(crate) template: Option<String>,
    /// Put the tasks on the board, all of them or none.
    #[arg(long)]
    pub(crate) add: bool,
}
