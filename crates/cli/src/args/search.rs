//! Arguments of `mission search`.

use clap::Args;
use missiond_api::operations::search::SearchKind;
use missiond_core::Limit;

#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Words, a number such as T-12 or Q-3.
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// Only these kinds: task, run, question, knowledge, code, conversation, commit.
    #[arg(long = "kind", value_delimiter = ',')]
    pub(crate) kinds: Vec<SearchKind>,
    /// At most so many, 1 to 100.
    #[arg(long, default_value_t)]
    pub(crate) limit: Limit<100, 20>,
}
