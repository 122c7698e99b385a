//! What is on record about tools, servers, engines and skills. What the facts come to is the
//! guard's business.

use std::time::Duration;

use missiond_core::Timestamp;

use crate::{Row, StoreError, Tx, Value, attention_numbers};

/// What happens often is counted together for so long.
const TOGETHER: Duration = Duration::from_secs(3600);

/// A fact as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustFact {
    /// `server:docs`.
    pub subject: String,
    /// `verified`, `drifted`, …
    pub kind: String,
    /// When it happened last.
    pub at: Timestamp,
    pub count: u32,
    pub note: Option<String>,
}

/// Puts a fact on record.
pub async fn record(
    tx: &mut Tx<'_>,
    subject: &str,
    kind: &str,
    note: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let id = attention_numbers::next(tx, "trust_fact").await?;
    let sql = "INSERT INTO trust_facts (id, subject, kind, began_at, at, count, note) \
         VALUES ($1, $2, $3, $4, $4, 1, $5)";
    let params = [
        id.into(),
        subject.into(),
        kind.into(),
        now.into(),
        Value::masked_optional(note),
    ];
    tx.execute(sql, &params).await.map(drop)
}

/// Counts what happens often: with what happened within the hour, as long as no fact of
/// another kind that draws a line (`reset`, `registered`) came in between.
pub async fn count(
    tx: &mut Tx<'_>,
    subject: &str,
    kind: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE trust_facts SET count = count + 1, at = $3 WHERE id = ( \
             SELECT MAX(id) FROM trust_facts AS last \
             WHERE last.subject = $1 AND last.kind = $2 AND last.began_at > $4 \
                 AND NOT EXISTS (SELECT 1 FROM trust_facts AS line \
                     WHERE line.subject = $1 AND line.kind IN ('reset', 'registered') \
                         AND line.at >= last.began_at))";
    let params = [
        subject.into(),
        kind.into(),
        now.into(),
        now.minus(TOGETHER).into(),
    ];
    if tx.execute(sql, &params).await? == 0 {
        record(tx, subject, kind, None, now).await?;
    }
    Ok(())
}

/// Puts a drift on record, unless the same one stands there and nobody accepted it since.
pub async fn record_drift(
    tx: &mut Tx<'_>,
    subject: &str,
    note: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "SELECT kind, note FROM trust_facts \
         WHERE subject = $1 AND kind IN ('drifted', 'accepted', 'reset') ORDER BY id DESC LIMIT 1";
    if let Some(last) = tx.query_one(sql, &[subject.into()]).await?
        && last.text(0)? == "drifted"
        && last.get::<Option<String>>(1)?.as_deref() == Some(note)
    {
        return Ok(());
    }
    record(tx, subject, "drifted", Some(note), now).await
}

const COLUMNS: &str = "subject, kind, at, count, note";

/// Every fact, in the order of subjects and time.
pub async fn all(tx: &mut Tx<'_>) -> Result<Vec<TrustFact>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM trust_facts ORDER BY subject, id");
    tx.query(&sql, &[]).await?.iter().map(decode).collect()
}

/// The facts about one subject, in the order they happened.
pub async fn of(tx: &mut Tx<'_>, subject: &str) -> Result<Vec<TrustFact>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM trust_facts WHERE subject = $1 ORDER BY id");
    let rows = tx.query(&sql, &[subject.into()]).await?;
    rows.iter().map(decode).collect()
}

fn decode(row: &Row) -> Result<TrustFact, StoreError> {
    Ok(TrustFact {
        subject: row.get(0)?,
        kind: row.get(1)?,
        at: row.get(2)?,
        count: row.get(3)?,
        note: row.get(4)?,
    })
}
