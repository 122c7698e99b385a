//! Runs of agents. What an execution is and did is in its journal; here is what
//! a daemon must know to find that journal, the slot and the conversation again.

use std::path::PathBuf;

use missiond_core::{CliEngine, ExecutionId, ExecutionLifecycle, SlotId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// One run of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionRow {
    pub id: ExecutionId,
    pub slot: SlotId,
    pub engine: CliEngine,
    pub cwd: PathBuf,
    /// The agent CLI's own id of the conversation, once it is known.
    pub conversation: Option<String>,
    /// How far the CLI's transcript has been read, as its reader wrote it.
    pub transcript: Option<String>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// How it ended; unknown of those that ended before this was noted.
    pub ended_as: Option<ExecutionLifecycle>,
}

/// Which executions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionFilter {
    /// Those that have not ended.
    Running,
    /// The newest, ended or not.
    Newest { limit: u32 },
    /// Those that ended at this moment or later.
    EndedSince(Timestamp),
}

pub async fn begin(tx: &mut Tx<'_>, row: &ExecutionRow) -> Result<(), StoreError> {
    let cwd = row.cwd.to_str().ok_or_else(|| {
        StoreError::conflict(format!("the folder {} is not text", row.cwd.display()))
    })?;
    let sql = "INSERT INTO executions \
         (id, slot, engine, cwd, conversation, transcript, started_at, ended_at, ended_as) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let params = [
        Value::written(row.id),
        Value::written(row.slot),
        row.engine.name().into(),
        cwd.into(),
        row.conversation.as_deref().into(),
        row.transcript.as_deref().into(),
        row.started_at.into(),
        row.ended_at.into(),
        row.ended_as.map(ExecutionLifecycle::as_str).into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

/// Notes the end, once. Whether this was the time is returned.
pub async fn end(
    tx: &mut Tx<'_>,
    id: ExecutionId,
    at: Timestamp,
    ended_as: ExecutionLifecycle,
) -> Result<bool, StoreError> {
    let sql = "UPDATE executions SET ended_at = $2, ended_as = $3 \
         WHERE id = $1 AND ended_at IS NULL";
    let params = [Value::written(id), at.into(), ended_as.as_str().into()];
    Ok(tx.execute(sql, &params).await? == 1)
}

pub async fn set_conversation(
    tx: &mut Tx<'_>,
    id: ExecutionId,
    conversation: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE executions SET conversation = $2 WHERE id = $1";
    let params = [Value::written(id), conversation.into()];
    require_changed(id, tx.execute(sql, &params).await?)
}

pub async fn set_transcript(
    tx: &mut Tx<'_>,
    id: ExecutionId,
    place: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE executions SET transcript = $2 WHERE id = $1";
    let params = [Value::written(id), place.into()];
    require_changed(id, tx.execute(sql, &params).await?)
}

fn require_changed(id: ExecutionId, changed: u64) -> Result<(), StoreError> {
    match changed {
        1 => Ok(()),
        _ => Err(StoreError::not_found("execution", id)),
    }
}

pub async fn get(tx: &mut Tx<'_>, id: ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM executions WHERE id = $1");
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.as_ref().map(decode).transpose()
}

/// The newest execution in a slot.
pub async fn in_slot(tx: &mut Tx<'_>, slot: SlotId) -> Result<Option<ExecutionRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM executions WHERE slot = $1 ORDER BY started_at DESC, id DESC LIMIT 1"
    );
    let row = tx.query_one(&sql, &[Value::written(slot)]).await?;
    row.as_ref().map(decode).transpose()
}

/// Newest first.
pub async fn list(
    tx: &mut Tx<'_>,
    filter: ExecutionFilter,
) -> Result<Vec<ExecutionRow>, StoreError> {
    let (condition, limit, more) = match filter {
        ExecutionFilter::Running => ("WHERE ended_at IS NULL", u32::MAX, None),
        ExecutionFilter::Newest { limit } => ("", limit, None),
        ExecutionFilter::EndedSince(moment) => ("WHERE ended_at >= $2", u32::MAX, Some(moment)),
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM executions {condition} ORDER BY started_at DESC, id DESC LIMIT $1"
    );
    let mut params = vec![i64::from(limit).into()];
    params.extend(more.map(Value::from));
    let rows = tx.query(&sql, &params).await?;
    rows.iter().map(decode).collect()
}

pub(crate) const COLUMNS: &str =
    "id, slot, engine, cwd, conversation, transcript, started_at, ended_at, ended_as";

pub(crate) fn decode(row: &Row) -> Result<ExecutionRow, StoreError> {
    Ok(ExecutionRow {
        id: row.parse(0)?,
        slot: row.parse(1)?,
        engine: row.parse(2)?,
        cwd: row.text(3)?.into(),
        conversation: row.get(4)?,
        transcript: row.get(5)?,
        started_at: row.get(6)?,
        ended_at: row.get(7)?,
        ended_as: row.parse_optional(8)?,
    })
}
