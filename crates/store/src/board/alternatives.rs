//! Several tasks for the same work, each with an engine of its own: they are
//! alternatives, and a person keeps one of them (`closing.rs`).
//!
//! The first is the head and the others name it; which task is the head matters to
//! nobody else. Each is claimed, tried, checked and reviewed for itself. None of them
//! is merged without a person, or the first to end would win.

use std::collections::{BTreeSet, HashMap, HashSet};

use missiond_core::{
    Alternative, BoardTask, BoardTaskId, BoardTaskStatus, Isolation, MOST_ALTERNATIVES, ReviewGate,
    TaskDraft, Timestamp,
};

use super::rows::{self, TASK, placeholders};
use super::{Act, NewBoardTask, graph, lock, tasks, updated};
use crate::{StoreError, Tx, Value};

/// So many parameters fit into any statement.
const AT_ONCE: usize = 500;

/// All alternatives of a task with it, by number; only the task when it has none.
pub async fn alternatives(tx: &mut Tx<'_>, task: &BoardTask) -> Result<Vec<BoardTask>, StoreError> {
    let sql = format!(
        "SELECT {TASK} FROM board_tasks WHERE id = $1 OR alternative_of = $1 ORDER BY number"
    );
    rows::tasks(&tx.query(&sql, &[Value::written(task.group())]).await?)
}

/// How many alternatives there are of each of these tasks, with it; those that have
/// none are left out.
pub async fn alternative_counts(
    tx: &mut Tx<'_>,
    tasks: &[BoardTask],
) -> Result<HashMap<BoardTaskId, u32>, StoreError> {
    let groups: BTreeSet<_> = tasks.iter().map(BoardTask::group).collect();
    let groups: Vec<_> = groups.into_iter().collect();
    let mut of_groups: HashMap<BoardTaskId, u32> = HashMap::new();
    for some in groups.chunks(AT_ONCE) {
        let sql = format!(
            "SELECT alternative_of, count(*) FROM board_tasks WHERE alternative_of IN ({}) \
             GROUP BY alternative_of",
            placeholders(1, some.len())
        );
        let params: Vec<_> = some.iter().map(Value::written).collect();
        for row in tx.query(&sql, &params).await? {
            let further: u32 = row.get(1)?;
            of_groups.insert(row.parse(0)?, further + 1);
        }
    }
    let of_task = |task: &BoardTask| Some((task.id, *of_groups.get(&task.group())?));
    Ok(tasks.iter().filter_map(of_task).collect())
}

/// Of these tasks, those that were given up when another alternative was kept.
pub async fn not_kept(
    tx: &mut Tx<'_>,
    tasks: &[BoardTask],
) -> Result<HashSet<BoardTaskId>, StoreError> {
    let given_up = || {
        let failed = |task: &&BoardTask| task.status == BoardTaskStatus::Failed;
        tasks.iter().filter(failed)
    };
    let groups: BTreeSet<_> = given_up().map(BoardTask::group).collect();
    let groups: Vec<_> = groups.into_iter().collect();
    let mut kept_at: HashMap<BoardTaskId, Option<Timestamp>> = HashMap::new();
    for some in groups.chunks(AT_ONCE) {
        let of = placeholders(1, some.len());
        let sql = format!(
            "SELECT COALESCE(alternative_of, id), finished_at FROM board_tasks \
             WHERE status = 'done' AND (id IN ({of}) OR alternative_of IN ({of}))"
        );
        let params: Vec<_> = some.iter().map(Value::written).collect();
        for row in tx.query(&sql, &params).await? {
            kept_at.insert(row.parse(0)?, row.get(1)?);
        }
    }
    // What failed before was not given up for it.
    let lost = given_up().filter(|task| {
        let kept_at = kept_at.get(&task.group());
        kept_at.is_some_and(|kept_at| task.finished_at >= *kept_at)
    });
    Ok(lost.map(|task| task.id).collect())
}

/// Has one more engine try a task that is not worked on and has not ended.
pub async fn add_alternative(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    alternative: Alternative,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    lock(tx, "graph").await?;
    let group = lock_group(tx, id).await?;
    let task = member(&group, id)?.clone();
    refuse_alternative(&task, group.len())?;
    let mut events = Vec::new();
    for mut other in group.into_iter().filter(|other| !other.status.is_over()) {
        if other.review != ReviewGate::AfterApproval {
            other.review = ReviewGate::AfterApproval;
            other.updated_at = act.now;
            rows::store(tx, &other).await?;
            events.push(updated(&other));
        }
    }
    let draft = TaskDraft {
        // Wanted as soon as the one it is tried beside.
        rank: Some(task.rank),
        review: Some(ReviewGate::AfterApproval),
        ..alternative.of(&task.draft())
    };
    let depends_on = graph::dependencies(tx, id).await?;
    let new = NewBoardTask {
        parent: task.parent,
        alternative_of: Some(task.group()),
        depends_on: depends_on.iter().map(|on| on.id).collect(),
        ..NewBoardTask::open(draft)
    };
    let added = tasks::add(tx, new, act).await?;
    act.record(tx, events).await?;
    Ok(added)
}

fn refuse_alternative(task: &BoardTask, there_are: usize) -> Result<(), StoreError> {
    let (number, status) = (task.number, task.status);
    let why = match status {
        BoardTaskStatus::Running => {
            format!(
                "{number} is being worked on: another engine may try it when its attempt has ended"
            )
        }
        BoardTaskStatus::Done | BoardTaskStatus::Failed => {
            format!("{number} is {status}: only what has not ended is tried by another engine")
        }
        _ if task.isolation != Isolation::Worktree => format!(
            "{number} works in no worktree of its own: two engines would write into the same files"
        ),
        _ if there_are >= MOST_ALTERNATIVES => {
            format!("{number} is tried by {there_are} engines already, which is the most")
        }
        _ => return Ok(()),
    };
    Err(StoreError::conflict(why))
}

/// Refuses an edit after which an alternative would no longer wait for a person, who
/// keeps one of several.
pub(super) async fn keep_reviewed(
    tx: &mut Tx<'_>,
    before: &BoardTask,
    after: &BoardTask,
) -> Result<(), StoreError> {
    let waits = |task: &BoardTask| {
        task.isolation == Isolation::Worktree && task.review == ReviewGate::AfterApproval
    };
    if waits(after) || !waits(before) {
        return Ok(());
    }
    let several = alternative_counts(tx, std::slice::from_ref(before)).await?;
    match several.get(&before.id) {
        Some(count) => Err(StoreError::conflict(format!(
            "{} is one of {count} alternatives: each works in its own worktree and waits for a \
             person, who keeps one of them",
            before.number
        ))),
        None => Ok(()),
    }
}

/// The task and its alternatives, their rows locked in one order.
pub(super) async fn lock_group(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
) -> Result<Vec<BoardTask>, StoreError> {
    let task = tasks::get(tx, id)
        .await?
        .ok_or_else(|| StoreError::not_found("task", id))?;
    let sql = format!(
        "SELECT {TASK} FROM board_tasks WHERE id = $1 OR alternative_of = $1 ORDER BY id{}",
        tx.for_update()
    );
    rows::tasks(&tx.query(&sql, &[Value::written(task.group())]).await?)
}

/// The one that is meant.
pub(super) fn member(group: &[BoardTask], id: BoardTaskId) -> Result<&BoardTask, StoreError> {
    let found = group.iter().find(|task| task.id == id);
    found.ok_or_else(|| StoreError::not_found("task", id))
}
