//! How entries stand to each other, with the reason for saying so.

use missiond_core::{EntryId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeRow {
    pub from: EntryId,
    pub to: EntryId,
    pub kind: String,
    pub reason: String,
    pub at: Timestamp,
}

/// Adds an edge; one that is there already keeps its first reason.
pub async fn add(tx: &mut Tx<'_>, edge: &EdgeRow) -> Result<(), StoreError> {
    let sql = "INSERT INTO knowledge_edges (from_entry, to_entry, kind, reason, at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (from_entry, to_entry, kind) DO NOTHING";
    let params = [
        Value::written(edge.from),
        Value::written(edge.to),
        (&edge.kind).into(),
        (&edge.reason).into(),
        edge.at.into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

/// As [`add`], when both entries exist.
pub async fn add_between_known(tx: &mut Tx<'_>, edge: &EdgeRow) -> Result<(), StoreError> {
    for id in [edge.from, edge.to] {
        if super::get(tx, id).await?.is_none() {
            return Err(StoreError::not_found("entry", id));
        }
    }
    add(tx, edge).await
}

/// Edges from or to an entry, oldest first.
pub async fn of_entry(tx: &mut Tx<'_>, id: EntryId) -> Result<Vec<EdgeRow>, StoreError> {
    let sql = "SELECT from_entry, to_entry, kind, reason, at FROM knowledge_edges \
         WHERE from_entry = $1 OR to_entry = $1 ORDER BY at, from_entry, to_entry, kind";
    tx.query(sql, &[Value::written(id)])
        .await?
        .iter()
        .map(decode)
        .collect()
}

/// Edges of a kind between entries that are both in use, newest first.
pub async fn of_kind(tx: &mut Tx<'_>, kind: &str, limit: u32) -> Result<Vec<EdgeRow>, StoreError> {
    let sql = "SELECT e.from_entry, e.to_entry, e.kind, e.reason, e.at FROM knowledge_edges e \
         JOIN knowledge a ON a.id = e.from_entry AND a.archived_at IS NULL \
         JOIN knowledge b ON b.id = e.to_entry AND b.archived_at IS NULL \
         WHERE e.kind = $1 ORDER BY e.at DESC, e.from_entry, e.to_entry LIMIT $2";
    tx.query(sql, &[kind.into(), limit.into()])
        .await?
        .iter()
        .map(decode)
        .collect()
}

/// Entries in whose place another entry in use stands: what is superseded, and
/// what was a duplicate when it was written.
pub async fn replaced(tx: &mut Tx<'_>) -> Result<Vec<EntryId>, StoreError> {
    let sql = "SELECT e.to_entry FROM knowledge_edges e \
         JOIN knowledge k ON k.id = e.from_entry AND k.archived_at IS NULL \
         WHERE e.kind = 'supersedes' \
         UNION SELECT e.from_entry FROM knowledge_edges e \
         JOIN knowledge k ON k.id = e.to_entry AND k.archived_at IS NULL \
         WHERE e.kind = 'duplicate'";
    tx.query(sql, &[])
        .await?
        .iter()
        .map(|row| row.parse(0))
        .collect()
}

fn decode(row: &Row) -> Result<EdgeRow, StoreError> {
    Ok(EdgeRow {
        from: row.parse(0)?,
        to: row.parse(1)?,
        kind: row.get(2)?,
        reason: row.get(3)?,
        at: row.get(4)?,
    })
}
