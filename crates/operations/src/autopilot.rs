//! Handlers of the autopilot's operations.

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::autopilot::{
    AttemptUnderWay, AutopilotMode, AutopilotReport, AutopilotSet, AutopilotSetParams,
    AutopilotShow, MemoryReport, ParkedTask,
};
use missiond_autopilot::{Mode, ModeError, Remembered};
use missiond_core::{Attempt, BoardTask};
use missiond_store::autopilot::{self, ModeRow, ParkedRow};
use missiond_store::{StoreError, board, token_usage};

use crate::call::{Call, Operations, of_store};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<AutopilotShow, _, _>(show);
    operations.add::<AutopilotSet, _, _>(set);
}

pub(super) async fn show(call: Call, _: NoParams) -> Result<AutopilotReport, ApiError> {
    let rows = read(&call).await.map_err(|error| of_store(&error))?;
    Ok(report(&call, rows))
}

async fn set(call: Call, params: AutopilotSetParams) -> Result<AutopilotReport, ApiError> {
    let reason = params.reason.as_deref().unwrap_or("asked for");
    let mode = match params.mode {
        AutopilotMode::Running => Mode::Running,
        AutopilotMode::Paused => Mode::Paused,
        AutopilotMode::Draining => Mode::Draining,
        AutopilotMode::Stopped => Mode::Stopped,
    };
    let autopilot = &call.daemon.autopilot;
    let changed = autopilot
        .set_mode(mode, reason, call.principal.name(), call.trace)
        .await;
    changed.map_err(|error| match error {
        ModeError::Store(error) => of_store(&error),
        ModeError::Timeline(error) => crate::call::of_timeline(&error),
    })?;
    show(call, NoParams {}).await
}

struct Rows {
    mode: ModeRow,
    attempts: Vec<(BoardTask, Attempt)>,
    parked: Vec<ParkedRow>,
    tokens_today: u64,
}

async fn read(call: &Call) -> Result<Rows, StoreError> {
    let now = call.daemon.clock.now();
    call.daemon
        .db
        .read(move |tx| {
            Box::pin(async move {
                let mut attempts = Vec::new();
                for attempt in board::live_attempts(tx).await? {
                    if let Some(task) = board::get(tx, attempt.task).await? {
                        attempts.push((task, attempt));
                    }
                }
                Ok(Rows {
                    mode: autopilot::mode(tx).await?,
                    attempts,
                    parked: autopilot::parked(tx).await?,
                    tokens_today: token_usage::of_day(tx, now).await?,
                })
            })
        })
        .await
}

fn report(call: &Call, rows: Rows) -> AutopilotReport {
    let at_work: Vec<_> = rows.attempts.iter().map(|(_, one)| one.execution).collect();
    let agents = call.daemon.executions.of_tasks().into_iter();
    let leaving = agents.filter(|(execution, _)| !at_work.contains(&Some(*execution)));
    let leaving = u32::try_from(leaving.count()).unwrap_or(u32::MAX);
    let config = call.daemon.config();
    let now = call.daemon.clock.now();
    AutopilotReport {
        mode: mode(&rows.mode.mode),
        reason: rows.mode.reason,
        changed_by: rows.mode.changed_by,
        changed_at: rows.mode.changed_at,
        max_agents: config.autopilot.max_agents,
        attempts: rows
            .attempts
            .into_iter()
            .map(|(task, attempt)| under_way(call, task, attempt))
            .collect(),
        leaving,
        parked: rows
            .parked
            .into_iter()
            .filter(|parked| parked.until > now)
            .map(|parked| ParkedTask {
                task: parked.task,
                engine: parked.engine,
                until: parked.until,
                reason: parked.reason,
            })
            .collect(),
        tokens_today: rows.tokens_today,
        tokens_per_day: config.autopilot.tokens_per_day,
        memory: call.daemon.autopilot.remembered().map(memory),
    }
}

/// The mode that is stored under a name; one of another version is no leave to begin.
pub(crate) fn mode(name: &str) -> AutopilotMode {
    match Mode::named(name) {
        Some(Mode::Running) => AutopilotMode::Running,
        Some(Mode::Draining) => AutopilotMode::Draining,
        Some(Mode::Stopped) => AutopilotMode::Stopped,
        Some(Mode::Paused) | None => AutopilotMode::Paused,
    }
}

const fn memory(remembered: Remembered) -> MemoryReport {
    let Remembered { at, tended } = remembered;
    MemoryReport {
        at,
        accepted: tended.accepted,
        waiting: tended.waiting,
        aged: tended.aged,
        entries: tended.entries,
        embedded: tended.embedded,
    }
}

fn under_way(call: &Call, task: BoardTask, attempt: Attempt) -> AttemptUnderWay {
    let open = attempt
        .slot
        .and_then(|slot| call.daemon.slots.find(&slot.to_string()));
    AttemptUnderWay {
        task: task.number,
        title: task.title,
        attempt: attempt.id,
        number: attempt.number,
        holder: attempt.holder,
        execution: attempt.execution,
        slot: open.map(|open| open.slot.name),
        folder: attempt.worktree.map(|path| path.display().to_string()),
        check_rounds: attempt.check_rounds,
        started_at: attempt.started_at,
    }
}
