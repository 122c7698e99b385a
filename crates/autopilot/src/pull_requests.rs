//! Handing work over in a pull request: its branch is pushed, the request opened, and
//! what becomes of it becomes of the task.
//!
//! Each step finds what an earlier one did: a push that is there already changes
//! nothing, and a pull request of the branch is used before another is opened. So a
//! daemon that was killed anywhere goes on, and nothing is opened twice. Nothing here
//! holds a lock that anybody else waits for: hosts are slow.

mod watch;
mod words;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use missiond_core::{
    Attempt, BoardTask, BoardTaskStatus, ErrorCode, Finish, PullRequest, PullRequestState,
    TraceContext,
};
use missiond_store::{StoreError, autopilot, board as store};
use missiond_workspace::{
    FinishPlan, FoundPullRequest, GitHub, GitHubError, NewPullRequest, Removal, WorkspaceError,
    Worktree,
};
use parking_lot::Mutex;

use crate::board::BoardError;
use crate::shared::Shared;

pub(crate) use watch::watch;

/// Who writes what is found out here.
const AUTHOR: &str = "autopilot";

/// Work that is to be handed over.
#[derive(Debug)]
pub struct HandOver {
    pub worktree: Worktree,
    /// The branch it goes into.
    pub into: String,
    /// Whose work it is; nothing for a worktree that the board does not know.
    pub of: Option<(Attempt, BoardTask)>,
}

/// Why work was not handed over; every text is without secrets and short.
#[derive(Debug, thiserror::Error)]
pub enum PullRequestError {
    /// Trying again is of no use before a person has done something.
    #[error("{0}")]
    NeedsPerson(String),
    #[error("{0}")]
    MayPass(String),
    #[error("the pull request of {0} is being opened at this moment")]
    UnderWay(String),
    #[error(transparent)]
    Board(#[from] BoardError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PullRequestError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NeedsPerson(_) | Self::MayPass(_) | Self::UnderWay(_) => ErrorCode::Conflict,
            Self::Board(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }
}

/// The worktrees that are handed over at this moment: a person and the watch never do
/// the same twice.
#[derive(Debug, Default)]
pub(crate) struct UnderWay(Mutex<HashSet<PathBuf>>);

/// One of them, until it is dropped.
struct Turn<'a> {
    under_way: &'a UnderWay,
    path: PathBuf,
}

impl UnderWay {
    fn take(&self, worktree: &Worktree) -> Result<Turn<'_>, PullRequestError> {
        let path = worktree.path().to_owned();
        if self.0.lock().insert(path.clone()) {
            let under_way = self;
            return Ok(Turn { under_way, path });
        }
        Err(PullRequestError::UnderWay(worktree.branch().to_owned()))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.under_way.0.lock().remove(&self.path);
    }
}

impl HandOver {
    fn task(&self) -> Option<&BoardTask> {
        self.of.as_ref().map(|(_, task)| task)
    }

    /// The pull request that has the work of this attempt already; one with the work of
    /// an earlier attempt says nothing of this one.
    fn known(&self) -> Option<(&Attempt, &BoardTask, &PullRequest)> {
        let (attempt, task) = self.of.as_ref()?;
        let opened = task.pull_request.as_ref();
        let opened = opened.filter(|opened| opened.attempt == attempt.number)?;
        Some((attempt, task, opened))
    }

    /// What a person types to have it done.
    fn command(&self) -> String {
        let name = match self.task() {
            Some(task) => task.number.to_string(),
            None => self.worktree.branch().to_owned(),
        };
        format!("mission worktree finish {name} --how pull_request --yes")
    }
}

/// Pushes the work and opens a pull request for it. One that it has already is asked
/// about first: merged, the task is done; closed, it is blocked; open, it gets what was
/// made since.
pub(crate) async fn hand_over(
    shared: &Shared,
    work: &HandOver,
) -> Result<FoundPullRequest, PullRequestError> {
    let _turn = shared.handing_over.take(&work.worktree)?;
    if let Some((attempt, task, known)) = work.known() {
        let found = ask(work.worktree.path(), known).await?;
        let waits = task.status == BoardTaskStatus::Review;
        match found.state {
            PullRequestState::Merged => return settled(shared, task, attempt, found).await,
            PullRequestState::Closed if waits => {
                return settled(shared, task, attempt, found).await;
            }
            // Of what is blocked by that, another one is opened.
            PullRequestState::Open | PullRequestState::Closed => {}
        }
    }
    let remote = work.worktree.repository().remote_of(&work.into).await;
    let remote = remote.map_err(|error| not_pushed(&error, work))?;
    let head = work.worktree.push(&remote).await;
    let head = head.map_err(|error| not_pushed(&error, work))?;
    let found = find_or_open(shared, work, &head).await;
    let found = found.map_err(|error| match error {
        OpenError::GitHub(error) => not_opened(&error, work, &remote),
        OpenError::Store(error) => error.into(),
    })?;
    if let Some((attempt, task)) = &work.of {
        let opened = PullRequest {
            number: found.number,
            url: found.url.clone(),
            into: work.into.clone(),
            attempt: attempt.number,
        };
        let board = &shared.board;
        let kept = board
            .hand_over(task.id, opened, TraceContext::root())
            .await?;
        let reason = "its work is in a pull request";
        close_questions(shared, &kept, reason).await;
        tracing::info!(task = %kept.number, url = found.url, "work handed over in pull request");
        if found.state == PullRequestState::Merged {
            return settled(shared, &kept, attempt, found).await;
        }
    }
    Ok(found)
}

/// How a pull request stands, asked where its repository is.
async fn ask(folder: &Path, known: &PullRequest) -> Result<FoundPullRequest, PullRequestError> {
    let asked = async {
        let found = GitHub::find(folder)?.find_pull_request(&known.url).await?;
        let gone = || GitHubError::Failed {
            doing: "look up the pull request",
            reason: format!("there is none at {}", known.url),
        };
        found.ok_or_else(gone)
    };
    let asked: Result<_, GitHubError> = asked.await;
    asked.map_err(|error| match error {
        GitHubError::Missing | GitHubError::NotLoggedIn => PullRequestError::NeedsPerson(format!(
            "how {known} stands cannot be asked: {}",
            words::remedy(&error)
        )),
        other => PullRequestError::MayPass(words::shortened(&other.to_string())),
    })
}

/// Does to the task what became of its pull request.
async fn settled(
    shared: &Shared,
    task: &BoardTask,
    attempt: &Attempt,
    found: FoundPullRequest,
) -> Result<FoundPullRequest, PullRequestError> {
    let (number, trace) = (found.number, TraceContext::root());
    match found.state {
        PullRequestState::Open => {}
        PullRequestState::Closed if task.status == BoardTaskStatus::Review => {
            let reason = words::closed(task, &found);
            shared.board.block(task.id, reason, trace).await?;
            tracing::info!(task = %task.number, number, "pull request closed without merge");
        }
        PullRequestState::Closed => {}
        PullRequestState::Merged => {
            if task.status != BoardTaskStatus::Done {
                let (author, how) = (AUTHOR.to_owned(), words::merged(task, &found));
                shared.board.complete(task.id, author, how, trace).await?;
                close_questions(shared, task, "its pull request was merged").await;
            }
            tracing::info!(task = %task.number, number, "pull request merged");
            let id = task.id;
            let unparked = shared
                .db
                .write(move |tx| Box::pin(autopilot::unpark(tx, id)));
            unparked.await?;
            // What waited for it can begin while its place is left.
            shared.wake();
            leave(task, attempt, &found).await;
        }
    }
    Ok(found)
}

async fn close_questions(shared: &Shared, task: &BoardTask, reason: &str) {
    if let Err(error) = shared.questions.close_of_task(task.id, reason).await {
        tracing::warn!(task = %task.number, %error, "questions about task not closed");
    }
}

/// Removes the worktree of merged work, if it holds nothing else: what was committed
/// since it was pushed is nowhere else.
async fn leave(task: &BoardTask, attempt: &Attempt, merged: &FoundPullRequest) {
    let Some(path) = attempt.worktree.as_ref().filter(|path| path.exists()) else {
        return;
    };
    let left = async {
        let worktree = Worktree::open(path).await?;
        let into = task.pull_request.as_ref().map(|opened| opened.into.clone());
        let into = into.unwrap_or_default();
        let head = worktree.status().await?.head;
        let remote = worktree.repository().remote_of(&into).await?;
        // Others may have added to it there.
        let pushed = worktree.pushed(&remote).await?;
        if ![&merged.head, &pushed].contains(&&Some(head)) {
            tracing::warn!(task = %task.number, path = %path.display(), "worktree kept: it has commits that its pull request has not");
            return Ok(());
        }
        let plan = FinishPlan {
            how: Finish::PullRequest,
            into,
            message: None,
        };
        worktree.finish(&plan).await?;
        match worktree.removal().await? {
            Removal::Safe => worktree.remove().await,
            Removal::Holds { .. } => Ok(()),
        }
    };
    let left: Result<(), WorkspaceError> = left.await;
    if let Err(error) = left {
        tracing::warn!(task = %task.number, path = %path.display(), %error, "worktree not removed");
    }
}

enum OpenError {
    GitHub(GitHubError),
    Store(StoreError),
}

impl From<GitHubError> for OpenError {
    fn from(error: GitHubError) -> Self {
        Self::GitHub(error)
    }
}

/// The pull request that has this commit, opened if there is none.
async fn find_or_open(
    shared: &Shared,
    work: &HandOver,
    head: &str,
) -> Result<FoundPullRequest, OpenError> {
    let branch = work.worktree.branch();
    let github = GitHub::find(work.worktree.path())?;
    let has_it = |found: &FoundPullRequest| match found.state {
        PullRequestState::Open => true,
        PullRequestState::Merged => found.head.as_deref() == Some(head),
        PullRequestState::Closed => false,
    };
    let found = github.find_pull_request(branch).await?;
    if let Some(found) = found.filter(has_it) {
        return Ok(found);
    }
    let new = NewPullRequest {
        base: work.into.clone(),
        head: branch.to_owned(),
        title: words::title(work),
        body: body(shared, work).await.map_err(OpenError::Store)?,
    };
    match github.open_pull_request(&new).await {
        // Somebody, or a daemon before this one, was quicker.
        Err(error @ (GitHubError::Failed { .. } | GitHubError::TimedOut { .. })) => {
            let found = github.find_pull_request(branch).await.ok().flatten();
            found.filter(has_it).ok_or(OpenError::GitHub(error))
        }
        opened => Ok(opened?),
    }
}

/// What the pull request says: what was asked, and which checks agreed.
async fn body(shared: &Shared, work: &HandOver) -> Result<String, StoreError> {
    let Some((attempt, task)) = &work.of else {
        return Ok(String::new());
    };
    let id = attempt.id;
    let evidence = shared
        .db
        .read(move |tx| Box::pin(store::evidence(tx, id)))
        .await?;
    Ok(words::body(task, &evidence))
}

fn not_pushed(error: &WorkspaceError, work: &HandOver) -> PullRequestError {
    let said = words::shortened(&error.to_string());
    let command = work.command();
    match error {
        WorkspaceError::Git { .. } | WorkspaceError::GitTimedOut { .. } => {
            PullRequestError::MayPass(format!("{said}; `{command}` tries it again at once"))
        }
        _ => PullRequestError::NeedsPerson(format!("{said}; then `{command}`")),
    }
}

fn not_opened(error: &GitHubError, work: &HandOver, remote: &str) -> PullRequestError {
    let (branch, command) = (work.worktree.branch(), work.command());
    let pushed = words::shortened(&format!("`{branch}` is pushed to `{remote}`"));
    match error {
        GitHubError::Missing | GitHubError::NotLoggedIn => {
            let remedy = words::remedy(error);
            PullRequestError::NeedsPerson(format!(
                "{pushed}, but no pull request is open: {remedy}, then `{command}`"
            ))
        }
        other => {
            let said = words::shortened(&other.to_string());
            PullRequestError::MayPass(format!(
                "{pushed}, but no pull request is open: {said}; `{command}` tries it again at once"
            ))
        }
    }
}
