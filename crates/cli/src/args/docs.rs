//! Arguments of `mission docs`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use missiond_core::{DocKind, Limit};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DocsArgs {
    /// A page: its path, the last part of it, an operation, a key of the configuration.
    /// All pages are listed when left out.
    pub(crate) page: Vec<String>,
    /// List the pages of one kind.
    #[arg(long, conflicts_with = "page", value_parser = kinds())]
    pub(crate) kind: Option<DocKind>,
    /// Open it in a browser, logged in.
    #[arg(long, conflicts_with = "kind")]
    pub(crate) web: bool,
    #[command(subcommand)]
    pub(crate) command: Option<DocsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DocsCommand {
    /// Find the section that answers.
    #[command(after_help = "\
Examples:
  mission docs search merge conflict
  mission docs search http.listen --limit 3")]
    Search {
        /// Words, or a name; the last one may be a beginning.
        #[arg(required = true)]
        words: Vec<String>,
        /// At most so many, 1 to 100.
        #[arg(long, default_value_t = Limit::of::<10>())]
        limit: Limit<100, 20>,
    },
}

fn kinds() -> impl TypedValueParser<Value = DocKind> {
    PossibleValuesParser::new(DocKind::ALL.map(DocKind::name)).try_map(|name| {
        let mut kinds = DocKind::ALL.into_iter();
        kinds
            .find(|kind| kind.name() == name)
            .ok_or("there is no such kind")
    })
}
