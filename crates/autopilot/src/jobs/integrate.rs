//! Bringing verified work back, and being done: the merge, then the task, then
//! the agent and its place. Work that a person wants to see first is left where it is,
//! and its task is ready for review; so is work that changed its own checks. Work that others have overtaken is checked again
//! together with theirs before it is merged: two changes that are good alone may
//! not be so together.

use std::path::PathBuf;

use missiond_core::{Finish, Isolation, Outcome, TraceContext};
use missiond_executions::FinishMode;
use missiond_store::autopilot;
use missiond_workspace::{
    FinishPlan, Finished, TargetMerge, WorkspaceError, Worktree, named_files,
};

use super::work::{JobError, Work};
use super::{check, conclude, doubts, tidy};

pub(super) async fn integrate(work: &Work) -> Result<(), JobError> {
    // A check that the work has changed proves nothing of it.
    let is_reviewed = work.task.is_reviewed() || !doubts::changed_checks(work).await?.is_empty();
    if is_reviewed && submit(work).await? {
        return Ok(());
    }
    if work.task.isolation == Isolation::Worktree && !bring_back(work).await? {
        return Ok(());
    }
    let board = &work.shared.board;
    board
        .finish(&work.attempt, Outcome::Verified, None, TraceContext::root())
        .await?;
    close(work, "its task is done").await?;
    tidy::leave(work).await;
    Ok(())
}

/// Ends what still goes on for an attempt whose work is handed over. What waited for
/// its task, or for its place among the agents, can begin while its agent leaves.
async fn close(work: &Work, why: &str) -> Result<(), JobError> {
    work.shared.wake();
    let task = work.task.id;
    work.shared
        .db
        .write(move |tx| Box::pin(autopilot::unpark(tx, task)))
        .await?;
    conclude::end_agent(work, why, FinishMode::Asked).await;
    Ok(())
}

/// Hands the work to a person; not when there is nothing to look at.
async fn submit(work: &Work) -> Result<bool, JobError> {
    let Some(path) = &work.attempt.worktree else {
        return Ok(false);
    };
    let worktree = Worktree::open(path).await?;
    let status = worktree.status().await?;
    // One of several is a person's to judge, also when it came to nothing.
    if status.head == status.base_commit && !work.shared.board.is_alternative(&work.task).await? {
        return Ok(false);
    }
    if !status.is_clean() {
        return Err(dirty(work, status.changed.iter().chain(&status.untracked)));
    }
    if work.task.finish == Finish::Patch {
        worktree.finish(&plan(work).await?).await?;
    }
    let board = &work.shared.board;
    board.submit(&work.attempt, TraceContext::root()).await?;
    close(work, "its work is ready for review").await?;
    tidy::tear_down(work).await;
    Ok(true)
}

async fn plan(work: &Work) -> Result<FinishPlan, JobError> {
    Ok(FinishPlan {
        how: work.task.finish,
        into: target(work).await?,
        message: Some(format!("{}: {}", work.task.number, work.task.title)),
    })
}

/// Somebody wrote into the worktree after its work was checked. That is no conflict
/// and nothing the agent is asked about.
fn dirty<'f>(work: &Work, files: impl Iterator<Item = &'f PathBuf>) -> JobError {
    let number = work.task.number;
    let files: Vec<_> = files.cloned().collect();
    JobError::NeedsPerson(format!(
        "somebody wrote into its worktree after the checks had passed: {}; `mission worktree \
         discard {number}` throws that away, then retry the task",
        named_files(&files)
    ))
}

/// Whether the work is where it belongs.
async fn bring_back(work: &Work) -> Result<bool, JobError> {
    let Some(path) = &work.attempt.worktree else {
        return Ok(true);
    };
    let worktree = Worktree::open(path).await?;
    let plan = plan(work).await?;
    let alone = work.shared.integrating.lock().await;
    let as_one = matches!(work.task.finish, Finish::Merge | Finish::Squash);
    if as_one && !work.task.checks.is_empty() {
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
        Err(WorkspaceError::Uncommitted { files, .. }) => Err(dirty(work, files.iter())),
        Err(
            error @ (WorkspaceError::InProgress { .. }
            | WorkspaceError::TargetDirty { .. }
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
