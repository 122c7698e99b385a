//! The runs of daemons, one row each: when it began, when it was last heard
//! of, and how it ended. A run without an end is alive, or died without a word.

use missiond_core::{DaemonId, DaemonRun, RunEnd, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// Records the beginning of a run.
pub async fn begin_run(tx: &mut Tx<'_>, run: &DaemonRun) -> Result<(), StoreError> {
    let sql = "INSERT INTO daemon_state (id, host, pid, version, started_at, heartbeat_at) \
         VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT DO NOTHING";
    let params = [
        Value::written(run.id),
        (&run.host).into(),
        run.pid.into(),
        (&run.version).into(),
        run.started_at.into(),
    ];
    match tx.execute(sql, &params).await? {
        1 => Ok(()),
        _ => Err(StoreError::conflict(format!("{} has begun before", run.id))),
    }
}

/// The run is alive at `now`. One that was taken for dead, because its machine
/// slept, lives again.
pub async fn heartbeat(tx: &mut Tx<'_>, id: DaemonId, now: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE daemon_state SET heartbeat_at = $2, ended_at = NULL, ended = NULL \
         WHERE id = $1 AND (ended IS NULL OR ended = 'crashed')";
    let changed = tx.execute(sql, &[Value::written(id), now.into()]).await?;
    ended_or_missing(tx, id, changed).await
}

/// Every run without an end that was last heard of before `since`.
pub async fn silent_since(tx: &mut Tx<'_>, since: Timestamp) -> Result<Vec<DaemonRun>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM daemon_state WHERE ended_at IS NULL AND heartbeat_at < $1 \
         ORDER BY started_at, id"
    );
    tx.query(&sql, &[since.into()])
        .await?
        .iter()
        .map(decode)
        .collect()
}

/// The run drained and closed.
pub async fn end_run(tx: &mut Tx<'_>, id: DaemonId, now: Timestamp) -> Result<(), StoreError> {
    end(tx, id, now, "clean").await
}

/// Whether it was this call that found a run dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashMark {
    New,
    /// It had ended, or another daemon found it first.
    AlreadyEnded,
}

/// The run was found dead at `now`. When it was last known alive is its heartbeat.
pub async fn mark_crashed(
    tx: &mut Tx<'_>,
    id: DaemonId,
    now: Timestamp,
) -> Result<CrashMark, StoreError> {
    match end(tx, id, now, "crashed").await {
        Ok(()) => Ok(CrashMark::New),
        Err(StoreError::Conflict { .. }) => Ok(CrashMark::AlreadyEnded),
        Err(error) => Err(error),
    }
}

pub async fn get(tx: &mut Tx<'_>, id: DaemonId) -> Result<Option<DaemonRun>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM daemon_state WHERE id = $1");
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.as_ref().map(decode).transpose()
}

/// The newest runs first, of every host.
pub async fn list(tx: &mut Tx<'_>, limit: u32) -> Result<Vec<DaemonRun>, StoreError> {
    let sql =
        format!("SELECT {COLUMNS} FROM daemon_state ORDER BY started_at DESC, id DESC LIMIT $1");
    tx.query(&sql, &[limit.into()])
        .await?
        .iter()
        .map(decode)
        .collect()
}

/// A run and the last sign of life of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRun {
    pub run: DaemonRun,
    pub last_seen: Timestamp,
}

/// The runs of a host that were alive after `since`, the oldest first; of very many the
/// newest `limit`.
pub async fn seen_since(
    tx: &mut Tx<'_>,
    host: &str,
    since: Timestamp,
    limit: u32,
) -> Result<Vec<SeenRun>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, heartbeat_at FROM daemon_state WHERE host = $1 \
         AND (heartbeat_at >= $2 OR ended_at >= $2) ORDER BY started_at DESC, id DESC LIMIT $3"
    );
    let params = [host.into(), since.into(), limit.into()];
    let rows = tx.query(&sql, &params).await?;
    let seen = |row: &Row| {
        Ok(SeenRun {
            run: decode(row)?,
            last_seen: row.get(7)?,
        })
    };
    rows.iter().rev().map(seen).collect()
}

/// When the run was last known alive.
pub async fn last_heartbeat(
    tx: &mut Tx<'_>,
    id: DaemonId,
) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT heartbeat_at FROM daemon_state WHERE id = $1";
    let row = tx.query_one(sql, &[Value::written(id)]).await?;
    row.map(|row| row.get(0)).transpose()
}

async fn end(
    tx: &mut Tx<'_>,
    id: DaemonId,
    now: Timestamp,
    how: &'static str,
) -> Result<(), StoreError> {
    let sql = "UPDATE daemon_state SET ended_at = $2, ended = $3 \
         WHERE id = $1 AND ended_at IS NULL";
    let changed = tx
        .execute(sql, &[Value::written(id), now.into(), how.into()])
        .await?;
    ended_or_missing(tx, id, changed).await
}

async fn ended_or_missing(tx: &mut Tx<'_>, id: DaemonId, changed: u64) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    match get(tx, id).await? {
        Some(_) => Err(StoreError::conflict(format!("{id} has already ended"))),
        None => Err(StoreError::not_found("daemon run", id)),
    }
}

const COLUMNS: &str = "id, host, pid, version, started_at, ended_at, ended";

fn decode(row: &Row) -> Result<DaemonRun, StoreError> {
    Ok(DaemonRun {
        id: row.parse(0)?,
        host: row.get(1)?,
        pid: row.get(2)?,
        version: row.get(3)?,
        started_at: row.get(4)?,
        ended_at: row.get(5)?,
        end: match row.get::<Option<String>>(6)?.as_deref() {
            None => None,
            Some("clean") => Some(RunEnd::Clean),
            Some("crashed") => Some(RunEnd::Crashed),
            Some(other) => {
                return Err(StoreError::internal(format!(
                    "`{other}` is no end of a run"
                )));
            }
        },
    })
}
