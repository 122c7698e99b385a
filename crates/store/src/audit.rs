//! What the database remembers of the audit: where its log was, once for each time it was
//! opened. What a head says is the audit's business.

use missiond_core::Timestamp;

use crate::{Row, StoreError, Tx};

/// Openings that are remembered; of more, the oldest are forgotten.
const KEPT: u32 = 1000;

/// Where the log of a home was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    pub home: String,
    /// When the log was opened by the daemon that wrote this.
    pub opened_at: Timestamp,
    /// How many records there were.
    pub records: u64,
    /// The signed head.
    pub head: String,
    pub anchored_at: Timestamp,
}

/// Remembers where the log is now, in the place of what was remembered of this opening.
pub async fn anchor(tx: &mut Tx<'_>, anchor: &Anchor) -> Result<(), StoreError> {
    let sql = "INSERT INTO audit_anchors (home, opened_at, records, head, anchored_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (home, opened_at) DO UPDATE SET \
         records = excluded.records, head = excluded.head, anchored_at = excluded.anchored_at";
    let records = i64::try_from(anchor.records).unwrap_or(i64::MAX);
    let params = [
        (&anchor.home).into(),
        anchor.opened_at.into(),
        records.into(),
        (&anchor.head).into(),
        anchor.anchored_at.into(),
    ];
    tx.execute(sql, &params).await?;
    let sql = "DELETE FROM audit_anchors WHERE home = $1 AND opened_at < (SELECT MIN(opened_at) \
         FROM (SELECT opened_at FROM audit_anchors WHERE home = $1 \
         ORDER BY opened_at DESC LIMIT $2) AS kept)";
    tx.execute(sql, &[(&anchor.home).into(), KEPT.into()])
        .await?;
    Ok(())
}

/// What is remembered of a home, the oldest opening first.
pub async fn anchors(tx: &mut Tx<'_>, home: &str) -> Result<Vec<Anchor>, StoreError> {
    let sql = "SELECT home, opened_at, records, head, anchored_at FROM audit_anchors \
         WHERE home = $1 ORDER BY opened_at";
    let rows = tx.query(sql, &[home.into()]).await?;
    rows.iter().map(decode).collect()
}

fn decode(row: &Row) -> Result<Anchor, StoreError> {
    let records: i64 = row.get(2)?;
    Ok(Anchor {
        home: row.get(0)?,
        opened_at: row.get(1)?,
        records: u64::try_from(records)
            .map_err(|_| StoreError::internal(format!("{records} is no number of records")))?,
        head: row.get(3)?,
        anchored_at: row.get(4)?,
    })
}
