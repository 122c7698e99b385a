//! Bringing verified work back, and being done: the merge, then the task, then
//! the agent and its place.

use missiond_core::{Finish, Isolation, Outcome, TraceContext};
use missiond_store::autopilot;
use missiond_workspace::{FinishPlan, Finished, WorkspaceError, Worktree};

use super::{JobError, Work, conclude, tidy};

pub(super) async fn integrate(work: &Work) -> Result<(), JobError> {
    if work.task.isolation == Isolation::Worktree && !bring_back(work).await? {
        return Ok(());
    }
    let board = &work.daemon.board;
    board
        .finish(&work.attempt, Outcome::Verified, None, TraceContext::root())
        .await?;
    // What waited for this task can begin while its agent leaves.
    work.daemon.autopilot.wake();
    let task = work.task.id;
    work.daemon
        .db
        .write(move |tx| Box::pin(autopilot::unpark(tx, task)))
        .await?;
    conclude::end_agent(work, "its task is done").await;
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
    match worktree.finish(&plan).await {
        Ok(Finished::Conflict { files }) => {
            let names: Vec<_> = files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            conflict(work, names.join("\n")).await?;
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

async fn conflict(work: &Work, files: String) -> Result<(), JobError> {
    let (id, round) = (work.attempt.id, work.attempt.check_rounds);
    work.daemon
        .db
        .write(move |tx| {
            Box::pin(async move { autopilot::note_conflict(tx, id, round, &files).await })
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
