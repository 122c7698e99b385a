//! Tasks and notes as rows. Lists are JSON in a text column:
//! nobody asks the database for one of their parts.

use std::path::PathBuf;

use missiond_core::{BoardTask, BoardTaskId, Controller, Note, Permission, Priority, TaskNumber};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Row, StoreError, Tx, Value};

pub(super) const TASK: &str = "id, number, title, description, status, phase, phases, priority, \
     rank, parent, labels, touches, due, engine, args, permission, model, repository, isolation, \
     base, finish, checks, setup, teardown, max_attempts, budget, tries, not_before, blocked, \
     created_at, updated_at, finished_at, review, pull_request, alternative_of, control";

pub(super) fn json<T: Serialize>(value: &T) -> Result<Value, StoreError> {
    let text = serde_json::to_string(value);
    text.map(Value::Text)
        .map_err(|error| StoreError::internal(error.to_string()))
}

fn from_json<T: DeserializeOwned>(row: &Row, index: usize) -> Result<T, StoreError> {
    serde_json::from_str(row.text(index)?)
        .map_err(|error| StoreError::internal(format!("column {index}: {error}")))
}

fn path(path: Option<&PathBuf>) -> Result<Value, StoreError> {
    match path {
        None => Ok(Value::Null),
        Some(path) => path
            .to_str()
            .map(Value::from)
            .ok_or_else(|| StoreError::InvalidValue {
                detail: format!("the path {} is not text", path.display()),
            }),
    }
}

/// The columns of [`TASK`] in their order.
pub(super) fn task_values(task: &BoardTask) -> Result<Vec<Value>, StoreError> {
    Ok(vec![
        Value::written(task.id),
        task.number.0.into(),
        Value::masked(&task.title),
        Value::masked(&task.description),
        task.status.as_str().into(),
        task.phase.as_str().into(),
        json(&task.phases)?,
        task.priority.level().into(),
        task.rank.into(),
        task.parent.map(|parent| parent.to_string()).into(),
        json(&task.labels)?,
        json(&task.touches)?,
        task.due.into(),
        task.engine.as_ref().map(|engine| engine.name()).into(),
        json(&task.args)?,
        task.permission.map(Permission::as_str).into(),
        task.model.as_ref().into(),
        path(task.repository.as_ref())?,
        task.isolation.as_str().into(),
        task.base.as_ref().into(),
        task.finish.as_str().into(),
        json(&task.checks)?,
        json(&task.setup)?,
        json(&task.teardown)?,
        task.max_attempts.into(),
        match &task.budget {
            Some(budget) => json(budget)?,
            None => Value::Null,
        },
        task.tries.into(),
        task.not_before.into(),
        Value::masked_optional(task.blocked.as_deref()),
        task.created_at.into(),
        task.updated_at.into(),
        task.finished_at.into(),
        task.review.as_str().into(),
        match &task.pull_request {
            Some(opened) => json(opened)?,
            None => Value::Null,
        },
        task.alternative_of.map(|head| head.to_string()).into(),
        task.control.map(Controller::name).into(),
    ])
}

pub(super) fn task(row: &Row) -> Result<BoardTask, StoreError> {
    let level: i64 = row.get(7)?;
    Ok(BoardTask {
        id: row.parse(0)?,
        number: TaskNumber(row.get(1)?),
        title: row.get(2)?,
        description: row.get(3)?,
        status: row.parse(4)?,
        phase: row.parse(5)?,
        phases: from_json(row, 6)?,
        priority: Priority::from_level(level)
            .ok_or_else(|| StoreError::internal(format!("{level} is no priority")))?,
        rank: row.get(8)?,
        parent: row.parse_optional(9)?,
        labels: from_json(row, 10)?,
        touches: from_json(row, 11)?,
        due: row.get(12)?,
        engine: row.parse_optional(13)?,
        args: from_json(row, 14)?,
        permission: row.parse_optional(15)?,
        model: row.get(16)?,
        repository: row.get::<Option<String>>(17)?.map(PathBuf::from),
        isolation: row.parse(18)?,
        base: row.get(19)?,
        finish: row.parse(20)?,
        checks: from_json(row, 21)?,
        setup: from_json(row, 22)?,
        teardown: from_json(row, 23)?,
        max_attempts: row.get(24)?,
        budget: match row.get::<Option<String>>(25)? {
            Some(_) => Some(from_json(row, 25)?),
            None => None,
        },
        tries: row.get(26)?,
        not_before: row.get(27)?,
        blocked: row.get(28)?,
        created_at: row.get(29)?,
        updated_at: row.get(30)?,
        finished_at: row.get(31)?,
        review: row.parse(32)?,
        pull_request: match row.get::<Option<String>>(33)? {
            Some(_) => Some(from_json(row, 33)?),
            None => None,
        },
        alternative_of: row.parse_optional(34)?,
        control: row.parse_optional(35)?,
    })
}

pub(super) fn tasks(rows: &[Row]) -> Result<Vec<BoardTask>, StoreError> {
    rows.iter().map(task).collect()
}

pub(super) fn note(row: &Row) -> Result<Note, StoreError> {
    Ok(Note {
        task: row.parse(0)?,
        author: row.get(1)?,
        text: row.get(2)?,
        at: row.get(3)?,
    })
}

/// Writes every column of a task that may change.
pub(super) async fn store(tx: &mut Tx<'_>, task: &BoardTask) -> Result<(), StoreError> {
    let names: Vec<_> = TASK.split(',').map(str::trim).collect();
    let sets: Vec<_> = names
        .iter()
        .enumerate()
        .skip(2)
        .map(|(index, name)| format!("{name} = ${}", index + 1))
        .collect();
    // Every parameter must appear; a number never changes.
    let sql = format!(
        "UPDATE board_tasks SET {} WHERE id = $1 AND number = $2",
        sets.join(", ")
    );
    tx.execute(&sql, &task_values(task)?).await.map(drop)
}

/// Writes where a task stands, and leaves alone what it says: no index but
/// those over its status has to be touched.
pub(super) async fn store_status(tx: &mut Tx<'_>, task: &BoardTask) -> Result<(), StoreError> {
    let sql = "UPDATE board_tasks SET status = $2, phase = $3, tries = $4, not_before = $5, \
         blocked = $6, updated_at = $7, finished_at = $8 WHERE id = $1";
    let params = [
        Value::written(task.id),
        task.status.as_str().into(),
        task.phase.as_str().into(),
        task.tries.into(),
        task.not_before.into(),
        task.blocked.as_ref().into(),
        task.updated_at.into(),
        task.finished_at.into(),
    ];
    tx.execute(sql, &params).await.map(drop)
}

/// A task's row, locked in a write transaction.
pub(super) async fn get_for_update(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
) -> Result<BoardTask, StoreError> {
    let sql = format!(
        "SELECT {TASK} FROM board_tasks WHERE id = $1{}",
        tx.for_update()
    );
    match tx.query_one(&sql, &[Value::written(id)]).await? {
        Some(row) => task(&row),
        None => Err(StoreError::not_found("task", id)),
    }
}

/// `$from, $from+1 …` for so many parameters.
pub(crate) fn placeholders(from: usize, count: usize) -> String {
    let places: Vec<_> = (from..from + count)
        .map(|place| format!("${place}"))
        .collect();
    places.join(", ")
}
