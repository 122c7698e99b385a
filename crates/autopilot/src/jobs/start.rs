//! Starting the agent of an attempt, under the ids that were stored with the
//! claim; with the conversation of the last attempt, where there is one.

use std::path::{Path, PathBuf};

use missiond_adapters::PermissionMode;
use missiond_core::{CliEngine, DeliveryStatus, ExecutionId, Permission, SlotId, SlotName};
use missiond_executions::{ExecutionError, Identity, NewExecution, Owner, Sender};
use missiond_journal::state::MessageState;
use missiond_slots::{DEFAULT_SIZE, SlotsError};
use missiond_store::slot_sessions::{self, SlotSession};
use missiond_store::{board, token_usage};

use super::work::{JobError, Work};
use crate::slot_names;

/// So many earlier sessions are looked into.
const LOOKED_BACK: usize = 5;

pub(super) async fn start(work: &Work) -> Result<(), JobError> {
    let attempt = &work.attempt;
    let (Some(execution), Some(slot), Some(cwd)) =
        (attempt.execution, attempt.slot, attempt.worktree.clone())
    else {
        let why = "it was claimed without a place to run in".to_owned();
        return Err(JobError::NeedsPerson(why));
    };
    let engine = work.engine();
    let now = work.shared.clock.now();
    let used = work
        .shared
        .db
        .read(move |tx| Box::pin(token_usage::slots_of_day(tx, now)))
        .await?;
    let name = reserve_slot(work, &engine, &used);
    let started = start_in(work, execution, slot, cwd, engine, name.clone()).await;
    work.shared.names().remove(name.as_str());
    started
}

/// A free slot, which nobody else is given until the agent runs in it. One of the
/// configuration whose budget is used up is not free today.
fn reserve_slot(work: &Work, engine: &CliEngine, used: &[(String, u64)]) -> SlotName {
    let config = work.shared.config();
    let mut names = work.shared.names();
    let spent = |name: &str| {
        let slot = config.slots.iter().find(|slot| slot.name.as_str() == name);
        let budget = slot.map_or(0, |slot| slot.tokens_per_day);
        let used = used.iter().find(|(used, _)| used == name);
        budget > 0 && used.is_some_and(|(_, used)| *used >= budget)
    };
    let open = |name: &str| work.shared.slots.find(name).is_some();
    let taken = |name: &str| names.contains(name) || open(name) || spent(name);
    let name = slot_names::slot(&config.slots, engine, &taken, &work.task, &work.attempt);
    names.insert(name.to_string());
    name
}

async fn start_in(
    work: &Work,
    execution: ExecutionId,
    slot: SlotId,
    cwd: PathBuf,
    engine: CliEngine,
    name: SlotName,
) -> Result<(), JobError> {
    let attempt = &work.attempt;
    let session = SlotSession {
        execution,
        slot_name: name.to_string(),
        engine: engine.clone(),
        task: work.task.id,
        attempt: attempt.id,
        cwd: cwd.clone(),
        conversation: None,
        prompted_at: None,
        started_at: work.shared.clock.now(),
        ended_at: None,
    };
    let resume = conversation(work, &cwd).await?;
    work.shared
        .db
        .write(move |tx| Box::pin(async move { slot_sessions::begin(tx, &session).await }))
        .await?;
    let new = NewExecution {
        identity: Identity::Given { execution, slot },
        owner: Owner::Task(work.task.id),
        engine,
        args: work.task.args.clone(),
        prompt: None,
        from: Sender::Daemon,
        agent: None,
        preamble: None,
        cwd,
        model: work.task.model.clone(),
        permission: permission(work),
        name: Some(name),
        env: [("MISSION_TASK".to_owned(), work.task.number.to_string())].into(),
        resume,
        controller: work.task.control,
        signals: None,
        // Whoever put the task on the board said where it is to be done.
        trust_folder: true,
        sandbox: work.shared.config().sandbox.agents,
        size: DEFAULT_SIZE,
    };
    let trace = work.trace();
    match work.shared.executions.start(new, trace).await {
        Ok(_) => Ok(()),
        // Nothing was begun, and nothing will change by itself.
        Err(
            error @ (ExecutionError::Detect(_)
            | ExecutionError::Plan(_)
            | ExecutionError::Invalid(_)
            | ExecutionError::Slots(SlotsError::Invalid(_))),
        ) => Err(JobError::NeedsPerson(error.to_string())),
        // Its journal says why it ended: the next pass finds it.
        Err(error) => {
            if work.shared.executions.has_journal(execution).await? {
                Ok(())
            } else {
                Err(error.into())
            }
        }
    }
}

/// The conversation of an earlier attempt in the same place. The journal says
/// whether there is anything in it: a program that ended before it took a prompt
/// has none that could be gone on with.
pub(super) async fn conversation(work: &Work, cwd: &Path) -> Result<Option<String>, JobError> {
    let task = work.task.id;
    let (engine, execution) = (work.engine(), work.attempt.execution);
    let (sessions, attempts) = work
        .shared
        .db
        .read(move |tx| {
            Box::pin(async move {
                let sessions = slot_sessions::of_task(tx, task).await?;
                Ok((sessions, board::attempts(tx, task).await?))
            })
        })
        .await?;
    let abandoned = |session: &SlotSession| {
        let mut attempts = attempts.iter();
        attempts.any(|attempt| attempt.id == session.attempt && attempt.abandoned)
    };
    let fits = |session: &SlotSession| {
        Some(session.execution) != execution
            && session.engine == engine
            && session.cwd == cwd
            && !abandoned(session)
    };
    let reached = |message: &MessageState| message.status == DeliveryStatus::Delivered;
    for before in sessions.into_iter().filter(fits).take(LOOKED_BACK) {
        let Ok(state) = work.shared.executions.ended(before.execution).await else {
            continue;
        };
        if state.messages.values().any(reached) {
            let told = state.session.map(|session| session.id.as_str().to_owned());
            return Ok(before.conversation.or(told));
        }
    }
    Ok(None)
}

fn permission(work: &Work) -> PermissionMode {
    match work.task.permission.unwrap_or_default() {
        Permission::Ask => PermissionMode::Ask,
        Permission::AcceptEdits => PermissionMode::AcceptEdits,
        Permission::Plan => PermissionMode::Plan,
        Permission::Bypass => PermissionMode::Bypass,
    }
}
