//! Putting tasks on the board, changing them and finding them again.

use std::collections::HashMap;

use missiond_core::machines::Machine;
use missiond_core::{
    BoardTask, BoardTaskId, BoardTaskStatus, EngineeringPhase, Event, Note, TaskDraft, TaskNumber,
    TaskRef,
};

use super::rows::{self, TASK, placeholders};
use super::{Act, ImportedStatus, NewBoardTask, alternatives, attempts, graph, lock, updated};
use crate::{StoreError, Tx, Value};

/// Which tasks to list, the most wanted first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFilter {
    /// Any of these; empty means any.
    pub status: Vec<BoardTaskStatus>,
    pub label: Option<String>,
    pub parent: Option<BoardTaskId>,
    /// Part of the title or the description, whatever the case.
    pub search: Option<String>,
    pub offset: u32,
    pub limit: u32,
}

/// What is to change about a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskEdit {
    /// What it has replaces what the task had.
    pub set: TaskDraft,
    pub clear: Vec<Clearable>,
}

impl TaskEdit {
    /// What a task is after it, that was `below`.
    #[must_use]
    pub fn over(self, mut below: TaskDraft) -> TaskDraft {
        for field in self.clear {
            match field {
                Clearable::Due => below.due = None,
                Clearable::Engine => below.engine = None,
                Clearable::Permission => below.permission = None,
                Clearable::Model => below.model = None,
                Clearable::Control => below.control = None,
                Clearable::Repository => below.repository = None,
                Clearable::Base => below.base = None,
                Clearable::Budget => below.budget = None,
            }
        }
        self.set.over(below)
    }
}

/// What a task may also be without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clearable {
    Due,
    Engine,
    Permission,
    Model,
    Control,
    Repository,
    Base,
    Budget,
}

pub async fn add(tx: &mut Tx<'_>, new: NewBoardTask, act: &Act) -> Result<BoardTask, StoreError> {
    let added = add_graph(tx, vec![new], &[], act).await?;
    added
        .into_iter()
        .next()
        .ok_or_else(|| StoreError::internal("one task was added and none came back"))
}

/// Adds tasks that may depend on each other, all of them or none. `also` are
/// edges from tasks that were there before to new ones.
pub async fn add_graph(
    tx: &mut Tx<'_>,
    new: Vec<NewBoardTask>,
    also: &[(BoardTaskId, BoardTaskId)],
    act: &Act,
) -> Result<Vec<BoardTask>, StoreError> {
    lock(tx, "graph").await?;
    let count = i64::try_from(new.len()).unwrap_or(i64::MAX);
    let sql = "UPDATE board_head SET value = value + $1 WHERE name = 'number' RETURNING value";
    let last: i64 = match tx.query_one(sql, &[count.into()]).await? {
        Some(row) => row.get(0)?,
        None => return Err(StoreError::internal("board_head has no number")),
    };
    let mut tasks = Vec::with_capacity(new.len());
    let mut edges = also.to_vec();
    let mut names = HashMap::with_capacity(new.len());
    for (place, new) in new.into_iter().enumerate() {
        let number = TaskNumber(last - count + 1 + i64::try_from(place).unwrap_or(0));
        let title = new.draft.title.clone().unwrap_or_default();
        names.insert(new.id, format!("“{title}”"));
        edges.extend(new.depends_on.iter().map(|on| (new.id, *on)));
        tasks.push(insert(tx, new, number, act).await?);
    }
    // Now that every row is there that a part may name.
    let named = |task: &&BoardTask| task.parent.is_some() || task.alternative_of.is_some();
    for task in tasks.iter().filter(named) {
        let sql = "UPDATE board_tasks SET parent = $2, alternative_of = $3 WHERE id = $1";
        let [parent, head] =
            [task.parent, task.alternative_of].map(|named| named.map(|id| id.to_string()).into());
        tx.execute(sql, &[Value::written(task.id), parent, head])
            .await?;
    }
    graph::connect(tx, &edges, &names).await?;
    let created = |task: &BoardTask| Event::BoardTaskCreated {
        task: task.id,
        title: task.title.clone(),
    };
    act.record(tx, tasks.iter().map(created).collect()).await?;
    Ok(tasks)
}

async fn insert(
    tx: &mut Tx<'_>,
    new: NewBoardTask,
    number: TaskNumber,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    let mut task = BoardTask::drafted(new.id, number, new.draft, act.now).map_err(|error| {
        StoreError::InvalidValue {
            detail: error.to_string(),
        }
    })?;
    let (parent, alternative_of) = (new.parent, new.alternative_of);
    let history = new.history;
    task.created_at = history.created_at.unwrap_or(act.now);
    if let Some(brought) = history.status {
        task.status = brought.status();
        task.finished_at = match brought {
            ImportedStatus::Blocked { .. } => None,
            _ => Some(history.finished_at.unwrap_or(act.now)),
        };
        task.blocked = match brought {
            ImportedStatus::Done => None,
            ImportedStatus::Failed { reason } | ImportedStatus::Blocked { reason } => Some(reason),
        };
        // Nobody here cancelled it.
        if task.status == BoardTaskStatus::Failed {
            task.tries = task.max_attempts;
        }
    }
    let mut values = rows::task_values(&task)?;
    values.push(0_i64.into());
    (task.parent, task.alternative_of) = (parent, alternative_of);
    let sql = format!(
        "INSERT INTO board_tasks ({TASK}, open_dependencies) VALUES ({})",
        placeholders(1, values.len())
    );
    tx.execute(&sql, &values).await?;
    for (index, (author, text)) in history.notes.iter().enumerate() {
        let number = i64::try_from(index).unwrap_or(0) + 1;
        insert_note(tx, task.id, number, author, text, act).await?;
    }
    Ok(task)
}

/// Changes what a task says. Where and on what a running one works stays.
pub async fn edit(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    edit: TaskEdit,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    let before = rows::get_for_update(tx, id).await?;
    if before.status == BoardTaskStatus::Done {
        return Err(StoreError::conflict(format!(
            "{} is done: what turns out wrong is a new task",
            before.number
        )));
    }
    let draft = edit.over(before.draft());
    let mut after = BoardTask::drafted(id, before.number, draft, act.now).map_err(|error| {
        StoreError::InvalidValue {
            detail: error.to_string(),
        }
    })?;
    let place = |task: &BoardTask| {
        (
            task.repository.clone(),
            task.isolation,
            task.base.clone(),
            task.touches.clone(),
        )
    };
    if before.status == BoardTaskStatus::Running && place(&before) != place(&after) {
        return Err(StoreError::conflict(format!(
            "{} is running: its repository, isolation, base and touches stay as they are until \
             its attempt has ended",
            before.number
        )));
    }
    after.status = before.status;
    after.phase = if after.phases.contains(&before.phase) {
        before.phase
    } else {
        after.phase
    };
    after.parent = before.parent;
    after.alternative_of = before.alternative_of;
    after.tries = match before.status {
        // More attempts than it had do not make it one that was cancelled.
        BoardTaskStatus::Failed if !before.was_cancelled() => before.tries.max(after.max_attempts),
        _ => before.tries,
    };
    after.not_before = before.not_before;
    after.blocked.clone_from(&before.blocked);
    after.created_at = before.created_at;
    after.finished_at = before.finished_at;
    after.pull_request.clone_from(&before.pull_request);
    alternatives::keep_reviewed(tx, &before, &after).await?;
    rows::store(tx, &after).await?;
    act.record(tx, vec![updated(&after)]).await?;
    Ok(after)
}

pub async fn get(tx: &mut Tx<'_>, id: BoardTaskId) -> Result<Option<BoardTask>, StoreError> {
    let sql = format!("SELECT {TASK} FROM board_tasks WHERE id = $1");
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.as_ref().map(rows::task).transpose()
}

pub async fn by_number(
    tx: &mut Tx<'_>,
    number: TaskNumber,
) -> Result<Option<BoardTask>, StoreError> {
    let sql = format!("SELECT {TASK} FROM board_tasks WHERE number = $1");
    let row = tx.query_one(&sql, &[number.0.into()]).await?;
    row.as_ref().map(rows::task).transpose()
}

/// The task somebody named.
pub async fn find(tx: &mut Tx<'_>, named: TaskRef) -> Result<BoardTask, StoreError> {
    let found = match named {
        TaskRef::Number(number) => by_number(tx, number).await?,
        TaskRef::Id(id) => get(tx, id).await?,
    };
    found.ok_or_else(|| StoreError::not_found("task", named))
}

pub async fn list(tx: &mut Tx<'_>, filter: &TaskFilter) -> Result<Vec<BoardTask>, StoreError> {
    let (conditions, mut params) = conditions(filter);
    let from = params.len() + 1;
    params.push(filter.limit.into());
    params.push(filter.offset.into());
    let sql = format!(
        "SELECT {TASK} FROM board_tasks{conditions} ORDER BY priority, rank, number \
         LIMIT ${from} OFFSET ${}",
        from + 1
    );
    rows::tasks(&tx.query(&sql, &params).await?)
}

/// How many tasks the filter lets through, whatever its limit.
pub async fn count(tx: &mut Tx<'_>, filter: &TaskFilter) -> Result<u64, StoreError> {
    let (conditions, params) = conditions(filter);
    let sql = format!("SELECT count(*) FROM board_tasks{conditions}");
    let row = tx.query_one(&sql, &params).await?;
    let count: i64 = row.map_or(Ok(0), |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

fn conditions(filter: &TaskFilter) -> (String, Vec<Value>) {
    let mut params: Vec<Value> = Vec::new();
    let mut parts = Vec::new();
    if !filter.status.is_empty() {
        parts.push(format!(
            "status IN ({})",
            placeholders(1, filter.status.len())
        ));
        params.extend(filter.status.iter().map(|status| status.as_str().into()));
    }
    if let Some(label) = &filter.label {
        // As it stands in the JSON list, with its quotes.
        let quoted = serde_json::to_string(label).unwrap_or_default();
        params.push(format!("%{}%", escaped(&quoted)).into());
        parts.push(format!("labels LIKE ${} ESCAPE '!'", params.len()));
    }
    if let Some(parent) = filter.parent {
        params.push(Value::written(parent));
        parts.push(format!("parent = ${}", params.len()));
    }
    if let Some(search) = &filter.search {
        params.push(format!("%{}%", escaped(&search.to_lowercase())).into());
        let place = params.len();
        parts.push(format!(
            "(lower(title) LIKE ${place} ESCAPE '!' OR lower(description) LIKE ${place} ESCAPE '!')"
        ));
    }
    if parts.is_empty() {
        (String::new(), params)
    } else {
        (format!(" WHERE {}", parts.join(" AND ")), params)
    }
}

fn escaped(text: &str) -> String {
    text.replace('!', "!!")
        .replace('%', "!%")
        .replace('_', "!_")
}

/// Tasks in the order of their numbers, those after `after`.
pub async fn export_page(
    tx: &mut Tx<'_>,
    after: TaskNumber,
    limit: u32,
) -> Result<Vec<BoardTask>, StoreError> {
    let sql = format!("SELECT {TASK} FROM board_tasks WHERE number > $1 ORDER BY number LIMIT $2");
    let found = tx.query(&sql, &[after.0.into(), limit.into()]).await?;
    rows::tasks(&found)
}

pub async fn children(tx: &mut Tx<'_>, id: BoardTaskId) -> Result<Vec<BoardTask>, StoreError> {
    let sql = format!("SELECT {TASK} FROM board_tasks WHERE parent = $1 ORDER BY number");
    rows::tasks(&tx.query(&sql, &[Value::written(id)]).await?)
}

pub async fn add_note(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    author: &str,
    text: &str,
    act: &Act,
) -> Result<Note, StoreError> {
    let task = rows::get_for_update(tx, id).await?;
    let sql = "SELECT count(*) FROM board_notes WHERE task = $1";
    let before: i64 = match tx.query_one(sql, &[Value::written(id)]).await? {
        Some(row) => row.get(0)?,
        None => 0,
    };
    insert_note(tx, id, before + 1, author, text, act).await?;
    act.record(tx, vec![updated(&task)]).await?;
    Ok(Note {
        task: id,
        author: author.to_owned(),
        text: text.to_owned(),
        at: act.now,
    })
}

async fn insert_note(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    number: i64,
    author: &str,
    text: &str,
    act: &Act,
) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO board_notes (task, number, author, body, at) VALUES ($1, $2, $3, $4, $5)";
    let params = [
        Value::written(id),
        number.into(),
        author.into(),
        Value::masked(text),
        act.now.into(),
    ];
    tx.execute(sql, &params).await.map(drop)
}

/// Oldest first.
pub async fn notes(tx: &mut Tx<'_>, id: BoardTaskId) -> Result<Vec<Note>, StoreError> {
    let sql = "SELECT task, author, body, at FROM board_notes WHERE task = $1 ORDER BY number";
    let found = tx.query(sql, &[Value::written(id)]).await?;
    found.iter().map(rows::note).collect()
}

/// What the next attempt at a task begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RetryFrom {
    /// The worktree and the conversation of the last attempt.
    #[default]
    LastAttempt,
    /// A new worktree from the base; what was tried stays where it is.
    Scratch,
}

/// A task that was blocked, failed or reviewed is open again, with all its attempts
/// before it.
pub async fn retry(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    from: RetryFrom,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    let mut task = rows::get_for_update(tx, id).await?;
    let number = task.number;
    match task.status {
        BoardTaskStatus::Running => {
            return Err(StoreError::conflict(format!(
                "{number} is being worked on: wait until its attempt has ended, or give it up \
                 with `mission task cancel {number}` and retry it then"
            )));
        }
        // One that waits for its backoff may be hurried.
        BoardTaskStatus::Open if attempts::attempts(tx, id).await?.is_empty() => {
            return Err(StoreError::conflict(format!(
                "{number} was not tried yet: it is begun by itself, `mission task ready` says \
                 what it waits for"
            )));
        }
        BoardTaskStatus::Open => {}
        status => task.status = status.transition(BoardTaskStatus::Open)?,
    }
    if from == RetryFrom::Scratch {
        let sql = "UPDATE board_attempts SET abandoned = 1 WHERE task = $1";
        tx.execute(sql, &[Value::written(id)]).await?;
    }
    task.tries = 0;
    task.not_before = None;
    task.blocked = None;
    task.finished_at = None;
    task.updated_at = act.now;
    rows::store_status(tx, &task).await?;
    act.record(tx, vec![updated(&task)]).await?;
    Ok(task)
}

/// A person must look before anybody works on it.
pub async fn block(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    reason: &str,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    let mut task = rows::get_for_update(tx, id).await?;
    if task.status == BoardTaskStatus::Running {
        return Err(StoreError::conflict(format!(
            "{} is running: its attempt must end first",
            task.number
        )));
    }
    task.status = task.status.transition(BoardTaskStatus::Blocked)?;
    task.blocked = Some(reason.to_owned());
    task.updated_at = act.now;
    rows::store_status(tx, &task).await?;
    act.record(tx, vec![updated(&task)]).await?;
    Ok(task)
}

/// Moves a task to a phase its machine allows from where it is.
pub async fn set_phase(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    to: EngineeringPhase,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    let mut task = rows::get_for_update(tx, id).await?;
    let from = task.phase;
    task.phase = from.transition(to)?;
    task.updated_at = act.now;
    rows::store_status(tx, &task).await?;
    let changed = Event::BoardPhaseChanged { task: id, from, to };
    act.record(tx, vec![changed]).await?;
    Ok(task)
}
