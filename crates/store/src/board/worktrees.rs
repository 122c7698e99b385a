//! Attempts by the place they were made in.

use std::path::PathBuf;

use missiond_core::Attempt;

use super::attempt_rows::{self, ATTEMPT};
use super::rows::placeholders;
use crate::{StoreError, Tx, Value};

/// So many parameters fit into any statement.
const AT_ONCE: usize = 500;

/// Every attempt that was made in one of these folders, the oldest first. Several
/// attempts may have gone on in the same one.
pub async fn attempts_in(tx: &mut Tx<'_>, folders: &[PathBuf]) -> Result<Vec<Attempt>, StoreError> {
    let mut found = Vec::new();
    // A folder whose name is no text is on no record.
    let folders: Vec<&str> = folders
        .iter()
        .filter_map(|folder| folder.to_str())
        .collect();
    for some in folders.chunks(AT_ONCE) {
        let sql = format!(
            "SELECT {ATTEMPT} FROM board_attempts WHERE worktree IN ({}) ORDER BY started_at, id",
            placeholders(1, some.len())
        );
        let params: Vec<Value> = some.iter().map(|folder| Value::from(*folder)).collect();
        found.extend(attempt_rows::attempts(&tx.query(&sql, &params).await?)?);
    }
    Ok(found)
}

/// The newest attempt that was made on a branch of this name.
pub async fn attempt_on(tx: &mut Tx<'_>, branch: &str) -> Result<Option<Attempt>, StoreError> {
    let sql = format!(
        "SELECT {ATTEMPT} FROM board_attempts WHERE branch = $1 \
         ORDER BY started_at DESC, id DESC LIMIT 1"
    );
    let row = tx.query_one(&sql, &[branch.into()]).await?;
    row.as_ref().map(attempt_rows::attempt).transpose()
}
