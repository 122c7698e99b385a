//! `mission trust …`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// List the scores, the least trusted first.
    #[command(after_help = "\
A score is between 0 and 1000 and begins with 500. Below 300 what rules would allow is
asked, below 100 it is denied. `mission docs show trust` has the formula.")]
    List,
    /// Say how a score came about, fact by fact.
    #[command(after_help = "\
Examples:
  mission trust explain server:docs
  mission trust explain engine:claude --json")]
    Explain {
        /// engine:NAME, server:NAME, tool:SERVER__NAME or skill:NAME.
        subject: String,
    },
    /// Begin anew: nothing that is on record counts any more.
    #[command(after_help = "Example:\n  mission trust reset server:docs")]
    Reset {
        /// engine:NAME, server:NAME, tool:SERVER__NAME or skill:NAME.
        subject: String,
    },
}
