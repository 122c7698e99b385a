//! Handlers of the worktrees' operations.

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::worktree::{
    FinishResult, WorktreeClean, WorktreeCleanParams, WorktreeFinish, WorktreeFinishParams,
    WorktreeFinished, WorktreeList, WorktreePage, WorktreeStanding, WorktreeSummary,
    WorktreesCleaned,
};
use missiond_autopilot::worktrees::WorktreeEntry;
use missiond_core::{BoardTaskId, BoardTaskStatus, ErrorCode, Finish};
use missiond_workspace::{
    FinishPlan, FinishPreview, Finished, Removal, WorkspaceError, named_files,
};

use crate::call::{Call, Operations, of_store};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<WorktreeList, _, _>(list);
    operations.add::<WorktreeFinish, _, _>(finish);
    operations.add::<WorktreeClean, _, _>(clean);
}

async fn list(call: Call, _: NoParams) -> Result<WorktreePage, ApiError> {
    let found = all(&call).await?;
    let worktrees = found.iter().map(summary).collect();
    Ok(WorktreePage { worktrees })
}

async fn finish(call: Call, params: WorktreeFinishParams) -> Result<WorktreeFinished, ApiError> {
    let found = named(all(&call).await?, &params.worktree)?;
    if let Some(user) = &found.user {
        let message = format!("{} is in use: {user}", found.path.display());
        return Err(ApiError::new(ErrorCode::Conflict, message));
    }
    let worktree = summary(&found);
    let task = found.attempt.as_ref().map(|(_, task)| task);
    // Its work is what the task asks for: whoever takes it has the task done.
    let completes = task.filter(|task| task.status != BoardTaskStatus::Done);
    let completes = completes.map(|task| (task.id, task.number));
    let seen = found.seen.map_err(|error| of_workspace(&error))?;
    let into = match params
        .into
        .or_else(|| seen.worktree.base().map(str::to_owned))
    {
        Some(into) => into,
        None => {
            let message = "the work started from no branch: say which one it goes into";
            return Err(ApiError::invalid_params(message));
        }
    };
    let how = params
        .how
        .or(task.map(|task| task.finish))
        .unwrap_or(Finish::Merge);
    let plan = FinishPlan {
        how,
        into: into.clone(),
        message: task.map(|task| format!("{}: {}", task.number, task.title)),
    };
    let result = if params.confirmed {
        done(&seen.worktree, &plan).await?
    } else {
        preview(&seen.worktree, &plan).await?
    };
    // Where nothing was made, nothing is done with it either.
    let completes = completes.filter(|_| result != FinishResult::NothingToBring);
    if let (true, Some((task, _))) = (params.confirmed, completes) {
        complete(&call, task, outcome_sentence(&result, &into)).await?;
    }
    Ok(WorktreeFinished {
        done: params.confirmed,
        worktree,
        how,
        into,
        result,
        completes: completes.map(|(_, number)| number),
    })
}

/// What became of the work, for a note on its task.
fn outcome_sentence(result: &FinishResult, into: &str) -> String {
    let what = match result {
        FinishResult::Merged { commit } => format!("{into} has it at {commit}"),
        FinishResult::Branch { name } => format!("it is left on {name}"),
        FinishResult::Patch { path } => format!("it is in {path}"),
        FinishResult::WouldBring { .. }
        | FinishResult::AlreadyThere
        | FinishResult::NothingToBring => format!("{into} has it"),
    };
    format!("The work was brought back by hand: {what}.")
}

async fn complete(call: &Call, task: BoardTaskId, how: String) -> Result<(), ApiError> {
    let board = &call.daemon.board;
    let completed = board
        .complete(task, crate::call::PERSON.to_owned(), how, call.trace)
        .await;
    completed.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    let reason = "its work was brought back by hand";
    let closed = call.daemon.questions.close_of_task(task, reason).await;
    closed.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    call.daemon.autopilot.wake();
    Ok(())
}

async fn done(
    worktree: &missiond_workspace::Worktree,
    plan: &FinishPlan,
) -> Result<FinishResult, ApiError> {
    let finished = worktree.finish(plan).await;
    match finished.map_err(|error| of_workspace(&error))? {
        Finished::Merged { commit } => Ok(FinishResult::Merged { commit }),
        Finished::NothingToMerge => Ok(FinishResult::NothingToBring),
        Finished::Branch { name } => Ok(FinishResult::Branch { name }),
        Finished::Patch { path } => {
            let path = path.display().to_string();
            Ok(FinishResult::Patch { path })
        }
        Finished::Conflict { files } => Err(conflict(worktree, plan, &files)),
    }
}

async fn preview(
    worktree: &missiond_workspace::Worktree,
    plan: &FinishPlan,
) -> Result<FinishResult, ApiError> {
    let preview = worktree.preview_finish(plan).await;
    match preview.map_err(|error| of_workspace(&error))? {
        FinishPreview::Brings { commits } => Ok(FinishResult::WouldBring { commits }),
        FinishPreview::Already => Ok(FinishResult::AlreadyThere),
        FinishPreview::NothingToMerge => Ok(FinishResult::NothingToBring),
        FinishPreview::Conflict { files } => Err(conflict(worktree, plan, &files)),
    }
}

fn conflict(
    worktree: &missiond_workspace::Worktree,
    plan: &FinishPlan,
    files: &[std::path::PathBuf],
) -> ApiError {
    let message = format!(
        "`{}` and the work both changed {}: merge `{}` in {} and settle it, then finish again",
        plan.into,
        named_files(files),
        plan.into,
        worktree.path().display()
    );
    ApiError::new(ErrorCode::Conflict, message)
}

async fn clean(call: Call, params: WorktreeCleanParams) -> Result<WorktreesCleaned, ApiError> {
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
        let mut worktree = summary(&found);
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

fn named(found: Vec<WorktreeEntry>, name: &str) -> Result<WorktreeEntry, ApiError> {
    let mut called: Vec<_> = found
        .into_iter()
        .filter(|found| found.is_called(name))
        .collect();
    if called.len() > 1 {
        let paths: Vec<_> = called
            .iter()
            .map(|found| found.path.display().to_string())
            .collect();
        let message = format!(
            "`{name}` has several worktrees, name one: {}",
            paths.join(", ")
        );
        return Err(ApiError::invalid_params(message));
    }
    called.pop().ok_or_else(|| unknown(name))
}

pub(super) fn unknown(name: &str) -> ApiError {
    let name: String = name.chars().take(200).collect();
    let message = format!("there is no worktree `{name}`: `mission worktree list` shows them");
    ApiError::new(ErrorCode::NotFound, message)
}

fn summary(found: &WorktreeEntry) -> WorktreeSummary {
    let seen = found.seen.as_ref();
    let (standing, reason) = match (&found.user, seen) {
        (Some(user), _) => (WorktreeStanding::InUse, user.clone()),
        (None, Err(error)) => (WorktreeStanding::Unreadable, error.to_string()),
        (None, Ok(seen)) => match &seen.removal {
            Removal::Safe => (
                WorktreeStanding::Removable,
                "holds nothing of its own".to_owned(),
            ),
            holds => (WorktreeStanding::HoldsWork, format!("holds {holds}")),
        },
    };
    let worktree = seen.ok().map(|seen| &seen.worktree);
    let attempt = found.attempt.as_ref();
    WorktreeSummary {
        path: found.path.display().to_string(),
        repository: worktree.map(|w| w.repository().main_path().display().to_string()),
        branch: worktree.map(|worktree| worktree.branch().to_owned()),
        base: worktree.and_then(|worktree| worktree.base().map(str::to_owned)),
        commits: seen.map_or(0, |seen| seen.commits),
        task: attempt.map(|(_, task)| task.number),
        title: attempt.map(|(_, task)| task.title.clone()),
        attempt: attempt.map(|(attempt, _)| attempt.number),
        standing,
        reason,
    }
}

pub(super) fn of_workspace(error: &WorkspaceError) -> ApiError {
    let code = match error {
        WorkspaceError::NoSuchTarget(_) | WorkspaceError::Missing(_) => ErrorCode::NotFound,
        WorkspaceError::GitTimedOut { .. } => ErrorCode::Timeout,
        _ => ErrorCode::Conflict,
    };
    ApiError::new(code, error.to_string())
}
