//! Handlers of the operations on background workers.

use std::time::Duration;

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::worker::{
    MemoryAction, MemoryControl, MemoryControlParams, WorkerAction, WorkerControl,
    WorkerControlParams, WorkerDetails, WorkerLine, WorkerList, WorkerRun, WorkerShow,
    WorkerShowParams, WorkerSwitched, WorkerTrigger, WorkerUnit, WorkerUnits, WorkersControlled,
    WorkersPage,
};
use missiond_cognition::{ControlError, Run, SwitchChange, Trigger, WorkerError, WorkerStatus};
use missiond_core::{ControlNode, ErrorCode, Text, WorkerDomain, WorkerSwitch};
use missiond_store::worker_switches::SwitchRow;
use missiond_store::worker_units::{UnitFilter, UnitRow};

use crate::call::{Call, Operations, of_store};

/// How long the units at hand are waited for.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn register(operations: &mut Operations) {
    operations.add::<WorkerList, _, _>(list);
    operations.add::<WorkerShow, _, _>(show);
    operations.add::<WorkerControl, _, _>(control);
    operations.add::<MemoryControl, _, _>(control_memory);
}

async fn list(call: Call, _: NoParams) -> Result<WorkersPage, ApiError> {
    let cognition = &call.daemon.cognition;
    let workers = cognition.list().await.map_err(refused)?;
    let tree = cognition.control().tree();
    Ok(WorkersPage {
        workers: workers.into_iter().map(line).collect(),
        switches: tree.switches().map(switched).collect(),
    })
}

async fn show(call: Call, params: WorkerShowParams) -> Result<WorkerDetails, ApiError> {
    let cognition = &call.daemon.cognition;
    let (name, limit) = (params.worker.as_str(), params.limit.to_u32());
    let worker = cognition.find(name).await.map_err(refused)?;
    let open = cognition.units(name, UnitFilter::Open, limit).await;
    let ended = cognition.units(name, UnitFilter::Ended, limit).await;
    let runs = cognition
        .runs(name, params.limit.to_usize())
        .map_err(refused)?;
    let units = |rows: Vec<UnitRow>| rows.into_iter().map(unit).collect();
    Ok(WorkerDetails {
        worker: line(worker),
        open: units(open.map_err(refused)?),
        ended: units(ended.map_err(refused)?),
        runs: runs.into_iter().map(run).collect(),
    })
}

async fn control(call: Call, params: WorkerControlParams) -> Result<WorkersControlled, ApiError> {
    let node = target(&call, &params.target).await?;
    let one = match (&node, params.action) {
        (ControlNode::Worker(name), _) => Some(name.clone()),
        (_, WorkerAction::Force | WorkerAction::Run | WorkerAction::Retry) => {
            let message = "this is done with one worker: name it";
            return Err(ApiError::new(ErrorCode::InvalidParams, message));
        }
        _ => None,
    };
    let cognition = &call.daemon.cognition;
    let mut units = 0;
    match (params.action, one) {
        (WorkerAction::Run, Some(name)) => {
            units = cognition.run_now(&name).await.map_err(refused)?;
        }
        (WorkerAction::Retry, Some(name)) => {
            units = cognition.try_again(&name).await.map_err(refused)?;
        }
        (action, _) => {
            let switch = match action {
                WorkerAction::Pause | WorkerAction::Drain => Some(WorkerSwitch::Paused),
                WorkerAction::Force => Some(WorkerSwitch::Running),
                _ => None,
            };
            say(&call, vec![node.clone()], switch, params.reason).await?;
        }
    }
    let wait = params.action == WorkerAction::Drain;
    controlled(&call, &[node], units, wait).await
}

async fn control_memory(
    call: Call,
    params: MemoryControlParams,
) -> Result<WorkersControlled, ApiError> {
    let domains = WorkerDomain::ALL.iter().copied();
    let nodes: Vec<_> = domains.map(ControlNode::Domain).collect();
    let switch = match params.action {
        MemoryAction::Pause | MemoryAction::Drain => Some(WorkerSwitch::Paused),
        MemoryAction::Resume => None,
    };
    say(&call, nodes.clone(), switch, params.reason).await?;
    controlled(&call, &nodes, 0, params.action == MemoryAction::Drain).await
}

/// What a target names; a bare word is a worker.
async fn target(call: &Call, text: &str) -> Result<ControlNode, ApiError> {
    let node = match text.parse::<ControlNode>() {
        Ok(node) => node,
        Err(error) if text.contains('/') => {
            return Err(ApiError::new(ErrorCode::InvalidParams, error.to_string()));
        }
        Err(_) => ControlNode::Worker(text.to_owned()),
    };
    if let ControlNode::Worker(name) = &node {
        call.daemon.cognition.find(name).await.map_err(refused)?;
    }
    Ok(node)
}

/// Puts it on record and in force, all of it or nothing.
async fn say(
    call: &Call,
    nodes: Vec<ControlNode>,
    switch: Option<WorkerSwitch>,
    reason: Option<Text<500>>,
) -> Result<(), ApiError> {
    let reason = reason.as_deref().unwrap_or("asked for");
    let changes = nodes.into_iter().map(|node| SwitchChange {
        node,
        switch,
        reason: reason.to_owned(),
        by: call.principal.name().to_owned(),
    });
    let control = call.daemon.cognition.control();
    let changed = control.change(changes.collect(), call.trace).await;
    changed.map(drop).map_err(|error| match error {
        ControlError::Store(error) => of_store(&error),
        ControlError::Unfinished(error) => ApiError::internal(error.to_string()),
    })
}

async fn controlled(
    call: &Call,
    nodes: &[ControlNode],
    units: u64,
    wait: bool,
) -> Result<WorkersControlled, ApiError> {
    let cognition = &call.daemon.cognition;
    if wait {
        let resting = async {
            for node in nodes {
                cognition.rested(node).await;
            }
        };
        // What is still at hand then is said.
        let _ = tokio::time::timeout(PATIENCE, resting).await;
    }
    let workers = cognition.list().await.map_err(refused)?;
    let is_meant = |worker: &WorkerStatus| {
        nodes.iter().any(|node| match node {
            ControlNode::All => true,
            ControlNode::Worker(name) => name == worker.spec.name,
            ControlNode::Kind(kind) => *kind == worker.spec.kind,
            ControlNode::Domain(domain) => *domain == worker.spec.domain,
        })
    };
    let workers: Vec<_> = workers.into_iter().filter(is_meant).map(line).collect();
    Ok(WorkersControlled {
        at_hand: workers.iter().map(|worker| worker.at_hand).sum(),
        workers,
        units,
    })
}

fn line(status: WorkerStatus) -> WorkerLine {
    let spec = status.spec;
    WorkerLine {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        kind: spec.kind,
        domain: spec.domain,
        trigger: match spec.trigger {
            Trigger::Events { quiet, longest, .. } => WorkerTrigger::Events {
                quiet_ms: millis(quiet),
                longest_ms: millis(longest),
            },
            Trigger::Looks { every } => WorkerTrigger::Looks {
                every_ms: millis(every),
            },
        },
        switch: status.switch,
        because: status.because.as_ref().map(switched),
        at_hand: status.at_hand,
        units: status.units.map(|units| WorkerUnits {
            waiting: units.waiting,
            running: units.running,
            failing: units.failing,
            done: units.done,
            dead: units.dead,
        }),
        done: status.totals.done,
        failed: status.totals.failed,
        failing: status.totals.failing,
        busy_ms: millis(status.totals.busy),
        last: status.last.map(run),
    }
}

fn switched(row: &SwitchRow) -> WorkerSwitched {
    WorkerSwitched {
        node: row.node.to_string(),
        switch: row.switch,
        reason: row.reason.clone(),
        changed_by: row.changed_by.clone(),
        changed_at: row.changed_at,
    }
}

fn run(run: Run) -> WorkerRun {
    WorkerRun {
        began_at: run.began_at,
        took_ms: millis(run.took),
        subject: Some(run.subject).filter(|subject| !subject.is_empty()),
        ended: run.ended.name().to_owned(),
        said: run.said,
    }
}

fn unit(row: UnitRow) -> WorkerUnit {
    let state = match (row.outcome, row.leased_until) {
        (Some(outcome), _) => outcome.name(),
        (None, Some(_)) => "running",
        (None, None) => "waiting",
    };
    WorkerUnit {
        state: state.to_owned(),
        id: row.id,
        subject: row.subject,
        causes: row.causes,
        trace_id: row.cause.trace_id.to_string(),
        queued_at: row.queued_at,
        due_at: row.due_at,
        attempts: row.attempts,
        began_at: row.began_at,
        ended_at: row.ended_at,
        said: row.said.filter(|said| !said.is_empty()),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn refused(error: WorkerError) -> ApiError {
    match error {
        WorkerError::Store(error) => of_store(&error),
        error => ApiError::new(error.code(), error.to_string()),
    }
}
