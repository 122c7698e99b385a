//! The repositories that tasks are done in.

use std::path::PathBuf;

use crate::{StoreError, Tx};

/// More than anybody works in; the rest is left out.
const MOST: u32 = 1000;

/// A repository that tasks name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryTasks {
    pub path: PathBuf,
    /// Tasks that are not over.
    pub open: u64,
}

/// Every repository that a task names, by path.
pub async fn repositories(tx: &mut Tx<'_>) -> Result<Vec<RepositoryTasks>, StoreError> {
    let sql = "SELECT repository, \
         CAST(sum(CASE WHEN status IN ('done', 'failed') THEN 0 ELSE 1 END) AS BIGINT) \
         FROM board_tasks WHERE repository IS NOT NULL \
         GROUP BY repository ORDER BY repository LIMIT $1";
    let rows = tx.query(sql, &[MOST.into()]).await?;
    rows.iter()
        .map(|row| {
            Ok(RepositoryTasks {
                path: PathBuf::from(row.get::<String>(0)?),
                open: u64::try_from(row.get::<i64>(1)?).unwrap_or(0),
            })
        })
        .collect()
}
