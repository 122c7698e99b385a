//! Handlers of the worktrees' operations.

mod summary;

use std::path::{Path, PathBuf};

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::worktree::{
    FinishResult, WorktreeClean, WorktreeCleanParams, WorktreeDiscard, WorktreeDiscardParams,
    WorktreeDiscarded, WorktreeFinish, WorktreeFinishParams, WorktreeFinished, WorktreeList,
    WorktreePage, WorktreeStanding, WorktreeSummary, WorktreesCleaned,
};
use missiond_autopilot::pull_requests::HandOver;
use missiond_autopilot::worktrees::{LeftBranch, WorktreeEntry, reattach};
use missiond_core::{
    Attempt, BoardTask, BoardTaskId, BoardTaskStatus, CheckVerdict, CliEngine, ErrorCode, Finish,
    PullRequestState, TaskRef, Text,
};
use missiond_workspace::{
    FinishPlan, FinishPreview, Finished, WorkspaceError, Worktree, named_files,
};

use crate::board::of_board;
use crate::call::{Call, Operations, of_store};
use summary::summary;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<WorktreeList, _, _>(list);
    operations.add::<WorktreeFinish, _, _>(finish);
    operations.add::<WorktreeDiscard, _, _>(discard);
    operations.add::<WorktreeClean, _, _>(clean);
}

async fn list(call: Call, _: NoParams) -> Result<WorktreePage, ApiError> {
    let found = all(&call).await?;
    let engine = usual_engine(&call);
    let worktrees = found.iter().map(|found| summary(found, &engine)).collect();
    Ok(WorktreePage { worktrees })
}

async fn finish(call: Call, params: WorktreeFinishParams) -> Result<WorktreeFinished, ApiError> {
    let found = named(&call, &params.worktree).await?;
    expect_unused(&found)?;
    let summarized = summary(&found, &usual_engine(&call));
    if params.confirmed && !params.despite_failed_checks {
        expect_green(&summarized)?;
    }
    let of = found.attempt.clone();
    let task = of.as_ref().map(|(_, task)| task);
    // Its work is what the task asks for: whoever takes it has the task done.
    let completes = task.filter(|task| task.status != BoardTaskStatus::Done);
    let completes = completes.map(|task| (task.id, task.number));
    let path = found.path.clone();
    let work = FinishableWork::find(found, params.confirmed).await?;
    let into = match params.into.or_else(|| work.base().map(str::to_owned)) {
        Some(into) => into,
        None => {
            let message = "the work started from no branch: say which one it goes into";
            return Err(ApiError::invalid_params(message));
        }
    };
    let how = params.how.unwrap_or_else(|| usual_finish(task));
    let title = task.map(|task| format!("{}: {}", task.number, task.title));
    let plan = FinishPlan {
        how,
        into: into.clone(),
        message: params.message.map(Text::into_string).or(title),
    };
    let remote = match how {
        Finish::PullRequest => Some(work.remote_of(&into).await?),
        _ => None,
    };
    // Asked for before they are given up with it, which a merged pull request does at once.
    let rivals = match completes {
        Some((task, _)) => call
            .daemon
            .board
            .rivals(task)
            .await
            .map_err(|error| of_board(&error))?,
        None => Vec::new(),
    };
    let result = match &work {
        FinishableWork::Worktree(worktree) if params.confirmed => match how {
            Finish::PullRequest => pull_request(&call, worktree, &plan, of.clone()).await?,
            _ => done(worktree, &plan).await?,
        },
        work => work.preview(&path, &plan).await?,
    };
    let completes = completes.filter(|_| ends_task(how, &result));
    let gives_up = if completes.is_some() {
        rivals
    } else {
        Vec::new()
    };
    // A pull request ends its task when it is merged there.
    if let (true, None, Some((task, _))) = (params.confirmed, &remote, completes) {
        complete(&call, task, outcome_sentence(&result, &into)).await?;
    }
    // As after a merge without review: what is merged needs no place any more.
    let reviewed = task.is_some_and(|task| task.status == BoardTaskStatus::Review);
    if let FinishableWork::Worktree(worktree) = work
        && reviewed
        && matches!(result, FinishResult::Merged { .. })
        && let Err(error) = worktree.remove().await
    {
        tracing::warn!(path = %path.display(), %error, "worktree of merged work not removed");
    }
    Ok(WorktreeFinished {
        done: params.confirmed,
        checks: summarized.checks.clone(),
        worktree: summarized,
        how,
        into,
        remote,
        result,
        completes: completes.map(|(_, number)| number),
        gives_up: gives_up.iter().map(|task| task.number).collect(),
    })
}

/// Where nothing was made nothing is done with it, and a pull request must be merged.
fn ends_task(how: Finish, result: &FinishResult) -> bool {
    match result {
        FinishResult::NothingToBring => false,
        FinishResult::PullRequest { state, .. } => *state == PullRequestState::Merged,
        _ => how != Finish::PullRequest,
    }
}

/// How work is brought back when nobody says: as its task wants it, and merged when
/// it was left for a review. Work in a pull request is asked about there.
fn usual_finish(task: Option<&BoardTask>) -> Finish {
    match task {
        Some(task) if task.pull_request.is_some() => Finish::PullRequest,
        Some(task) if task.status == BoardTaskStatus::Review => match task.finish {
            Finish::Branch | Finish::Patch => Finish::Merge,
            finish => finish,
        },
        Some(task) => task.finish,
        None => Finish::Merge,
    }
}

fn expect_unused(found: &WorktreeEntry) -> Result<(), ApiError> {
    let Some(user) = &found.user else {
        return Ok(());
    };
    let message = format!("{} is in use: {user}", found.path.display());
    Err(ApiError::new(ErrorCode::Conflict, message))
}

/// Red work is not merged by mistake.
fn expect_green(worktree: &WorktreeSummary) -> Result<(), ApiError> {
    let Some(red) = worktree.checks.as_ref().and_then(CheckVerdict::red) else {
        return Ok(());
    };
    let name = match (worktree.task, &worktree.branch) {
        (Some(task), _) => task.to_string(),
        (None, Some(branch)) => branch.clone(),
        (None, None) => worktree.path.clone(),
    };
    let message = format!(
        "the checks of {name} fail: {red}; send it back with `mission task retry`, or finish it \
         with `--despite-failed-checks` (despite_failed_checks)"
    );
    Err(ApiError::new(ErrorCode::Conflict, message))
}

/// Work that can be brought back.
enum FinishableWork {
    Worktree(Box<Worktree>),
    /// Only its branch is left, and nothing is made to look at it.
    Branch(LeftBranch),
}

impl FinishableWork {
    /// To be finished now, the worktree of reviewed work is made again from its branch.
    async fn find(found: WorktreeEntry, now: bool) -> Result<Self, ApiError> {
        let worktree = |worktree| Self::Worktree(Box::new(worktree));
        let found = match (found.seen, found.branch_left, &found.attempt) {
            (Ok(seen), _, _) => Ok(worktree(seen.worktree)),
            (Err(_), Some(_), Some((attempt, task))) if now => {
                reattach(attempt, task).await.map(worktree)
            }
            (Err(_), Some(_), Some((attempt, task))) => {
                LeftBranch::find(attempt, task).await.map(Self::Branch)
            }
            (Err(error), _, _) => Err(error),
        };
        found.map_err(|error| of_workspace(&error))
    }

    fn base(&self) -> Option<&str> {
        match self {
            Self::Worktree(worktree) => worktree.base(),
            Self::Branch(left) => left.base.as_deref(),
        }
    }

    async fn remote_of(&self, branch: &str) -> Result<String, ApiError> {
        let repository = match self {
            Self::Worktree(worktree) => worktree.repository(),
            Self::Branch(left) => &left.repository,
        };
        let remote = repository.remote_of(branch).await;
        remote.map_err(|error| of_workspace(&error))
    }

    async fn preview(&self, path: &Path, plan: &FinishPlan) -> Result<FinishResult, ApiError> {
        let preview = match self {
            Self::Worktree(worktree) => worktree.preview_finish(plan).await,
            Self::Branch(left) => left.preview_finish(plan).await,
        };
        match preview.map_err(|error| of_workspace(&error))? {
            FinishPreview::Brings { commits } => Ok(FinishResult::WouldBring { commits }),
            FinishPreview::Already => Ok(FinishResult::AlreadyThere),
            FinishPreview::NothingToMerge => Ok(FinishResult::NothingToBring),
            FinishPreview::Conflict { files } => Err(conflict(path, plan, &files)),
        }
    }
}

async fn discard(call: Call, params: WorktreeDiscardParams) -> Result<WorktreeDiscarded, ApiError> {
    let found = named(&call, &params.worktree).await?;
    expect_unused(&found)?;
    let worktree = summary(&found, &usual_engine(&call));
    let opened = match found.seen {
        Ok(seen) => seen.worktree,
        Err(_) if found.branch_left.is_some() => {
            let message = format!(
                "there is nothing to discard: {} is gone, and its branch has only what was \
                 committed",
                found.path.display()
            );
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        Err(error) => return Err(of_workspace(&error)),
    };
    let discarded = if params.confirmed {
        opened.discard().await
    } else {
        opened.uncommitted().await
    };
    let discarded = discarded.map_err(|error| of_workspace(&error))?;
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    Ok(WorktreeDiscarded {
        done: params.confirmed,
        worktree,
        restored: discarded.changed.iter().map(text).collect(),
        removed: discarded.removed.iter().map(text).collect(),
    })
}

/// The engine of tasks that name none.
fn usual_engine(call: &Call) -> CliEngine {
    call.daemon.config().autopilot.engine.clone()
}

/// What became of the work, for a note on its task.
fn outcome_sentence(result: &FinishResult, into: &str) -> String {
    let what = match result {
        FinishResult::Merged { commit } => format!("{into} has it at {commit}"),
        FinishResult::Branch { name } => format!("it is left on {name}"),
        FinishResult::Patch { path } => format!("it is in {path}"),
        FinishResult::PullRequest { url, .. } => format!("it is in {url}"),
        FinishResult::WouldBring { .. }
        | FinishResult::AlreadyThere
        | FinishResult::NothingToBring => format!("{into} has it"),
    };
    format!("The work was brought back by hand: {what}.")
}

async fn complete(call: &Call, task: BoardTaskId, how: String) -> Result<(), ApiError> {
    let board = &call.daemon.board;
    let completed = board
        .complete(task, call.principal.name().to_owned(), how, call.trace)
        .await;
    completed.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    let reason = "its work was brought back by hand";
    let closed = call.daemon.questions.close_of_task(task, reason).await;
    closed.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    call.daemon.autopilot.wake();
    Ok(())
}

async fn done(worktree: &Worktree, plan: &FinishPlan) -> Result<FinishResult, ApiError> {
    let finished = worktree.finish(plan).await;
    match finished.map_err(|error| of_workspace(&error))? {
        Finished::Merged { commit } => Ok(FinishResult::Merged { commit }),
        Finished::NothingToMerge => Ok(FinishResult::NothingToBring),
        Finished::Branch { name } => Ok(FinishResult::Branch { name }),
        Finished::Patch { path } => {
            let path = path.display().to_string();
            Ok(FinishResult::Patch { path })
        }
        Finished::Conflict { files } => Err(conflict(worktree.path(), plan, &files)),
    }
}

/// What is in the worktree goes into a pull request, which its task waits for.
async fn pull_request(
    call: &Call,
    worktree: &Worktree,
    plan: &FinishPlan,
    of: Option<(Attempt, BoardTask)>,
) -> Result<FinishResult, ApiError> {
    if worktree
        .preview_finish(plan)
        .await
        .map_err(|error| of_workspace(&error))?
        == FinishPreview::NothingToMerge
    {
        return Ok(FinishResult::NothingToBring);
    }
    let (worktree, into) = (worktree.clone(), plan.into.clone());
    let work = HandOver { worktree, into, of };
    let opened = call.daemon.autopilot.hand_over(&work).await;
    let opened = opened.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    Ok(FinishResult::PullRequest {
        number: opened.number,
        url: opened.url,
        state: opened.state,
    })
}

fn conflict(path: &Path, plan: &FinishPlan, files: &[PathBuf]) -> ApiError {
    let message = format!(
        "`{}` and the work both changed {}: merge `{}` in {} and settle it, then finish again",
        plan.into,
        named_files(files),
        plan.into,
        path.display()
    );
    ApiError::new(ErrorCode::Conflict, message)
}

async fn clean(call: Call, params: WorktreeCleanParams) -> Result<WorktreesCleaned, ApiError> {
    let engine = usual_engine(&call);
    let mut found = all(&call).await?;
    if !params.worktrees.is_empty() {
        for name in &params.worktrees {
            if !found.iter().any(|found| found.is_called(name)) {
                return Err(unknown(name));
            }
        }
        found.retain(|found| params.worktrees.iter().any(|name| found.is_called(name)));
    }
    let mut cleaned = WorktreesCleaned {
        done: params.confirmed,
        removed: Vec::new(),
        kept: Vec::new(),
    };
    for found in found {
        let mut worktree = summary(&found, &engine);
        if worktree.standing != WorktreeStanding::Removable {
            cleaned.kept.push(worktree);
            continue;
        }
        let removed = match (params.confirmed, found.seen) {
            (true, Ok(seen)) => seen.worktree.remove().await,
            _ => Ok(()),
        };
        match removed {
            Ok(()) => cleaned.removed.push(worktree),
            // It changed since it was looked at, or something holds it.
            Err(error) => {
                worktree.standing = WorktreeStanding::HoldsWork;
                worktree.reason = error.to_string();
                cleaned.kept.push(worktree);
            }
        }
    }
    Ok(cleaned)
}

async fn all(call: &Call) -> Result<Vec<WorktreeEntry>, ApiError> {
    call.daemon
        .worktrees
        .all()
        .await
        .map_err(|error| of_store(&error))
}

async fn named(call: &Call, name: &str) -> Result<WorktreeEntry, ApiError> {
    let called = call.daemon.worktrees.called(name).await;
    let mut called = called.map_err(|error| of_store(&error))?;
    if called.len() > 1 {
        let paths = called.iter().map(|found| found.path.display().to_string());
        let message = format!(
            "`{name}` has several worktrees, name one: {}",
            paths.collect::<Vec<_>>().join(", ")
        );
        return Err(ApiError::invalid_params(message));
    }
    match called.pop() {
        Some(found) => Ok(found),
        None => Err(gone(call, name).await),
    }
}

/// Why a worktree is not there: its task may be done.
async fn gone(call: &Call, name: &str) -> ApiError {
    let task = match name.parse::<TaskRef>() {
        Ok(task) => call.daemon.board.find(task).await.ok(),
        Err(_) => None,
    };
    match task {
        Some(task) if task.status == BoardTaskStatus::Done => {
            let when = task.finished_at.unwrap_or(task.updated_at).in_utc();
            let number = task.number;
            let message = format!(
                "{number} is done since {when}: nothing is left to merge; `mission review {number}` \
                 shows its work"
            );
            ApiError::new(ErrorCode::Conflict, message)
        }
        _ => unknown(name),
    }
}

pub(super) fn unknown(name: &str) -> ApiError {
    let name: String = name.chars().take(200).collect();
    let message = format!("there is no worktree `{name}`: `mission worktree list` shows them");
    ApiError::new(ErrorCode::NotFound, message)
}

pub(super) fn of_workspace(error: &WorkspaceError) -> ApiError {
    let code = match error {
        WorkspaceError::NoSuchTarget(_) | WorkspaceError::Missing(_) => ErrorCode::NotFound,
        WorkspaceError::GitTimedOut { .. } => ErrorCode::Timeout,
        _ => ErrorCode::Conflict,
    };
    ApiError::new(code, error.to_string())
}
