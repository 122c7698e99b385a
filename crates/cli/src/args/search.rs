//! Arguments of `mission search`.

use clap::{Args, ValueEnum};
use missiond_api::operations::search::SearchKind;
use missiond_core::Limit;

#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Words, a number such as T-12 or Q-3.
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// Only these kinds.
    #[arg(long = "kind", value_enum, value_delimiter = ',')]
    pub(crate) kinds: Vec<Kind>,
    /// At most so many, 1 to 100.
    #[arg(long, default_value_t)]
    pub(crate) limit: Limit<100, 20>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Task,
    Run,
    Question,
    Knowledge,
    Code,
    Conversation,
    Commit,
}

impl From<Kind> for SearchKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Task => Self::Task,
            Kind::Run => Self::Run,
            Kind::Question => Self::Question,
            Kind::Knowledge => Self::Knowledge,
            Kind::Code => Self::Code,
            Kind::Conversation => Self::Conversation,
            Kind::Commit => Self::Commit,
        }
    }
}
