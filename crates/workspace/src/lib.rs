//! Where an attempt works.
//!
//! A git worktree of its own per attempt, found again by its path; the ways its
//! work comes back to the repository without harm to anybody's checkout; and the
//! commands that set a worktree up and check what was made in it. No daemon and
//! no database: everything that must outlive a crash is kept by git, or in a
//! small record beside what git keeps.

mod build_output;
mod command;
mod compare;
mod diff;
pub mod diff_text;
mod error;
mod finish;
mod git;
mod github;
mod in_progress;
mod include;
mod index_lock;
mod listing;
mod log;
mod merge;
mod merge_target;
mod patch;
mod prepare;
mod process_tree;
mod push;
mod record;
mod recovery;
mod removal;
mod replay;
mod repository;
mod repository_programs;
mod restore;
mod status;
mod tail;
mod target;
mod worktree;

pub use command::{Command, CommandResult, Ending, Leftovers, run};
pub use diff::{Diff, DiffLimits, DiffSize, FileDiff};
pub use error::{WorkspaceError, named_files};
pub use finish::{FinishPlan, FinishPreview, Finished};
pub use git::{Git, GitVersion, OLDEST_GIT};
pub use github::{FoundPullRequest, GitHub, GitHubError, NewPullRequest};
pub use in_progress::InProgress;
pub use listing::{WorktreeEntry, worktrees};
pub use log::Commit;
pub use merge_target::TargetMerge;
pub use missiond_core::Finish;
pub use prepare::WorktreePlan;
pub use process_tree::end_strays;
pub use removal::Removal;
pub use repository::Repository;
pub use repository_programs::trust_repositories;
pub use restore::{ChecksBegun, Restored};
pub use status::{Landed, WorktreeStatus};
pub use worktree::{Committed, Worktree};
