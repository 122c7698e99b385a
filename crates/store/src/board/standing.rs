//! Tasks as the overview wants them: those at work or waiting for a person, those
//! finished lately, and the last attempt of each, all of them at once.

use std::collections::BTreeMap;

use missiond_core::{Attempt, AttemptId, BoardTask, BoardTaskId, ExecutionId, Timestamp};

use super::attempt_rows::{self, ATTEMPT};
use super::rows::{self, TASK, placeholders};
use crate::overview::counted;
use crate::{StoreError, Tx, Value};

/// So many parameters fit into any statement.
const AT_ONCE: usize = 500;

/// What the last round of checks of an attempt said; nothing passed and nothing failed
/// where the task has no checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastRound {
    pub attempt: AttemptId,
    pub round: u32,
    pub passed: u32,
    pub failed: u32,
}

/// Tasks that could be worked on, and those that wait for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTasks {
    pub ready: u64,
    pub waiting: u64,
}

/// Tasks that are worked on, wait to be looked at, cannot go on, or are tried again later.
pub async fn standing(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<BoardTask>, StoreError> {
    let sql = format!(
        "SELECT {TASK} FROM board_tasks WHERE status IN ('running', 'review', 'blocked') \
         OR (status = 'open' AND not_before > $1) ORDER BY updated_at, number"
    );
    rows::tasks(&tx.query(&sql, &[now.into()]).await?)
}

/// Tasks of a repository, or all, that were done or given up after a moment: the
/// newest, and how many there are.
pub async fn finished_after(
    tx: &mut Tx<'_>,
    moment: Timestamp,
    repository: Option<&str>,
    limit: u32,
) -> Result<(Vec<BoardTask>, u64), StoreError> {
    let mut params: Vec<Value> = vec![moment.into()];
    let of = repository.map_or("", |repository| {
        params.push(repository.into());
        "AND repository = $2"
    });
    let rest =
        format!("FROM board_tasks WHERE finished_at > $1 {of} AND status IN ('done', 'failed')");
    let count = format!("SELECT count(*) {rest}");
    let count = tx.query_one(&count, &params).await?;
    params.push(limit.into());
    let sql = format!(
        "SELECT {TASK} {rest} ORDER BY finished_at DESC, number DESC LIMIT ${}",
        params.len()
    );
    let found = rows::tasks(&tx.query(&sql, &params).await?)?;
    Ok((found, counted(count.as_ref(), 0)?))
}

/// How many tasks are open, by whether they could be claimed.
pub async fn open_tasks(tx: &mut Tx<'_>, now: Timestamp) -> Result<OpenTasks, StoreError> {
    let ready = super::count_ready(tx, now).await?;
    let sql = "SELECT count(*) FROM board_tasks WHERE status = 'open'";
    let open = counted(tx.query_one(sql, &[]).await?.as_ref(), 0)?;
    Ok(OpenTasks {
        ready,
        waiting: open.saturating_sub(ready),
    })
}

/// These tasks, in no order.
pub async fn tasks_with(
    tx: &mut Tx<'_>,
    ids: &[BoardTaskId],
) -> Result<Vec<BoardTask>, StoreError> {
    let mut found = Vec::with_capacity(ids.len());
    for some in ids.chunks(AT_ONCE) {
        let sql = format!(
            "SELECT {TASK} FROM board_tasks WHERE id IN ({})",
            placeholders(1, some.len())
        );
        let params: Vec<Value> = some.iter().map(|id| Value::written(*id)).collect();
        found.extend(rows::tasks(&tx.query(&sql, &params).await?)?);
    }
    Ok(found)
}

/// Those of these tasks that were tried, each with its last attempt.
pub async fn with_last_attempts(
    tx: &mut Tx<'_>,
    tasks: Vec<BoardTask>,
) -> Result<Vec<(BoardTask, Attempt)>, StoreError> {
    let ids: Vec<_> = tasks.iter().map(|task| task.id).collect();
    let last = last_attempts(tx, &ids).await?;
    let mut last: BTreeMap<_, _> = last.into_iter().map(|one| (one.task, one)).collect();
    let with_last = |task: BoardTask| Some((last.remove(&task.id)?, task));
    let found = tasks.into_iter().filter_map(with_last);
    Ok(found.map(|(attempt, task)| (task, attempt)).collect())
}

/// The task each of these runs was last started for; a run of none is not there.
pub async fn tasks_of_executions(
    tx: &mut Tx<'_>,
    executions: &[ExecutionId],
) -> Result<BTreeMap<ExecutionId, BoardTask>, StoreError> {
    let mut of: BTreeMap<ExecutionId, BoardTaskId> = BTreeMap::new();
    for some in executions.chunks(AT_ONCE) {
        let sql = format!(
            "SELECT execution, task FROM board_attempts WHERE execution IN ({}) \
             ORDER BY started_at, id",
            placeholders(1, some.len())
        );
        let params: Vec<Value> = some.iter().map(|id| Value::written(*id)).collect();
        for row in tx.query(&sql, &params).await? {
            of.insert(row.parse(0)?, row.parse(1)?);
        }
    }
    let mut ids: Vec<_> = of.values().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let tasks = tasks_with(tx, &ids).await?;
    let tasks: BTreeMap<_, _> = tasks.into_iter().map(|task| (task.id, task)).collect();
    let with_task =
        |(run, task): (ExecutionId, BoardTaskId)| Some((run, tasks.get(&task)?.clone()));
    Ok(of.into_iter().filter_map(with_task).collect())
}

/// The last attempt of each of these tasks.
pub async fn last_attempts(
    tx: &mut Tx<'_>,
    tasks: &[BoardTaskId],
) -> Result<Vec<Attempt>, StoreError> {
    let mut found = Vec::with_capacity(tasks.len());
    for some in tasks.chunks(AT_ONCE) {
        let sql = format!(
            "SELECT {ATTEMPT} FROM board_attempts WHERE task IN ({}) AND number = \
             (SELECT max(number) FROM board_attempts other \
              WHERE other.task = board_attempts.task)",
            placeholders(1, some.len())
        );
        let params: Vec<Value> = some.iter().map(|id| Value::written(*id)).collect();
        found.extend(attempt_rows::attempts(&tx.query(&sql, &params).await?)?);
    }
    Ok(found)
}

/// What the last round of checks of each of these attempts said.
pub async fn last_rounds(
    tx: &mut Tx<'_>,
    attempts: &[AttemptId],
) -> Result<Vec<LastRound>, StoreError> {
    let mut found = Vec::with_capacity(attempts.len());
    for some in attempts.chunks(AT_ONCE) {
        let sql = format!(
            "SELECT attempt, round, \
                 cast(sum(CASE WHEN exit_code IS NULL THEN 0 ELSE passed END) AS bigint), \
                 cast(sum(1 - passed) AS bigint) FROM board_evidence \
             WHERE attempt IN ({}) AND round = (SELECT check_rounds FROM board_attempts \
                 WHERE board_attempts.id = board_evidence.attempt) \
             GROUP BY attempt, round",
            placeholders(1, some.len())
        );
        let params: Vec<Value> = some.iter().map(|id| Value::written(*id)).collect();
        for row in tx.query(&sql, &params).await? {
            found.push(LastRound {
                attempt: row.parse(0)?,
                round: row.get(1)?,
                passed: row.get(2)?,
                failed: row.get(3)?,
            });
        }
    }
    Ok(found)
}
