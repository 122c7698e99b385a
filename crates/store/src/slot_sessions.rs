//! Which conversation of which agent CLI was held in a slot for a task, so that
//! the very same one is gone on with after the agent, or the machine, was lost.

use std::path::PathBuf;

use missiond_core::{AttemptId, BoardTaskId, CliEngine, ExecutionId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotSession {
    pub execution: ExecutionId,
    pub slot_name: String,
    pub engine: CliEngine,
    pub task: BoardTaskId,
    pub attempt: AttemptId,
    pub cwd: PathBuf,
    /// The CLI's own name of the conversation, once it is known.
    pub conversation: Option<String>,
    /// Since when the conversation holds something to go on with.
    pub prompted_at: Option<Timestamp>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// Keeps a session; one that is known stays as it is.
pub async fn begin(tx: &mut Tx<'_>, session: &SlotSession) -> Result<(), StoreError> {
    let cwd = session.cwd.to_str().ok_or_else(|| {
        StoreError::conflict(format!("the folder {} is not text", session.cwd.display()))
    })?;
    let sql = format!(
        "INSERT INTO slot_sessions ({COLUMNS}) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING"
    );
    let params = [
        Value::written(session.execution),
        (&session.slot_name).into(),
        session.engine.name().into(),
        Value::written(session.task),
        Value::written(session.attempt),
        cwd.into(),
        session.conversation.as_ref().into(),
        session.prompted_at.into(),
        session.started_at.into(),
        session.ended_at.into(),
    ];
    tx.execute(&sql, &params).await.map(drop)
}

/// The conversation has something in it from now on.
pub async fn prompted(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    conversation: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE slot_sessions SET conversation = $2, \
         prompted_at = coalesce(prompted_at, $3) WHERE execution = $1";
    let params = [Value::written(execution), conversation.into(), now.into()];
    tx.execute(sql, &params).await.map(drop)
}

pub async fn end(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE slot_sessions SET ended_at = $2 WHERE execution = $1 AND ended_at IS NULL";
    let params = [Value::written(execution), now.into()];
    tx.execute(sql, &params).await.map(drop)
}

/// The sessions of a task, the newest first.
pub async fn of_task(tx: &mut Tx<'_>, task: BoardTaskId) -> Result<Vec<SlotSession>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM slot_sessions WHERE task = $1 \
         ORDER BY started_at DESC, execution DESC"
    );
    let found = tx.query(&sql, &[Value::written(task)]).await?;
    found.iter().map(decode).collect()
}

/// The sessions that have not ended.
pub async fn open(tx: &mut Tx<'_>) -> Result<Vec<SlotSession>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM slot_sessions WHERE ended_at IS NULL ORDER BY started_at, execution"
    );
    tx.query(&sql, &[]).await?.iter().map(decode).collect()
}

const COLUMNS: &str = "execution, slot_name, engine, task, attempt, cwd, conversation, \
     prompted_at, started_at, ended_at";

fn decode(row: &Row) -> Result<SlotSession, StoreError> {
    Ok(SlotSession {
        execution: row.parse(0)?,
        slot_name: row.get(1)?,
        engine: row.parse(2)?,
        task: row.parse(3)?,
        attempt: row.parse(4)?,
        cwd: row.text(5)?.into(),
        conversation: row.get(6)?,
        prompted_at: row.get(7)?,
        started_at: row.get(8)?,
        ended_at: row.get(9)?,
    })
}
