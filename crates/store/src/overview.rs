//! What the overview of agents needs beside the rows of each domain: when the person
//! last saw what was finished, and what many runs used and were about, asked for at
//! once.

use std::collections::HashMap;

use missiond_core::{ExecutionId, Timestamp};

use crate::conversations::usage::{self, ByModel};
use crate::token_usage::{SUMS, Tokens, used};
use crate::{Row, StoreError, Tx, Value};

/// So many parameters fit into any statement.
const AT_ONCE: usize = 500;

/// When the person last saw what was finished.
pub async fn seen(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT at FROM overview_seen WHERE id = 1";
    let row = tx.query_one(sql, &[]).await?;
    row.map(|row| row.get(0)).transpose()
}

/// Everything finished up to here is seen. What was seen later stays seen. The mark
/// in force is returned.
pub async fn set_seen(tx: &mut Tx<'_>, until: Timestamp) -> Result<Timestamp, StoreError> {
    let sql = "INSERT INTO overview_seen (id, at) VALUES (1, $1) ON CONFLICT (id) DO UPDATE \
         SET at = excluded.at WHERE overview_seen.at < excluded.at";
    tx.execute(sql, &[until.into()]).await?;
    Ok(seen(tx).await?.unwrap_or(until))
}

/// What a run used and was about, as far as its conversation was taken in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunUsage {
    /// What the journal of a run for a task counted.
    pub counted: Tokens,
    pub models: ByModel,
    /// What the transcript says it cost.
    pub reported_cost: Option<u64>,
    /// How the first prompt begins.
    pub title: Option<String>,
}

/// What each of these runs used; one nothing is known of is not there.
pub async fn usage_of(
    tx: &mut Tx<'_>,
    executions: &[ExecutionId],
) -> Result<HashMap<ExecutionId, RunUsage>, StoreError> {
    let mut found: HashMap<ExecutionId, RunUsage> = HashMap::new();
    for some in executions.chunks(AT_ONCE) {
        let params: Vec<Value> = some.iter().map(|id| Value::written(*id)).collect();
        let places = crate::board::placeholders(1, some.len());
        let sql = format!(
            "SELECT {SUMS}, execution FROM token_usage WHERE execution IN ({places}) \
             GROUP BY execution"
        );
        for row in tx.query(&sql, &params).await? {
            let id: ExecutionId = row.parse(4)?;
            found.entry(id).or_default().counted = used(&row, ())?.tokens;
        }
        for (id, spent) in usage::of_executions(tx, some).await? {
            let run = found.entry(id).or_default();
            run.models = spent.models;
            run.reported_cost = spent.reported_cost;
        }
    }
    for (id, title) in titles_of(tx, executions).await? {
        found.entry(id).or_default().title = Some(title);
    }
    Ok(found)
}

/// How the first prompt of each of these runs begins; one without a conversation is
/// not there.
pub async fn titles_of(
    tx: &mut Tx<'_>,
    executions: &[ExecutionId],
) -> Result<HashMap<ExecutionId, String>, StoreError> {
    let mut found = HashMap::new();
    for some in executions.chunks(AT_ONCE) {
        let params: Vec<Value> = some.iter().map(|id| Value::written(*id)).collect();
        let sql = format!(
            "SELECT execution, title FROM conversations WHERE execution IN ({}) \
             AND title <> '' ORDER BY started_at DESC",
            crate::board::placeholders(1, some.len())
        );
        for row in tx.query(&sql, &params).await? {
            found.insert(row.parse(0)?, row.get(1)?);
        }
    }
    Ok(found)
}

/// Runs that belonged to no task and ended after a moment, in a folder and what is
/// inside of it or anywhere: the newest, and how many there are.
pub async fn ended_without_task(
    tx: &mut Tx<'_>,
    after: Timestamp,
    folder: Option<&str>,
    limit: u32,
) -> Result<(Vec<crate::executions::ExecutionRow>, u64), StoreError> {
    let mut params: Vec<Value> = vec![after.into()];
    let within = folder.map_or("", |folder| {
        params.extend([folder.into(), format!("{folder}/").into()]);
        "AND (cwd = $2 OR substr(cwd, 1, length($3)) = $3)"
    });
    let rest = format!(
        "FROM executions WHERE ended_at > $1 {within} AND NOT EXISTS \
         (SELECT 1 FROM board_attempts WHERE board_attempts.execution = executions.id)"
    );
    let count = format!("SELECT count(*) {rest}");
    let count = tx.query_one(&count, &params).await?;
    params.push(limit.into());
    let columns = crate::executions::COLUMNS;
    let sql = format!(
        "SELECT {columns} {rest} ORDER BY ended_at DESC, id DESC LIMIT ${}",
        params.len()
    );
    let rows = tx.query(&sql, &params).await?;
    let rows: Result<Vec<_>, _> = rows.iter().map(crate::executions::decode).collect();
    Ok((rows?, counted(count.as_ref(), 0)?))
}

pub(crate) fn counted(row: Option<&Row>, index: usize) -> Result<u64, StoreError> {
    let count: i64 = row.map_or(Ok(0), |row| row.get(index))?;
    Ok(u64::try_from(count).unwrap_or(0))
}
