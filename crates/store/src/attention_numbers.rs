//! The numbers people call questions and permission rules by. The row of a
//! counter is locked until its transaction ends, so no number is given twice;
//! one whose transaction came to nothing is given to the next.

use crate::{StoreError, Tx};

/// Waits until no other transaction holds the counter, and holds it.
pub(crate) async fn hold(tx: &mut Tx<'_>, name: &str) -> Result<(), StoreError> {
    let sql = "UPDATE attention_numbers SET next = next WHERE name = $1";
    tx.execute(sql, &[name.into()]).await.map(drop)
}

pub(crate) async fn next(tx: &mut Tx<'_>, name: &str) -> Result<i64, StoreError> {
    let sql = "UPDATE attention_numbers SET next = next + 1 WHERE name = $1 RETURNING next - 1";
    let row = tx.query_one(sql, &[name.into()]).await?;
    row.ok_or_else(|| StoreError::internal(format!("`{name}` is not counted")))?
        .get(0)
}
