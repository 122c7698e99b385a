//! Bringing verified work back, and being done: the merge, then the task, then
//! the agent and its place. Work that others have overtaken is checked again
//! together with theirs before it is merged: two changes that are good alone may
//! not be so together.

use std::path::PathBuf;

use missiond_core::{Finish, Isolation, Outcome, TraceContext};
use missiond_executions::FinishMode;
use missiond_store::autopilot;
use missiond_workspace::{FinishPlan, Finished, TargetMerge, WorkspaceError, Worktree};

use super::work::{JobError, Work};
use super::{check, conclude, tidy};

pub(super) async fn integrate(work: &Work) -> Result<(), JobError> {
    if work.task.isolation == Isolation::Worktree && !bring_back(work).await? {
        return Ok(());
    }
    let board = &work.shared.board;
    board
        .finish(&work.attempt, Outcome::Verified, None, TraceContext::root())
        .await?;
    // What waited for this task can begin while its agent leaves.
    work.shared.wake();
    let task = work.task.id;
    work.shared
        .db
        .write(move |tx| Box::pin(autopilot::unpark(tx, task)))
        .await?;
    conclude::end_agent(work, "its task is done", FinishMode::Asked).await;
    tidy::leave(work).await;
    Ok(())
}

/// Whether the work is where it belongs.
async fn bring_back(work: &Work) -> Result<bool, JobError> {
    let Some(path) = &work.attempt.worktree else {
        return Ok(true);
    };
    let worktree = Worktree::open(path).await?;
    let plan = FinishPlan {
        how: match work.task.finish {
            Finish::Merge => missiond_workspace::Finish::Merge,
            Finish::Rebase => missiond_workspace::Finish::Rebase,
            Finish::Branch => missiond_workspace::Finish::Branch,
            Finish::Patch => missiond_workspace::Finish::Patch,
        },
        into: target(work).await?,
        message: Some(format!("{}: {}", work.task.number, work.task.title)),
    };
    let alone = work.shared.integrating.lock().await;
    if work.task.finish == Finish::Merge && !work.task.checks.is_empty() {
        match worktree.merge_target(&plan.into).await {
            Ok(TargetMerge::UpToDate) => {}
            Ok(TargetMerge::Merged { .. }) => {
                drop(alone);
                check::check(work, work.attempt.check_rounds + 1).await?;
                return Ok(false);
            }
            Ok(TargetMerge::Conflict { files }) => {
                conflict(work, named(&files)).await?;
                return Ok(false);
            }
            // Said by the finish as well, which knows what follows from each.
            Err(error) => {
                tracing::debug!(task = %work.task.number, %error, "target branch not merged into worktree");
            }
        }
    }
    match worktree.finish(&plan).await {
        Ok(Finished::Conflict { files }) => {
            conflict(work, named(&files)).await?;
            Ok(false)
        }
        Ok(_) => Ok(true),
        // The agent's to mend: it is told as it is told of a conflict.
        Err(error @ (WorkspaceError::Uncommitted { .. } | WorkspaceError::InProgress { .. })) => {
            conflict(work, error.to_string()).await?;
            Ok(false)
        }
        Err(
            error @ (WorkspaceError::TargetDirty { .. }
            | WorkspaceError::TargetBusy { .. }
            | WorkspaceError::TargetStuck { .. }
            | WorkspaceError::NoSuchTarget(_)),
        ) => Err(JobError::NeedsPerson(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

fn named(files: &[PathBuf]) -> String {
    let names = files.iter().map(|file| file.display().to_string());
    names.collect::<Vec<_>>().join("\n")
}

async fn conflict(work: &Work, files: String) -> Result<(), JobError> {
    let (id, round) = (work.attempt.id, work.attempt.check_rounds);
    work.shared
        .db
        .write(move |tx| {
            Box::pin(async move { autopilot::record_conflict(tx, id, round, &files).await })
        })
        .await?;
    Ok(())
}

/// The branch the work goes into.
pub(super) async fn target(work: &Work) -> Result<String, JobError> {
    if let Some(path) = &work.attempt.worktree
        && let Some(base) = Worktree::open(path).await?.base()
    {
        return Ok(base.to_owned());
    }
    Err(JobError::NeedsPerson(
        "the work started from a commit and not from a branch: say with `finish: branch` that \
         its branch is to be left, or choose a branch as its base"
            .to_owned(),
    ))
}
