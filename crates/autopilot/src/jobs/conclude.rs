//! Ending an attempt that is not done: the board is told under the lease, a
//! person is asked where one has to look, and the agent is ended.

use std::time::Duration;

use missiond_core::{Consequence, Event, Outcome, TraceContext};
use missiond_executions::FinishMode;
use missiond_store::{StoreError, autopilot, board, slot_sessions};

use super::ask;
use super::work::{JobError, Work, act};
use crate::board::BoardError;
use crate::view::Limit;

/// How long a limit is waited for that does not say when it resets.
const UNKNOWN_RESET: Duration = Duration::from_secs(60 * 60);

pub(super) async fn conclude(work: &Work, outcome: Outcome, reason: &str) -> Result<(), JobError> {
    end_attempt(work, outcome, reason).await?;
    if outcome.consequence() == Consequence::Block {
        ask::at_once(work, reason).await;
    }
    end_agent(work, reason, FinishMode::Asked).await;
    Ok(())
}

/// The kill switch: the agent is gone before its task is given back, so that
/// nobody is told of none while one still works.
pub(super) async fn stop(work: &Work) -> Result<(), JobError> {
    let reason = "the autopilot was stopped";
    end_agent(work, reason, FinishMode::AtOnce).await;
    end_attempt(work, Outcome::Superseded, reason).await
}

async fn end_attempt(work: &Work, outcome: Outcome, reason: &str) -> Result<(), JobError> {
    work.record_session().await?;
    let board = &work.shared.board;
    let why = Some(reason.to_owned());
    board
        .finish(&work.attempt, outcome, why, TraceContext::root())
        .await?;
    tracing::info!(task = %work.task.number, attempt = work.attempt.number, %outcome, reason, "attempt ended");
    work.shared.wake();
    Ok(())
}

/// Gives the task back until the vendor's limit has reset. Its conversation goes
/// on then.
pub(super) async fn park(work: &Work, limit: &Limit) -> Result<(), JobError> {
    work.record_session().await?;
    let (id, token, act) = (work.attempt.id, work.attempt.token, act(&work.shared));
    // One that has reset meanwhile is waited for no longer.
    let until = match limit.resets_at {
        Some(at) => at.max(act.now),
        None => act.now.plus(UNKNOWN_RESET),
    };
    let (task, engine, said) = (work.task.id, work.engine(), limit.said.clone());
    let parked_engine = engine.clone();
    let (holder, resource) = (work.attempt.holder.clone(), board::resource(task));
    let parked = work.shared.db.write(move |tx| {
        Box::pin(async move {
            board::finish(tx, id, token, Outcome::Superseded, Some(&said), &act).await?;
            autopilot::park(tx, task, &parked_engine, until, &said, act.now).await
        })
    });
    if let Err(error) = parked.await {
        if let StoreError::StaleLease { .. } = error {
            let refused = Event::StaleWriteRefused {
                resource,
                holder,
                token,
            };
            record(work, refused).await;
        }
        return Err(BoardError::from(error).into());
    }
    let reached = Event::UsageLimitReached {
        engine,
        execution: work.attempt.execution,
        resets_at: Some(until),
    };
    if let Err(error) = work
        .shared
        .timeline
        .record(reached, work.trace().child())
        .await
    {
        tracing::warn!(%error, "usage limit not recorded on timeline");
    }
    end_agent(work, "the usage limit is reached", FinishMode::Asked).await;
    Ok(())
}

async fn record(work: &Work, event: Event) {
    let kind = event.kind();
    let told = work.shared.timeline.record(event, work.trace().child());
    if let Err(error) = told.await {
        tracing::warn!(kind, %error, "event not recorded on timeline");
    }
}

/// Ends the agent in order; what it was is on record.
pub(super) async fn end_agent(work: &Work, reason: &str, mode: FinishMode) {
    let Some(execution) = work.attempt.execution else {
        return;
    };
    let executions = &work.shared.executions;
    if let Err(error) = executions.finish(execution, reason, mode).await {
        tracing::error!(%execution, %error, "agent of ended attempt not stopped");
    }
    let now = work.shared.clock.now();
    let noted = work
        .shared
        .db
        .write(move |tx| Box::pin(slot_sessions::end(tx, execution, now)))
        .await;
    if let Err(error) = noted {
        tracing::warn!(%execution, %error, "end of session not recorded");
    }
}
