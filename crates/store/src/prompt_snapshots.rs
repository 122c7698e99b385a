//! What agents were told beside their first prompt: the text as it was typed,
//! every candidate with what became of it, and how each source fared. One row of
//! an execution, written with its beginning, kept for as long as is wanted.

use std::path::PathBuf;

use missiond_core::{BoardTaskId, CliEngine, ExecutionId, SlotId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRow {
    pub execution: ExecutionId,
    pub slot: SlotId,
    /// The task it was for, if it was for one.
    pub task: Option<BoardTaskId>,
    pub engine: CliEngine,
    pub cwd: PathBuf,
    pub at: Timestamp,
    /// Tokens that might have been used, and that were.
    pub budget: u32,
    pub used: u32,
    /// Secrets that were taken out.
    pub masked: u32,
    /// As it was typed; empty when nothing was given.
    pub context: String,
    /// JSON: the candidates and what became of each.
    pub items: String,
    /// JSON: the sources and what came of each.
    pub sources: String,
}

/// Keeps a snapshot. The first of an execution stays: what was typed was typed.
/// Whether this is the first is returned.
pub async fn put(tx: &mut Tx<'_>, row: &SnapshotRow) -> Result<bool, StoreError> {
    let cwd = row.cwd.to_str().ok_or_else(|| {
        StoreError::conflict(format!("the folder {} is not text", row.cwd.display()))
    })?;
    let sql = "INSERT INTO prompt_snapshots (execution, slot, task, engine, cwd, at, budget, \
         used, masked, context, items, sources) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (execution) DO NOTHING";
    let params = [
        Value::written(row.execution),
        Value::written(row.slot),
        row.task.map_or(Value::Null, Value::written),
        row.engine.name().into(),
        cwd.into(),
        row.at.into(),
        row.budget.into(),
        row.used.into(),
        row.masked.into(),
        (&row.context).into(),
        (&row.items).into(),
        (&row.sources).into(),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

pub async fn get(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
) -> Result<Option<SnapshotRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM prompt_snapshots WHERE execution = $1");
    let row = tx.query_one(&sql, &[Value::written(execution)]).await?;
    row.as_ref().map(decode).transpose()
}

/// What earlier executions of a conversation were told, the newest first.
pub async fn of_conversation(
    tx: &mut Tx<'_>,
    conversation: &str,
    limit: u32,
) -> Result<Vec<SnapshotRow>, StoreError> {
    let columns: Vec<String> = COLUMNS
        .split(", ")
        .map(|name| format!("p.{name}"))
        .collect();
    let sql = format!(
        "SELECT {} FROM prompt_snapshots p JOIN executions e ON e.id = p.execution \
         WHERE e.conversation = $1 ORDER BY p.at DESC, p.execution DESC LIMIT $2",
        columns.join(", ")
    );
    let rows = tx
        .query(&sql, &[conversation.into(), i64::from(limit).into()])
        .await?;
    rows.iter().map(decode).collect()
}

/// As [`put`], and forgets those from before.
pub async fn keep(
    tx: &mut Tx<'_>,
    row: &SnapshotRow,
    since: Timestamp,
) -> Result<bool, StoreError> {
    forget_before(tx, since).await?;
    put(tx, row).await
}

/// Forgets those from before; how many.
pub async fn forget_before(tx: &mut Tx<'_>, at: Timestamp) -> Result<u64, StoreError> {
    let sql = "DELETE FROM prompt_snapshots WHERE at < $1";
    tx.execute(sql, &[at.into()]).await
}

const COLUMNS: &str =
    "execution, slot, task, engine, cwd, at, budget, used, masked, context, items, sources";

fn decode(row: &Row) -> Result<SnapshotRow, StoreError> {
    Ok(SnapshotRow {
        execution: row.parse(0)?,
        slot: row.parse(1)?,
        task: row.parse_optional(2)?,
        engine: row.parse(3)?,
        cwd: row.text(4)?.into(),
        at: row.get(5)?,
        budget: row.get(6)?,
        used: row.get(7)?,
        masked: row.get(8)?,
        context: row.get(9)?,
        items: row.get(10)?,
        sources: row.get(11)?,
    })
}
