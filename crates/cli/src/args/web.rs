//! `mission open` and `mission token …`.

use std::time::Duration;

use clap::{Args, Subcommand};
use missiond_core::{Scope, Text};

use super::duration::duration;

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Print the link instead; it logs one browser in, once, within two minutes.
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token for a program and print it, this once.
    #[command(after_help = "\
Examples:
  mission token create dashboard
  mission token create ci --scope read,work
  mission token create laptop --scope read,work,terminals --expires 30d

The program sends it as `Authorization: Bearer TOKEN`; docs/reference/http.md shows how.")]
    Create {
        /// What it is for.
        name: Text<100>,
        /// What it lets do, separated by commas: read (look at everything), work (tasks,
        /// agents, knowledge), terminals (start programs, write into terminals), manage
        /// (keep house).
        #[arg(
            long = "scope",
            value_name = "SCOPE",
            value_delimiter = ',',
            default_value = "read"
        )]
        scopes: Vec<Scope>,
        /// How long it holds: 12h, 30d. Until it is revoked when left out.
        #[arg(long, value_name = "TIME", value_parser = duration)]
        expires: Option<Duration>,
    },
    /// List the tokens, and the browsers that are logged in.
    List,
    /// Take back a token, or log a browser out.
    #[command(after_help = "Example:\n  mission token revoke ci")]
    Revoke {
        /// Its name or its id.
        access: String,
    },
}
