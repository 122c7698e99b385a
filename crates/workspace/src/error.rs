//! What can go wrong with a workspace, each with what to do about it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::{GitVersion, OLDEST_GIT};
use crate::in_progress::InProgress;

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("git is not installed: no program `git` in PATH; install git {OLDEST_GIT} or newer")]
    GitMissing,
    #[error("{} is git {found}, but {OLDEST_GIT} is the oldest that works: update git", program.display())]
    GitTooOld { program: PathBuf, found: GitVersion },
    #[error("{} --version says no version of git: {output}", program.display())]
    GitUnknown { program: PathBuf, output: String },

    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("{} is in no git repository: run `git init` there or choose another folder", .0.display())]
    NotARepository(PathBuf),
    #[error("{} has no commits yet: make a first one, so that there is something to start from", .0.display())]
    NoCommits(PathBuf),
    #[error(
        "{} is on no branch (detached head): check out a branch, or say which base to start from",
        .0.display()
    )]
    DetachedHead(PathBuf),
    #[error("{} has no commit called `{base}`: choose a branch, a tag or a commit that it has", repository.display())]
    NoSuchBase { repository: PathBuf, base: String },
    #[error("`{0}` cannot be the name of a branch")]
    BranchName(String),
    #[error(
        "`{0}` cannot be a sparse path: it must be relative, below the repository, and of one line"
    )]
    SparsePath(String),

    #[error("{} is not an absolute path", .0.display())]
    NotAbsolute(PathBuf),
    #[error(
        "{} lies inside the repository {}: a worktree there would be part of what it isolates",
        path.display(), repository.display()
    )]
    InsideRepository { path: PathBuf, repository: PathBuf },
    #[error("{} is already taken by {by}: move that away or choose another path", path.display())]
    PathTaken { path: PathBuf, by: &'static str },
    #[error("there is already a branch `{0}`: rename it or choose another name")]
    BranchTaken(String),
    #[error("{} is no worktree that missiond made", .0.display())]
    NotOurs(PathBuf),

    #[error(
        "somebody has written into {} since its work was committed: {}; commit that there, or \
         throw it away with `mission worktree discard {}`",
        path.display(), named_files(files), path.display()
    )]
    Uncommitted { path: PathBuf, files: Vec<PathBuf> },
    #[error("{} is in the middle of {operation}: finish or abort it first", path.display())]
    InProgress {
        path: PathBuf,
        operation: InProgress,
    },
    #[error(
        "{} should be on branch `{expected}` and is {}: check out `{expected}` there",
        path.display(), branch_phrase(found.as_ref())
    )]
    OffBranch {
        path: PathBuf,
        expected: String,
        /// Nothing: on no branch at all.
        found: Option<String>,
    },
    #[error("there is no branch `{0}` to bring the work into")]
    NoSuchTarget(String),
    #[error(
        "`{branch}` is checked out in {} with changes that are not committed: {}; commit or stash \
         them, then finish again",
        path.display(), named_files(files)
    )]
    TargetDirty {
        branch: String,
        path: PathBuf,
        files: Vec<PathBuf>,
    },
    #[error(
        "`{branch}` cannot be moved while {} is in the middle of {operation}: finish or abort it, \
         then finish again",
        path.display()
    )]
    TargetBusy {
        branch: String,
        path: PathBuf,
        operation: InProgress,
    },
    #[error("`{branch}` is checked out in {}, which could not follow: {reason}", path.display())]
    TargetStuck {
        branch: String,
        path: PathBuf,
        reason: String,
    },
    #[error(
        "`{branch}` was moved by others {times} times while the work was brought in: try again"
    )]
    TargetKeepsMoving { branch: String, times: u32 },
    #[error(
        "{} has no remote to push to: add one with `git remote add origin URL`",
        repository.display()
    )]
    NoRemote { repository: PathBuf },
    #[error(
        "{} has several remotes ({remotes}) and none is `origin`: say which one `{branch}` belongs \
         to with `git config branch.{branch}.remote NAME`",
        repository.display()
    )]
    WhichRemote {
        repository: PathBuf,
        branch: String,
        remotes: String,
    },
    #[error("`{remote}` did not take `{branch}`: {reason}")]
    PushRefused {
        remote: String,
        branch: String,
        reason: String,
    },
    #[error("{}: not removed, because it holds {}", path.display(), removal_obstacles(files, *unmerged, submodules))]
    HoldsWork {
        path: PathBuf,
        files: Vec<PathBuf>,
        unmerged: u64,
        submodules: Vec<PathBuf>,
    },
    #[error(
        "git is at work in {0}, or died there: {1} exists; if no git runs there, remove that file",
        path.display(), lock.display()
    )]
    Locked { path: PathBuf, lock: PathBuf },

    #[error("{} names {what}: name less", list.display())]
    TooMuchIncluded { list: PathBuf, what: String },

    #[error("git could not {doing}: {reason}")]
    Git { doing: String, reason: String },
    #[error(
        "{} is of a repository whose own configuration would have git run a program \
         (`{key}`): take that out of it with `git config --unset-all {key}`, or name the \
         repository in `autopilot.trusted_repositories`",
        path.display()
    )]
    RunsPrograms { path: PathBuf, key: String },
    #[error("git did not {doing} within {} s", limit.as_secs())]
    GitTimedOut { doing: String, limit: Duration },
    #[error("git said more than {limit} bytes when asked to {doing}")]
    GitTooMuch { doing: String, limit: usize },
    #[error("git said something unexpected when asked to {doing}: {output}")]
    GitUnclear { doing: String, output: String },
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is not what missiond wrote: {source}", path.display())]
    Record {
        path: PathBuf,
        source: serde_json::Error,
    },
}

impl WorkspaceError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// Lists what a worktree holds.
pub(crate) fn removal_obstacles(
    changed: &[PathBuf],
    unmerged: u64,
    submodules: &[PathBuf],
) -> String {
    let mut parts = Vec::new();
    if !changed.is_empty() {
        parts.push(format!("uncommitted changes ({})", named_files(changed)));
    }
    match unmerged {
        0 => {}
        1 => parts.push("a commit that is nowhere else".to_owned()),
        n => parts.push(format!("{n} commits that are nowhere else")),
    }
    if !submodules.is_empty() {
        parts.push(format!(
            "submodules with commits that none of their remotes has ({})",
            named_files(submodules)
        ));
    }
    parts.join(" and ")
}

/// The first few of a list, and how many more there are.
#[must_use]
pub fn named_files(files: &[PathBuf]) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<String> = files
        .iter()
        .take(SHOWN)
        .map(|file| file.display().to_string().escape_debug().to_string())
        .collect();
    if files.len() > SHOWN {
        names.push(format!("and {} more", files.len() - SHOWN));
    }
    names.join(", ")
}

fn branch_phrase(branch: Option<&String>) -> String {
    match branch {
        Some(branch) => format!("on `{branch}`"),
        None => "on none".to_owned(),
    }
}
