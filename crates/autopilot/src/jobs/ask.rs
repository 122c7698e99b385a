//! Asking a person about a task that cannot go on, and doing what they say.

use std::sync::Arc;

use missiond_attention::questions::NewQuestion;
use missiond_core::{
    Attempt, BoardTask, BoardTaskStatus, Consequence, NoteText, Question, QuestionOrigin,
    QuestionRef, QuestionStatus, TaskRef, TraceContext,
};
use missiond_store::board::TaskFilter;
use missiond_store::questions::QuestionFilter;
use missiond_store::{autopilot, board};

use super::work::{JobError, Report, Work};
use crate::shared::Shared;

/// The answer that ends the task.
const GIVE_UP: &str = "give up";
/// The answer that adds nothing to it.
const TRY_AGAIN: &str = "try again";
/// As many blocked tasks are looked after.
const MOST: u32 = 1000;

/// Asks how a blocked task goes on. The same attempt asks once; what is known of
/// the question is returned.
pub(super) async fn about(
    shared: &Shared,
    task: &BoardTask,
    attempt: &Attempt,
) -> Result<Question, JobError> {
    let id = task.id;
    let blocks = shared.questions.waiting_for(Some(id)).await?;
    let reason = attempt.reason.as_deref().unwrap_or("it is blocked");
    let place = attempt.worktree.as_ref();
    let place = place.map(|place| format!("Its work is in {}.", place.display()));
    let new = NewQuestion {
        origin: QuestionOrigin::Task {
            task: id,
            key: attempt.id.to_string(),
        },
        question: format!("{} ({}) cannot go on: {reason}", task.number, task.title),
        context: place,
        options: Vec::new(),
        blocks,
    };
    let asked = shared.questions.raise(new, TraceContext::root()).await?;
    Ok(shared.questions.find(QuestionRef::Id(asked)).await?)
}

/// The same right after the attempt has ended; when it fails, the next look at
/// the blocked tasks asks.
pub(super) async fn at_once(work: &Work, reason: &str) {
    let attempt = Attempt {
        reason: Some(reason.to_owned()),
        ..work.attempt.clone()
    };
    if let Err(error) = about(&work.shared, &work.task, &attempt).await {
        tracing::warn!(task = %work.task.number, %error, "question about task not raised");
    }
}

/// Looks after the blocked tasks: each has its question, and what was answered
/// is done.
pub(crate) async fn follow_up(shared: Arc<Shared>, holder: std::sync::Arc<str>) -> Report {
    if let Err(error) = blocked(&shared, &holder).await {
        tracing::error!(%error, "answers about blocked tasks not applied");
    }
    if let Err(error) = withdraw(&shared).await {
        tracing::error!(%error, "questions about resumed tasks not closed");
    }
    Report::FollowedUp
}

async fn blocked(shared: &Shared, holder: &str) -> Result<(), JobError> {
    let filter = TaskFilter {
        status: vec![BoardTaskStatus::Blocked],
        limit: MOST,
        ..TaskFilter::default()
    };
    let tasks = shared
        .db
        .read(move |tx| Box::pin(async move { board::list(tx, &filter).await }))
        .await?;
    for task in tasks {
        let id = task.id;
        let attempts = shared
            .db
            .read(move |tx| Box::pin(board::attempts(tx, id)))
            .await?;
        let asks = |attempt: &Attempt| {
            let outcome = attempt.outcome.map(missiond_core::Outcome::consequence);
            attempt.holder == holder && outcome == Some(Consequence::Block)
        };
        let Some(attempt) = attempts.into_iter().next_back().filter(asks) else {
            continue;
        };
        let question = about(shared, &task, &attempt).await?;
        if let (QuestionStatus::Answered, Some(answer)) = (question.status, &question.answer) {
            let by = question.closed_by.as_deref().unwrap_or("a person");
            follow(shared, &task, answer, by).await?;
        }
    }
    Ok(())
}

/// Does what the person said.
async fn follow(shared: &Shared, task: &BoardTask, answer: &str, by: &str) -> Result<(), JobError> {
    let (trace, reference) = (TraceContext::root(), TaskRef::Id(task.id));
    let said = answer.trim().to_lowercase();
    if said == GIVE_UP {
        let reason = format!("given up by {by}");
        shared.board.cancel(reference, reason, trace).await?;
        return Ok(());
    }
    if said != TRY_AGAIN
        && let Some(text) = NoteText::excerpt(answer.trim())
    {
        shared
            .board
            .add_note(reference, by.to_owned(), text, trace)
            .await?;
    }
    let id = task.id;
    shared
        .db
        .write(move |tx| Box::pin(autopilot::unpark(tx, id)))
        .await?;
    let from = board::RetryFrom::LastAttempt;
    shared.board.retry(reference, from, trace).await?;
    shared.wake();
    Ok(())
}

/// A task that goes on by itself needs no answer any more.
async fn withdraw(shared: &Shared) -> Result<(), JobError> {
    for question in shared.questions.list(QuestionFilter::Open).await? {
        let QuestionOrigin::Task { task, .. } = question.origin else {
            continue;
        };
        let stands = shared
            .db
            .read(move |tx| Box::pin(board::get(tx, task)))
            .await?;
        if stands.is_none_or(|task| task.status != BoardTaskStatus::Blocked) {
            let reason = "the task goes on";
            shared.questions.close_gone(question.id, reason).await?;
        }
    }
    Ok(())
}
