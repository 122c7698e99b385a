//! How much happened in each hour, by kind, so that a chart of a month does
//! not read a month of timeline.

use missiond_core::Timestamp;

use crate::{StoreError, Tx};

const HOUR_MICROS: i64 = 3_600_000_000;

/// What happened of one kind in one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The moment the hour begins.
    pub hour: Timestamp,
    pub kind: String,
    pub count: i64,
}

/// Counts `n` more of `kind` in the hour that `at` lies in.
pub async fn add(tx: &mut Tx<'_>, at: Timestamp, kind: &str, n: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO activity (hour, kind, count) VALUES ($1, $2, $3) \
         ON CONFLICT (hour, kind) DO UPDATE SET count = activity.count + excluded.count";
    let params = [hour_of(at).into(), kind.into(), n.into()];
    tx.execute(sql, &params).await.map(drop)
}

/// Everything from the hour that `since` lies in, oldest first.
pub async fn since(tx: &mut Tx<'_>, since: Timestamp) -> Result<Vec<Activity>, StoreError> {
    let sql = "SELECT hour, kind, count FROM activity WHERE hour >= $1 ORDER BY hour, kind";
    let rows = tx.query(sql, &[hour_of(since).into()]).await?;
    let activity = rows.iter().map(|row| {
        Ok(Activity {
            hour: row.get(0)?,
            kind: row.get(1)?,
            count: row.get(2)?,
        })
    });
    activity.collect()
}

fn hour_of(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.as_micros().div_euclid(HOUR_MICROS) * HOUR_MICROS)
}
