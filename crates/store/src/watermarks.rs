//! How far each consumer of the timeline has come. A consumer moves its cursor
//! in the transaction of its effect, so that after a crash neither is without
//! the other.

use missiond_core::Seq;

use crate::{StoreError, Tx};

/// The consumer's cursor, if it has ever moved.
pub async fn get(tx: &mut Tx<'_>, consumer: &str) -> Result<Option<Seq>, StoreError> {
    let sql = "SELECT seq FROM watermarks WHERE consumer = $1";
    let row = tx.query_one(sql, &[consumer.into()]).await?;
    row.map(|row| row.get(0)).transpose()
}

/// Moves the cursor to `to`. Staying is allowed; going back is a conflict,
/// because somebody else has moved it and the effect would be applied twice.
pub async fn advance(tx: &mut Tx<'_>, consumer: &str, to: Seq) -> Result<(), StoreError> {
    let sql = "INSERT INTO watermarks (consumer, seq) VALUES ($1, $2) \
         ON CONFLICT (consumer) DO UPDATE SET seq = excluded.seq \
         WHERE watermarks.seq <= excluded.seq";
    if tx.execute(sql, &[consumer.into(), to.into()]).await? == 1 {
        return Ok(());
    }
    let at = get(tx, consumer).await?.unwrap_or_default();
    Err(StoreError::conflict(format!(
        "the cursor of {consumer} is at {at} and cannot go back to {to}"
    )))
}

/// Who moved a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// This transaction: the effect is to be applied in it.
    Ours,
    /// Somebody else has moved it, to there: the effect up to there is theirs.
    Theirs(Seq),
}

/// Moves the cursor to `to` if it still is at `from`, where 0 also means that
/// there is none yet. Of several daemons that try, one moves it and the others
/// wait for its commit and are told where it is.
pub async fn advance_from(
    tx: &mut Tx<'_>,
    consumer: &str,
    from: Seq,
    to: Seq,
) -> Result<Advance, StoreError> {
    if from == Seq(0) {
        let sql = "INSERT INTO watermarks (consumer, seq) VALUES ($1, 0) \
             ON CONFLICT (consumer) DO NOTHING";
        tx.execute(sql, &[consumer.into()]).await?;
    }
    let sql = "UPDATE watermarks SET seq = $3 WHERE consumer = $1 AND seq = $2";
    match tx
        .execute(sql, &[consumer.into(), from.into(), to.into()])
        .await?
    {
        1 => Ok(Advance::Ours),
        _ => Ok(Advance::Theirs(
            get(tx, consumer).await?.unwrap_or_default(),
        )),
    }
}

/// Every consumer and its cursor, by name.
pub async fn list(tx: &mut Tx<'_>) -> Result<Vec<(String, Seq)>, StoreError> {
    let sql = "SELECT consumer, seq FROM watermarks ORDER BY consumer";
    let rows = tx.query(sql, &[]).await?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}
