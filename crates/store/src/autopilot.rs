//! What the autopilot must remember beside the board: whether it is switched
//! on, which tasks wait for a vendor's limit, and which attempts conflicted.

use missiond_core::{AttemptId, BoardTaskId, CliEngine, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// How much it does by itself, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeRow {
    pub mode: String,
    pub reason: String,
    pub changed_by: String,
    /// Never, when nobody has said anything yet.
    pub changed_at: Option<Timestamp>,
}

pub async fn mode(tx: &mut Tx<'_>) -> Result<ModeRow, StoreError> {
    let sql = "SELECT mode, reason, changed_by, changed_at FROM autopilot WHERE id = 1";
    let row = tx.query_one(sql, &[]).await?;
    let row = row.ok_or_else(|| StoreError::internal("the mode of the autopilot is missing"))?;
    let changed_at: i64 = row.get(3)?;
    Ok(ModeRow {
        mode: row.get(0)?,
        reason: row.get(1)?,
        changed_by: row.get(2)?,
        changed_at: (changed_at != 0).then(|| Timestamp::from_micros(changed_at)),
    })
}

/// Whether this changed anything.
pub async fn set_mode(
    tx: &mut Tx<'_>,
    mode: &str,
    reason: &str,
    by: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let sql = "UPDATE autopilot SET mode = $1, reason = $2, changed_by = $3, changed_at = $4 \
         WHERE id = 1 AND (mode <> $1 OR reason <> $2)";
    let params = [mode.into(), Value::masked(reason), by.into(), now.into()];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// A task that waits for a vendor's limit to pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedRow {
    pub task: BoardTaskId,
    pub engine: CliEngine,
    pub until: Timestamp,
    /// How often it was parked before this time.
    pub resumes: u32,
    pub reason: String,
    pub parked_at: Timestamp,
}

/// Parks a task; one that was parked before has gone on once more since.
pub async fn park(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
    engine: &CliEngine,
    until: Timestamp,
    reason: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO parked_tasks (task, engine, until, resumes, reason, parked_at) \
         VALUES ($1, $2, $3, 0, $4, $5) \
         ON CONFLICT (task) DO UPDATE SET engine = excluded.engine, until = excluded.until, \
             resumes = parked_tasks.resumes + 1, reason = excluded.reason, \
             parked_at = excluded.parked_at";
    let params = [
        Value::written(task),
        engine.name().into(),
        until.into(),
        Value::masked(reason),
        now.into(),
    ];
    tx.execute(sql, &params).await.map(drop)
}

/// The task needs no parking any more: it is done, or a person has looked.
pub async fn unpark(tx: &mut Tx<'_>, task: BoardTaskId) -> Result<(), StoreError> {
    let sql = "DELETE FROM parked_tasks WHERE task = $1";
    tx.execute(sql, &[Value::written(task)]).await.map(drop)
}

/// Every task that was parked and is not done, the first to go on first.
pub async fn parked(tx: &mut Tx<'_>) -> Result<Vec<ParkedRow>, StoreError> {
    let sql = "SELECT task, engine, until, resumes, reason, parked_at FROM parked_tasks \
         ORDER BY until, task";
    tx.query(sql, &[]).await?.iter().map(parked_row).collect()
}

fn parked_row(row: &Row) -> Result<ParkedRow, StoreError> {
    Ok(ParkedRow {
        task: row.parse(0)?,
        engine: row.parse(1)?,
        until: row.get(2)?,
        resumes: row.get(3)?,
        reason: row.get(4)?,
        parked_at: row.get(5)?,
    })
}

/// How often the work of an attempt conflicted with what others did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conflicts {
    pub times: u32,
    /// The round of checks the last conflict came after.
    pub round: u32,
    /// The files of the last one, one a line.
    pub files: String,
}

/// Notes a conflict after a round, once for each round.
pub async fn record_conflict(
    tx: &mut Tx<'_>,
    attempt: AttemptId,
    round: u32,
    files: &str,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO attempt_conflicts (attempt, conflicts, round, files) \
         VALUES ($1, 1, $2, $3) \
         ON CONFLICT (attempt) DO UPDATE SET conflicts = attempt_conflicts.conflicts + 1, \
             round = excluded.round, files = excluded.files \
         WHERE attempt_conflicts.round < excluded.round";
    let params = [Value::written(attempt), round.into(), files.into()];
    tx.execute(sql, &params).await.map(drop)
}

pub async fn conflicts(
    tx: &mut Tx<'_>,
    attempt: AttemptId,
) -> Result<Option<Conflicts>, StoreError> {
    let sql = "SELECT conflicts, round, files FROM attempt_conflicts WHERE attempt = $1";
    let row = tx.query_one(sql, &[Value::written(attempt)]).await?;
    row.map(|row| {
        Ok(Conflicts {
            times: row.get(0)?,
            round: row.get(1)?,
            files: row.get(2)?,
        })
    })
    .transpose()
}
