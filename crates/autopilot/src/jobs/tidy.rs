//! What is left behind: agents without a task, worktrees without work.

use std::path::Path;
use std::sync::Arc;

use missiond_core::{
    BoardTaskStatus, ExecutionId, Isolation, NoteText, Outcome, TaskRef, TraceContext,
};
use missiond_executions::FinishMode;
use missiond_store::{StoreError, board, slot_sessions};
use missiond_workspace::{Leftovers, Removal, Worktree};

use super::check;
use super::work::{Report, Work};
use crate::shared::Shared;

/// Takes up what an earlier daemon did not get to: agents whose attempt is over,
/// and the places of tasks that are done.
pub(crate) async fn tidy_up(shared: Arc<Shared>, holder: Arc<str>) -> Report {
    if let Err(error) = sessions(&shared, &holder).await {
        tracing::error!(%error, "leftovers of earlier attempts not read");
    }
    Report::Done
}

async fn sessions(shared: &Arc<Shared>, holder: &str) -> Result<(), StoreError> {
    let open = shared
        .db
        .read(|tx| Box::pin(slot_sessions::open(tx)))
        .await?;
    for session in open {
        let (id, task) = (session.attempt, session.task);
        let found = shared
            .db
            .read(move |tx| {
                Box::pin(
                    async move { Ok((board::attempt(tx, id).await?, board::get(tx, task).await?)) },
                )
            })
            .await?;
        let (Some(attempt), Some(task)) = found else {
            continue;
        };
        if attempt.ended_at.is_none() || attempt.holder != holder {
            continue;
        }
        let done = attempt.outcome == Some(Outcome::Verified);
        let reviewed = task.status == BoardTaskStatus::Review;
        let work = Work::new(Arc::clone(shared), task, attempt);
        super::conclude::end_agent(&work, "its attempt is over", FinishMode::Asked).await;
        match (done, reviewed) {
            (true, false) => leave(&work).await,
            (true, true) => tear_down(&work).await,
            (false, _) => {}
        }
    }
    Ok(())
}

/// Ends an agent whose attempt somebody else has ended.
pub(crate) async fn dismiss(shared: Arc<Shared>, execution: ExecutionId) -> Report {
    let ended = shared
        .executions
        .finish(execution, "its attempt is over", FinishMode::AtOnce)
        .await;
    if let Err(error) = ended {
        tracing::error!(%execution, %error, "agent of ended attempt not stopped");
    }
    let now = shared.clock.now();
    let noted = shared
        .db
        .write(move |tx| Box::pin(slot_sessions::end(tx, execution, now)))
        .await;
    if let Err(error) = noted {
        tracing::warn!(%execution, %error, "end of session not recorded");
    }
    Report::Dismissed(execution)
}

/// Leaves the place of a task that is done: its teardown runs, and a worktree
/// that holds nothing of its own is removed.
pub(super) async fn leave(work: &Work) {
    tear_down(work).await;
    if let Some(path) = &work.attempt.worktree
        && work.task.isolation == Isolation::Worktree
        && path.exists()
    {
        remove(work, path).await;
    }
}

/// Runs the teardown of a task in its place; what fails is noted on it.
pub(super) async fn tear_down(work: &Work) {
    let Some(path) = &work.attempt.worktree else {
        return;
    };
    if !path.exists() {
        return;
    }
    for step in &work.task.teardown {
        let (wall, end) = (work.shared.config().sandbox.around_setup(), Leftovers::End);
        let ran = check::run(work, step, path, wall, end, std::future::pending()).await;
        if !ran.passed() {
            let text = NoteText::excerpt(&format!("the teardown `{}` failed: {ran}", step.label()));
            let Some(text) = text else { continue };
            let (task, author) = (TaskRef::Id(work.task.id), "autopilot".to_owned());
            let board = &work.shared.board;
            let noted = board
                .add_note(task, author, text, TraceContext::root())
                .await;
            if let Err(error) = noted {
                tracing::warn!(task = %work.task.number, %ran, %error, "worktree teardown failed");
            }
        }
    }
}

async fn remove(work: &Work, path: &Path) {
    let removed = async {
        let worktree = Worktree::open(path).await?;
        match worktree.removal().await? {
            Removal::Safe => worktree.remove().await,
            Removal::Holds { .. } => Ok(()),
        }
    };
    if let Err(error) = removed.await {
        tracing::warn!(task = %work.task.number, path = %path.display(), %error, "worktree not removed");
    }
}
