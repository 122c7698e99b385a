//! How entries stand to each other, with the reason for saying so. An edge that
//! comparing brought to light ends when one of its entries says something else,
//! and so does what somebody stated of words that are not there any more: that they
//! contradict others, repeat them, or have been superseded. Ended edges stay, as
//! history.

use missiond_core::{EntryId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct EdgeRow {
    pub from: EntryId,
    pub to: EntryId,
    pub kind: String,
    pub reason: String,
    pub made_by: MadeBy,
    /// What it leaves of the trust in the entry it goes out from.
    pub from_keeps: f64,
    /// What it leaves of the trust in the other.
    pub to_keeps: f64,
    pub at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// How an edge came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadeBy {
    /// What the entries say was compared.
    Comparison,
    /// Somebody said so.
    Statement,
}

impl MadeBy {
    const fn name(self) -> &'static str {
        match self {
            Self::Comparison => "comparison",
            Self::Statement => "statement",
        }
    }
}

/// Adds an edge. One that is there already keeps its first reason; one that has
/// ended begins anew.
pub async fn add(tx: &mut Tx<'_>, edge: &EdgeRow) -> Result<(), StoreError> {
    let sql = "INSERT INTO knowledge_edges \
         (from_entry, to_entry, kind, reason, made_by, from_keeps, to_keeps, at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (from_entry, to_entry, kind) DO UPDATE \
         SET reason = excluded.reason, made_by = excluded.made_by, \
         from_keeps = excluded.from_keeps, to_keeps = excluded.to_keeps, \
         at = excluded.at, ended_at = NULL \
         WHERE knowledge_edges.ended_at IS NOT NULL";
    let params = [
        Value::written(edge.from),
        Value::written(edge.to),
        (&edge.kind).into(),
        (&edge.reason).into(),
        edge.made_by.name().into(),
        edge.from_keeps.into(),
        edge.to_keeps.into(),
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

/// Ends what was true of an entry only as long as it said what it said.
pub async fn end_of_words(tx: &mut Tx<'_>, id: EntryId, at: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE knowledge_edges SET ended_at = $2 \
         WHERE (from_entry = $1 OR to_entry = $1) AND ended_at IS NULL \
         AND (made_by = 'comparison' OR kind IN ('contradicts', 'duplicate') \
         OR (kind = 'supersedes' AND to_entry = $1))";
    tx.execute(sql, &[Value::written(id), at.into()]).await?;
    Ok(())
}

/// Edges from or to an entry, oldest first, those that ended too.
pub async fn of_entry(tx: &mut Tx<'_>, id: EntryId) -> Result<Vec<EdgeRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM knowledge_edges e \
         WHERE from_entry = $1 OR to_entry = $1 ORDER BY at, from_entry, to_entry, kind"
    );
    let rows = tx.query(&sql, &[Value::written(id)]).await?;
    rows.iter().map(decode).collect()
}

/// Edges of an entry that hold, to entries that are in use.
pub(super) async fn in_force(tx: &mut Tx<'_>, id: EntryId) -> Result<Vec<EdgeRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM knowledge_edges e JOIN knowledge k \
         ON k.id = CASE WHEN e.from_entry = $1 THEN e.to_entry ELSE e.from_entry END \
         WHERE (e.from_entry = $1 OR e.to_entry = $1) AND e.ended_at IS NULL \
         AND k.archived_at IS NULL ORDER BY e.at, e.from_entry, e.to_entry, e.kind"
    );
    let rows = tx.query(&sql, &[Value::written(id)]).await?;
    rows.iter().map(decode).collect()
}

/// Edges of a kind that hold between entries that are both in use, newest first.
pub async fn of_kind(tx: &mut Tx<'_>, kind: &str, limit: u32) -> Result<Vec<EdgeRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM knowledge_edges e \
         JOIN knowledge a ON a.id = e.from_entry AND a.archived_at IS NULL \
         JOIN knowledge b ON b.id = e.to_entry AND b.archived_at IS NULL \
         WHERE e.kind = $1 AND e.ended_at IS NULL \
         ORDER BY e.at DESC, e.from_entry, e.to_entry LIMIT $2"
    );
    let rows = tx.query(&sql, &[kind.into(), limit.into()]).await?;
    rows.iter().map(decode).collect()
}

/// Entries in whose place another entry in use stands: what is superseded, and
/// what was a duplicate when it was written.
pub async fn replaced(tx: &mut Tx<'_>) -> Result<Vec<EntryId>, StoreError> {
    let sql = "SELECT e.to_entry FROM knowledge_edges e \
         JOIN knowledge k ON k.id = e.from_entry AND k.archived_at IS NULL \
         WHERE e.kind = 'supersedes' AND e.ended_at IS NULL \
         UNION SELECT e.from_entry FROM knowledge_edges e \
         JOIN knowledge k ON k.id = e.to_entry AND k.archived_at IS NULL \
         WHERE e.kind = 'duplicate' AND e.ended_at IS NULL";
    let rows = tx.query(sql, &[]).await?;
    rows.iter().map(|row| row.parse(0)).collect()
}

const COLUMNS: &str = "e.from_entry, e.to_entry, e.kind, e.reason, e.made_by, e.from_keeps, \
     e.to_keeps, e.at, e.ended_at";

fn decode(row: &Row) -> Result<EdgeRow, StoreError> {
    Ok(EdgeRow {
        from: row.parse(0)?,
        to: row.parse(1)?,
        kind: row.get(2)?,
        reason: row.get(3)?,
        made_by: match row.text(4)? {
            "comparison" => MadeBy::Comparison,
            _ => MadeBy::Statement,
        },
        from_keeps: row.get(5)?,
        to_keeps: row.get(6)?,
        at: row.get(7)?,
        ended_at: row.get(8)?,
    })
}
