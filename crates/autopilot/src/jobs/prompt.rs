//! Speaking to the agent: the prompt of a phase, what failed, what conflicts.

use std::path::PathBuf;

use missiond_briefing::BriefingRequest;
use missiond_core::{EngineeringPhase, Outcome, SendWhen};
use missiond_executions::Sender;
use missiond_store::{autopilot, board};

use super::work::{JobError, Work, act};
use super::{prepare, settle, start};
use crate::prompts::{self, AttemptOrigin};

pub(super) async fn begin_phase(work: &Work) -> Result<(), JobError> {
    let task = work.task.id;
    let notes = work
        .shared
        .db
        .read(move |tx| Box::pin(board::notes(tx, task)))
        .await?;
    let before = prepare::before(work).await?;
    let cwd = work.attempt.worktree.clone().unwrap_or_default();
    let same_place = before
        .as_ref()
        .is_some_and(|before| before.worktree.as_ref() == Some(&cwd));
    let origin = match start::conversation(work, &cwd).await? {
        Some(_) => AttemptOrigin::Resumed,
        None if same_place => AttemptOrigin::Inherited,
        None => AttemptOrigin::Fresh,
    };
    // One that was given back has nothing to say.
    let before = before.filter(|before| before.outcome != Some(Outcome::Superseded));
    let text = prompts::of_phase(&work.task, &work.attempt, &notes, before.as_ref(), origin);
    let text = with_briefing(work, text, cwd).await?;
    send_message(
        work,
        text,
        prompts::phase_key(&work.attempt, work.task.phase),
    )
    .await?;
    work.record_session().await
}

/// The first prompt of an agent, with what it is told beside it; any other as it
/// is.
async fn with_briefing(work: &Work, text: String, cwd: PathBuf) -> Result<String, JobError> {
    let (Some(execution), Some(slot)) = (work.attempt.execution, work.attempt.slot) else {
        return Ok(text);
    };
    let executions = &work.shared.executions;
    let first = executions.peek(execution, |state| state.messages.is_empty());
    if first != Some(true) {
        return Ok(text);
    }
    let wanted = BriefingRequest {
        engine: work.engine(),
        conversation: start::conversation(work, &cwd).await?,
        cwd,
        prompt: text,
        task: Some(work.task.clone()),
        slot: executions.slot_name(execution),
        tokens: None,
    };
    Ok(work
        .shared
        .context
        .first_prompt(execution, slot, wanted)
        .await)
}

pub(super) async fn enter_phase(work: &Work, phase: EngineeringPhase) -> Result<(), JobError> {
    let (task, act) = (work.task.id, act(&work.shared));
    work.shared
        .db
        .write(move |tx| Box::pin(async move { board::set_phase(tx, task, phase, &act).await }))
        .await?;
    Ok(())
}

pub(super) async fn send_back(work: &Work, round: u32) -> Result<(), JobError> {
    let id = work.attempt.id;
    let evidence = work
        .shared
        .db
        .read(move |tx| Box::pin(board::evidence(tx, id)))
        .await?;
    let rounds = work.shared.config().autopilot.check_rounds;
    let text = prompts::of_checks(&evidence, round, rounds);
    send_message(work, text, prompts::checks_key(&work.attempt, round)).await
}

pub(super) async fn send_conflict(work: &Work) -> Result<(), JobError> {
    let id = work.attempt.id;
    let conflicts = work
        .shared
        .db
        .read(move |tx| Box::pin(autopilot::conflicts(tx, id)))
        .await?
        .unwrap_or_default();
    let into = super::integrate::target(work).await?;
    let text = prompts::of_conflict(&into, &conflicts.files);
    send_message(
        work,
        text,
        prompts::conflict_key(&work.attempt, conflicts.round),
    )
    .await
}

async fn send_message(work: &Work, text: String, key: String) -> Result<(), JobError> {
    let Some(execution) = work.attempt.execution else {
        return Ok(());
    };
    // What it writes from now on is its own.
    settle::settle_place(work).await?;
    work.shared
        .executions
        .message(
            execution,
            text,
            Vec::new(),
            Some(key),
            Sender::Daemon,
            SendWhen::Idle,
        )
        .await?;
    Ok(())
}
