//! `mission worktree …`.

use clap::Subcommand;
use missiond_core::{Finish, Text};

#[derive(Debug, Subcommand)]
pub(crate) enum WorktreeCommand {
    /// List the worktrees of attempts: whose each is and what it holds.
    List,
    /// Bring the work of a worktree back. Shows what it would do; `--yes` does it.
    #[command(after_help = "\
Examples:
  mission worktree finish T-12
  mission worktree finish T-12 --how rebase --into develop --yes
  mission worktree finish T-12 --how pull_request --yes")]
    Finish {
        /// Its task (T-12), its branch or its path.
        worktree: String,
        /// merge, squash, rebase, branch, patch or pull_request; as the task says when left
        /// out, and merge for work in review that was left on its branch. Work whose pull
        /// request is open is asked about again.
        #[arg(long)]
        how: Option<Finish>,
        /// The branch the work goes into; the one it started from when left out.
        #[arg(long, value_name = "BRANCH")]
        into: Option<String>,
        /// The message of the commit that a merge or a squash makes.
        #[arg(long, short, value_name = "TEXT")]
        message: Option<Text<16384>>,
        /// Do it although the last checks failed.
        #[arg(long)]
        despite_failed_checks: bool,
        /// Do it.
        #[arg(long)]
        yes: bool,
    },
    /// Throw away what is not committed in a worktree. Shows which files; `--yes` does it.
    #[command(after_help = "Example:\n  mission worktree discard T-12 --yes")]
    Discard {
        /// Its task (T-12), its branch or its path.
        worktree: String,
        /// Do it.
        #[arg(long)]
        yes: bool,
    },
    /// Remove worktrees that hold nothing of their own. Shows which; `--yes` removes them.
    Clean {
        /// Only these: tasks, branches or paths.
        worktrees: Vec<String>,
        /// Do it.
        #[arg(long)]
        yes: bool,
    },
}
