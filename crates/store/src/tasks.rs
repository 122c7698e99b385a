//! Submitted prompts: queued, claimed by one worker at a time under a lease,
//! finished once.
//!
//! Every change of state is a move of [`TaskStatus`] and, once a task runs, is
//! made under the fencing token it was claimed with. A task's row is always
//! locked before its lease's, so that two daemons never wait for each other.

use std::time::Duration;

use missiond_core::machines::Machine;
use missiond_core::{CliEngine, FencingToken, Lease, SlotId, Task, TaskId, TaskStatus, Timestamp};

use crate::leases::{self, Claim};
use crate::{Row, StoreError, Tx, Value, slots};

/// A prompt to be submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    pub id: TaskId,
    pub prompt: String,
    /// The engine it must run on; any when absent.
    pub engine: Option<CliEngine>,
    pub created_at: Timestamp,
}

/// A running task and the right to work on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedTask {
    pub task: Task,
    pub lease: Lease,
}

/// Which tasks to list, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFilter {
    pub status: Option<TaskStatus>,
    pub slot: Option<SlotId>,
    pub limit: u32,
}

impl Default for TaskFilter {
    fn default() -> Self {
        Self {
            status: None,
            slot: None,
            limit: 100,
        }
    }
}

/// The name under which a task is leased.
#[must_use]
pub fn resource(id: TaskId) -> String {
    format!("task/{id}")
}

pub async fn submit(tx: &mut Tx<'_>, new: NewTask) -> Result<Task, StoreError> {
    let sql = "INSERT INTO tasks (id, prompt, engine, status, created_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    let params = [
        Value::written(new.id),
        (&new.prompt).into(),
        new.engine.as_ref().map(CliEngine::name).into(),
        TaskStatus::Queued.as_str().into(),
        new.created_at.into(),
    ];
    if tx.execute(sql, &params).await? == 0 {
        return Err(StoreError::conflict(format!(
            "{} was submitted before",
            new.id
        )));
    }
    Ok(Task {
        id: new.id,
        prompt: new.prompt,
        engine: new.engine,
        status: TaskStatus::Queued,
        slot: None,
        result: None,
        error: None,
        created_at: new.created_at,
        started_at: None,
        finished_at: None,
    })
}

/// Claims up to `limit` queued tasks for a slot, the oldest first: those that
/// ask for the slot's engine and those that take any. Tasks another worker is
/// claiming at this moment are passed over, not waited for.
pub async fn claim_next(
    tx: &mut Tx<'_>,
    holder: &str,
    slot: SlotId,
    now: Timestamp,
    ttl: Duration,
    limit: u32,
) -> Result<Vec<ClaimedTask>, StoreError> {
    let place = slots::get(tx, slot)
        .await?
        .ok_or_else(|| StoreError::not_found("slot", slot))?;
    if place.closed_at.is_some() {
        return Err(StoreError::conflict(format!(
            "the slot {} is closed",
            place.name
        )));
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM tasks \
         WHERE status = 'queued' AND (engine IS NULL OR engine = $1) \
         ORDER BY created_at, id LIMIT $2{}",
        tx.for_update_skip_locked()
    );
    let rows = tx
        .query(&sql, &[place.engine.name().into(), limit.into()])
        .await?;
    let mut claimed = Vec::with_capacity(rows.len());
    for task in decode_all(&rows)? {
        let claim = leases::claim(tx, &resource(task.id), holder, now, ttl).await?;
        let Claim::Granted(lease) = claim else {
            // Only possible when someone leases `task/…` without claiming the task.
            continue;
        };
        claimed.push(ClaimedTask {
            task: start(tx, task, slot, now).await?,
            lease,
        });
    }
    Ok(claimed)
}

/// The work was done: keeps the result and gives the lease back.
pub async fn complete(
    tx: &mut Tx<'_>,
    id: TaskId,
    token: FencingToken,
    result: &str,
    now: Timestamp,
) -> Result<Task, StoreError> {
    let mut task = require_held(tx, id, token, TaskStatus::Completed, now).await?;
    task.result = Some(result.to_owned());
    task.finished_at = Some(now);
    store(tx, &task).await?;
    leases::release(tx, &resource(id), token, now).await?;
    Ok(task)
}

/// The work went wrong for good: keeps the reason and gives the lease back.
pub async fn fail(
    tx: &mut Tx<'_>,
    id: TaskId,
    token: FencingToken,
    error: &str,
    now: Timestamp,
) -> Result<Task, StoreError> {
    let mut task = require_held(tx, id, token, TaskStatus::Failed, now).await?;
    task.error = Some(error.to_owned());
    task.finished_at = Some(now);
    store(tx, &task).await?;
    leases::release(tx, &resource(id), token, now).await?;
    Ok(task)
}

/// The holder will not do it after all: the task waits in the queue again.
pub async fn give_back(
    tx: &mut Tx<'_>,
    id: TaskId,
    token: FencingToken,
    now: Timestamp,
) -> Result<Task, StoreError> {
    let task = require_held(tx, id, token, TaskStatus::Queued, now).await?;
    let task = back_in_queue(tx, task).await?;
    leases::release(tx, &resource(id), token, now).await?;
    Ok(task)
}

/// Fails a task whoever holds it; the holder's token is stale from now on.
pub async fn cancel(
    tx: &mut Tx<'_>,
    id: TaskId,
    reason: &str,
    now: Timestamp,
) -> Result<Task, StoreError> {
    let mut task = locked(tx, id).await?;
    task.status = task.status.transition(TaskStatus::Failed)?;
    task.error = Some(reason.to_owned());
    task.finished_at = Some(now);
    store(tx, &task).await?;
    leases::revoke(tx, &resource(id), now).await?;
    Ok(task)
}

/// Puts running tasks whose lease has ended back into the queue. Each is
/// returned with the lease that ended.
pub async fn requeue_expired(
    tx: &mut Tx<'_>,
    now: Timestamp,
) -> Result<Vec<ClaimedTask>, StoreError> {
    let lock = match tx.for_update_skip_locked() {
        "" => "",
        _ => " FOR UPDATE OF task SKIP LOCKED",
    };
    let columns = COLUMNS.replace(", ", ", task.");
    let sql = format!(
        "SELECT task.{columns} FROM tasks task \
         JOIN leases lease ON lease.resource = 'task/' || task.id \
         WHERE task.status = 'running' \
             AND (lease.released_at IS NOT NULL OR lease.expires_at <= $1) \
         ORDER BY task.id{lock}"
    );
    let rows = tx.query(&sql, &[now.into()]).await?;
    let mut requeued = Vec::with_capacity(rows.len());
    for mut task in decode_all(&rows)? {
        let resource = resource(task.id);
        // The holder may have renewed it before we had the row.
        let Some(kept) = leases::find(tx, &resource)
            .await?
            .filter(|kept| !kept.is_live(now))
        else {
            continue;
        };
        task.status = task.status.transition(TaskStatus::Queued)?;
        let task = back_in_queue(tx, task).await?;
        leases::revoke(tx, &resource, now).await?;
        requeued.push(ClaimedTask {
            task,
            lease: kept.lease,
        });
    }
    Ok(requeued)
}

pub async fn get(tx: &mut Tx<'_>, id: TaskId) -> Result<Option<Task>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE id = $1");
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.as_ref().map(decode).transpose()
}

pub async fn list(tx: &mut Tx<'_>, filter: &TaskFilter) -> Result<Vec<Task>, StoreError> {
    let mut sql = format!("SELECT {COLUMNS} FROM tasks");
    let mut params = Vec::new();
    let conditions = [
        ("status", filter.status.map(Value::written)),
        ("slot", filter.slot.map(Value::written)),
    ];
    for (column, value) in conditions {
        if let Some(value) = value {
            let joint = if params.is_empty() { "WHERE" } else { "AND" };
            params.push(value);
            sql.push_str(&format!(" {joint} {column} = ${}", params.len()));
        }
    }
    params.push(filter.limit.into());
    sql.push_str(&format!(
        " ORDER BY created_at DESC, id DESC LIMIT ${}",
        params.len()
    ));
    decode_all(&tx.query(&sql, &params).await?)
}

const COLUMNS: &str =
    "id, prompt, engine, status, slot, result, error, created_at, started_at, finished_at";

/// The task, already moved to `to` but not stored, if the token allows it. A
/// token that was replaced is stale whatever the task's state; the newest one
/// after its work is an illegal move.
async fn require_held(
    tx: &mut Tx<'_>,
    id: TaskId,
    token: FencingToken,
    to: TaskStatus,
    now: Timestamp,
) -> Result<Task, StoreError> {
    let mut task = locked(tx, id).await?;
    let resource = resource(id);
    let newest = leases::find(tx, &resource).await?;
    let Some(kept) = newest.filter(|kept| kept.lease.token == token) else {
        return Err(leases::stale(&resource, token));
    };
    task.status = task.status.transition(to)?;
    if !kept.is_live(now) {
        return Err(leases::stale(&resource, token));
    }
    Ok(task)
}

async fn locked(tx: &mut Tx<'_>, id: TaskId) -> Result<Task, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tasks WHERE id = $1{}",
        tx.for_update()
    );
    match tx.query_one(&sql, &[Value::written(id)]).await? {
        Some(row) => decode(&row),
        None => Err(StoreError::not_found("task", id)),
    }
}

async fn start(
    tx: &mut Tx<'_>,
    mut task: Task,
    slot: SlotId,
    now: Timestamp,
) -> Result<Task, StoreError> {
    task.status = task.status.transition(TaskStatus::Running)?;
    task.slot = Some(slot);
    task.started_at = Some(now);
    store(tx, &task).await?;
    Ok(task)
}

async fn back_in_queue(tx: &mut Tx<'_>, mut task: Task) -> Result<Task, StoreError> {
    task.slot = None;
    task.started_at = None;
    store(tx, &task).await?;
    Ok(task)
}

async fn store(tx: &mut Tx<'_>, task: &Task) -> Result<(), StoreError> {
    let sql = "UPDATE tasks SET status = $2, slot = $3, result = $4, error = $5, \
         started_at = $6, finished_at = $7 WHERE id = $1";
    let params = [
        Value::written(task.id),
        task.status.as_str().into(),
        task.slot.map(|slot| slot.to_string()).into(),
        task.result.as_ref().into(),
        task.error.as_ref().into(),
        task.started_at.into(),
        task.finished_at.into(),
    ];
    tx.execute(sql, &params).await.map(drop)
}

fn decode_all(rows: &[Row]) -> Result<Vec<Task>, StoreError> {
    rows.iter().map(decode).collect()
}

fn decode(row: &Row) -> Result<Task, StoreError> {
    Ok(Task {
        id: row.parse(0)?,
        prompt: row.get(1)?,
        engine: row.parse_optional(2)?,
        status: row.parse(3)?,
        slot: row.parse_optional(4)?,
        result: row.get(5)?,
        error: row.get(6)?,
        created_at: row.get(7)?,
        started_at: row.get(8)?,
        finished_at: row.get(9)?,
    })
}
