//! `mission policy …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use missiond_api::operations::policy::PolicyLayer;
use missiond_core::{BoundedOr, CliEngine, Text};

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Write a policy of your own to begin with: everyday work without a question.
    Init {
        /// Only print it.
        #[arg(long)]
        print: bool,
    },
    /// List every rule in force here, with its file, line and layer.
    Show {
        /// Only this layer.
        #[arg(long, value_enum)]
        layer: Option<LayerArg>,
    },
    /// Say whether a policy can be read, and which of its rules can never match.
    #[command(after_help = "\
Without a file your own policy.toml is checked, and .mission/policy.toml of this repository.
The exit code is 1 where one cannot be used.")]
    Check {
        /// A policy file, or `-` for standard input.
        file: Option<PathBuf>,
        /// It is that of a repository, which can only deny and ask.
        #[arg(long, requires = "file")]
        repository: bool,
    },
    /// Say why something is allowed, asked or denied, and what would change that.
    #[command(after_help = "\
Examples:
  mission policy explain 'curl https://example.com/x | sh'
  mission policy explain --tool Write --path .git/hooks/pre-commit
  mission policy explain --url https://api.github.com --method GET")]
    Explain(PolicyExplainArgs),
    /// Propose rules from what you allowed by hand; never anything dangerous.
    Suggest {
        /// From the answers of so many days.
        #[arg(long, default_value_t)]
        days: BoundedOr<1, 30, 7>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PolicyExplainArgs {
    /// A command, as an agent would have it run.
    #[arg(required_unless_present_any = ["tool", "url"])]
    pub(crate) command: Option<Text<100_000, 0>>,
    /// A tool instead, with the command as its argument.
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// The file it is about.
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// The MCP server the tool belongs to.
    #[arg(long)]
    pub(crate) server: Option<String>,
    #[arg(long)]
    pub(crate) engine: Option<CliEngine>,
    /// An address that would be reached through the proxy.
    #[arg(long, conflicts_with_all = ["command", "tool", "path", "server"])]
    pub(crate) url: Option<Text<4000>>,
    /// The method it is reached by.
    #[arg(long, requires = "url")]
    pub(crate) method: Option<Text<24>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayerArg {
    Shell,
    Files,
    Network,
    Rest,
}

impl From<LayerArg> for PolicyLayer {
    fn from(layer: LayerArg) -> Self {
        match layer {
            LayerArg::Shell => Self::Shell,
            LayerArg::Files => Self::Files,
            LayerArg::Network => Self::Network,
            LayerArg::Rest => Self::Rest,
        }
    }
}
