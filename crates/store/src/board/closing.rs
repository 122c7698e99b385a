//! Closing a task by hand: it is given up, or its work was taken. What follows for
//! its alternatives and for the tasks that wait for it is in the same transaction, so
//! that nobody ever sees one half of it.
//!
//! The graph's lock comes first: dependents may change hands. The timeline comes last:
//! what happened is gathered and recorded once every row has been written.

use missiond_core::machines::Machine;
use missiond_core::{BoardTask, BoardTaskId, BoardTaskStatus, Event, Outcome};

use super::alternatives::{lock_group, member};
use super::{Act, attempts, graph, lock, resource, rows, tasks, updated};
use crate::{StoreError, Tx, leases};

/// Nobody works on it any more: the running attempt is cancelled and its token
/// is stale from now on. What waited for it waits for an alternative that may still
/// come to something.
pub async fn cancel(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    reason: &str,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    lock(tx, "graph").await?;
    let group = lock_group(tx, id).await?;
    let living = |other: &&BoardTask| other.id != id && !other.status.is_over();
    let mut events = Vec::new();
    if let Some(heir) = group.iter().filter(living).min_by_key(|other| other.number) {
        events = graph::move_dependents(tx, id, heir.id, act).await?;
    }
    let task = give_up(tx, member(&group, id)?.clone(), reason, act).await?;
    events.push(updated(&task));
    act.record(tx, events).await?;
    Ok(task)
}

/// A person has taken the work: the task is done, whatever became of its
/// attempts. How it was done stays as a note. Its alternatives are given up, and what
/// waited for one of them has waited for this.
pub async fn complete(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    author: &str,
    how: &str,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    lock(tx, "graph").await?;
    let group = lock_group(tx, id).await?;
    let mut task = member(&group, id)?.clone();
    if task.status == BoardTaskStatus::Running {
        return Err(StoreError::conflict(format!(
            "{} is running: its attempt must end first",
            task.number
        )));
    }
    task.status = task.status.transition(BoardTaskStatus::Done)?;
    let Kept {
        given_up,
        mut events,
    } = keep(tx, &task, group, act).await?;
    task.blocked = None;
    task.not_before = None;
    task.updated_at = act.now;
    task.finished_at = Some(act.now);
    rows::store_status(tx, &task).await?;
    graph::release_dependents(tx, id).await?;
    if !given_up.is_empty() {
        events.push(Event::BoardAlternativeKept {
            task: id,
            instead_of: given_up,
        });
    }
    tasks::add_note(tx, id, author, how, act).await?;
    act.record(tx, events).await?;
    Ok(task)
}

/// What follows for the others of a group when one is kept.
struct Kept {
    given_up: Vec<BoardTaskId>,
    events: Vec<Event>,
}

/// Of the group, this one is kept, before it is done: the others are given up, and
/// their dependents wait for it.
async fn keep(
    tx: &mut Tx<'_>,
    kept: &BoardTask,
    group: Vec<BoardTask>,
    act: &Act,
) -> Result<Kept, StoreError> {
    let reason = format!("{} was kept instead", kept.number);
    let mut others = group;
    // What was done before has let its dependents go.
    others.retain(|other| other.id != kept.id && other.status != BoardTaskStatus::Done);
    let (mut given_up, mut events) = (Vec::new(), Vec::new());
    for other in &others {
        events.extend(graph::move_dependents(tx, other.id, kept.id, act).await?);
    }
    for other in others.into_iter().filter(|other| !other.status.is_over()) {
        let other = give_up(tx, other, &reason, act).await?;
        given_up.push(other.id);
        events.push(updated(&other));
    }
    Ok(Kept { given_up, events })
}

/// Gives up a task whose row is locked; to be recorded by the caller.
async fn give_up(
    tx: &mut Tx<'_>,
    mut task: BoardTask,
    reason: &str,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    let was_running = task.status == BoardTaskStatus::Running;
    task.status = task.status.transition(BoardTaskStatus::Failed)?;
    task.blocked = Some(reason.to_owned());
    task.not_before = None;
    task.updated_at = act.now;
    task.finished_at = Some(act.now);
    rows::store_status(tx, &task).await?;
    if was_running {
        attempts::end_running(tx, task.id, Outcome::Cancelled, Some(reason), act).await?;
        leases::revoke(tx, &resource(task.id), act.now).await?;
    }
    Ok(task)
}
