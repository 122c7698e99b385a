//! What background workers have to do: a unit each, queued with its cause, claimed under
//! a lease and a fencing token, ended once.
//!
//! A unit that nobody has begun takes up further causes of the same: it is due when they
//! have been quiet for a while, or at the latest moment its first cause set, whichever
//! comes first. Of units about the same subject one is at work at a time, the oldest
//! first. Only who holds the newest token ends a unit, so an effect that is committed
//! with that end is there once.

use std::time::Duration;

use missiond_core::{FencingToken, Timestamp, TraceContext};
use uuid::Uuid;

use crate::{Row, StoreError, Tx, Value};

/// What happened that a worker has to do something about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUnit {
    pub worker: &'static str,
    /// Of which home's daemon it is; empty where any daemon may do it.
    pub home: String,
    /// What it is about.
    pub subject: String,
    /// How many events it stands for.
    pub causes: u32,
    /// The newest of them.
    pub trace: TraceContext,
    pub now: Timestamp,
    /// It waits until nothing more has come for so long,
    pub quiet: Duration,
    /// and for so long at most.
    pub longest: Duration,
}

/// A unit as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitRow {
    pub id: String,
    pub worker: String,
    pub home: String,
    pub subject: String,
    pub causes: u32,
    /// The event that caused it last.
    pub cause: TraceContext,
    pub queued_at: Timestamp,
    pub due_at: Timestamp,
    /// How often it was begun.
    pub attempts: u32,
    pub token: FencingToken,
    pub holder: Option<String>,
    pub leased_until: Option<Timestamp>,
    pub began_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<UnitOutcome>,
    /// What came of it, or why its last attempt failed.
    pub said: Option<String>,
}

/// How a unit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitOutcome {
    Done,
    /// It was given up.
    Dead,
}

impl UnitOutcome {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }
}

/// Who claims units, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    pub home: String,
    /// A run of a daemon.
    pub holder: String,
    pub now: Timestamp,
    pub lease: Duration,
}

/// How many units of a worker stand where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnitCounts {
    pub waiting: u64,
    pub running: u64,
    /// Of those that wait, those that failed before.
    pub failing: u64,
    pub done: u64,
    pub dead: u64,
}

/// Which units are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitFilter {
    /// Not ended, the first due first.
    Open,
    /// Ended, the newest first.
    Ended,
    /// Given up, the newest first.
    Dead,
}

/// Queues a unit, or adds its causes to one that nobody has begun.
pub async fn enqueue(tx: &mut Tx<'_>, new: &NewUnit) -> Result<(), StoreError> {
    let sql = "INSERT INTO worker_units (id, worker, home, subject, causes, trace_id, span_id, \
             queued_at, due_at, latest_at, attempts, token) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0) \
         ON CONFLICT (worker, home, subject) WHERE token = 0 AND ended_at IS NULL \
         DO UPDATE SET causes = worker_units.causes + excluded.causes, \
             trace_id = excluded.trace_id, span_id = excluded.span_id, \
             due_at = CASE WHEN excluded.due_at < worker_units.latest_at \
                 THEN excluded.due_at ELSE worker_units.latest_at END";
    let latest = new.now.plus(new.longest);
    let params = [
        Value::written(Uuid::now_v7().simple()),
        new.worker.into(),
        (&new.home).into(),
        (&new.subject).into(),
        new.causes.into(),
        Value::written(new.trace.trace_id),
        Value::written(new.trace.span_id),
        new.now.into(),
        new.now.plus(new.quiet).min(latest).into(),
        latest.into(),
    ];
    tx.execute(sql, &params).await.map(drop)
}

/// Claims up to `limit` units of a worker that are due, the first due first. One whose
/// holder has not been heard of until its lease ended is claimed again.
pub async fn claim(
    tx: &mut Tx<'_>,
    worker: &str,
    by: &Claimant,
    limit: u32,
) -> Result<Vec<UnitRow>, StoreError> {
    // Each is found by an index of its own.
    let expired = "leased_until <= $3";
    let waiting = "ended_at IS NULL AND leased_until IS NULL AND due_at <= $3";
    let mut claimed: Vec<UnitRow> = Vec::new();
    for which in [expired, waiting] {
        let left = limit.saturating_sub(u32::try_from(claimed.len()).unwrap_or(u32::MAX));
        if left == 0 {
            break;
        }
        let sql = format!(
            "SELECT id FROM worker_units AS unit \
             WHERE worker = $1 AND (home = '' OR home = $2) AND {which} \
                 AND NOT EXISTS (SELECT 1 FROM worker_units AS other \
                     WHERE other.worker = unit.worker AND other.home = unit.home \
                         AND other.subject = unit.subject AND other.ended_at IS NULL \
                         AND other.id <> unit.id AND (other.leased_until > $3 \
                             OR (other.token > 0 \
                                 AND (unit.token = 0 OR other.id < unit.id)))) \
             ORDER BY due_at, id LIMIT $4{}",
            tx.for_update_skip_locked()
        );
        let params = [worker.into(), (&by.home).into(), by.now.into(), left.into()];
        for row in &tx.query(&sql, &params).await? {
            let id: String = row.get(0)?;
            claimed.extend(begin(tx, &id, by).await?);
        }
    }
    Ok(claimed)
}

async fn begin(tx: &mut Tx<'_>, id: &str, by: &Claimant) -> Result<Option<UnitRow>, StoreError> {
    let sql = format!(
        "UPDATE worker_units SET token = token + 1, attempts = attempts + 1, holder = $2, \
             leased_until = $3, began_at = $4 \
         WHERE id = $1 AND ended_at IS NULL AND (leased_until IS NULL OR leased_until <= $4) \
         RETURNING {COLUMNS}"
    );
    let params = [
        id.into(),
        (&by.holder).into(),
        by.now.plus(by.lease).into(),
        by.now.into(),
    ];
    let row = tx.query_one(&sql, &params).await?;
    row.as_ref().map(decode).transpose()
}

/// Who works on it goes on.
pub async fn renew(
    tx: &mut Tx<'_>,
    id: &str,
    token: FencingToken,
    until: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE worker_units SET leased_until = $3 \
         WHERE id = $1 AND token = $2 AND ended_at IS NULL AND leased_until IS NOT NULL";
    held(tx, sql, id, token, [until.into()]).await
}

/// It is done. Committed together with its effect, which is then there once.
pub async fn complete(
    tx: &mut Tx<'_>,
    id: &str,
    token: FencingToken,
    said: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE worker_units SET ended_at = $3, outcome = 'done', said = $4, \
             holder = NULL, leased_until = NULL \
         WHERE id = $1 AND token = $2 AND ended_at IS NULL AND leased_until IS NOT NULL";
    held(tx, sql, id, token, [now.into(), Value::masked(said)]).await
}

/// It failed, and is tried again from `due` on.
pub async fn retry(
    tx: &mut Tx<'_>,
    id: &str,
    token: FencingToken,
    error: &str,
    due: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE worker_units SET due_at = $3, said = $4, holder = NULL, \
             leased_until = NULL \
         WHERE id = $1 AND token = $2 AND ended_at IS NULL AND leased_until IS NOT NULL";
    held(tx, sql, id, token, [due.into(), Value::masked(error)]).await
}

/// It failed for the last time.
pub async fn give_up(
    tx: &mut Tx<'_>,
    id: &str,
    token: FencingToken,
    error: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE worker_units SET ended_at = $3, outcome = 'dead', said = $4, \
             holder = NULL, leased_until = NULL \
         WHERE id = $1 AND token = $2 AND ended_at IS NULL AND leased_until IS NOT NULL";
    held(tx, sql, id, token, [now.into(), Value::masked(error)]).await
}

/// It was not seen through, and that says nothing against it: the next may begin at once.
pub async fn give_back(tx: &mut Tx<'_>, id: &str, token: FencingToken) -> Result<(), StoreError> {
    let sql = "UPDATE worker_units SET attempts = attempts - 1, holder = NULL, \
             leased_until = NULL \
         WHERE id = $1 AND token = $2 AND ended_at IS NULL AND leased_until IS NOT NULL";
    held(tx, sql, id, token, []).await
}

/// What this holder had at work is nobody's any more: there is one daemon of a home, and
/// the one before has died.
pub async fn release_all(tx: &mut Tx<'_>, holder: &str) -> Result<u64, StoreError> {
    let sql = "UPDATE worker_units SET holder = NULL, leased_until = NULL \
         WHERE holder = $1 AND ended_at IS NULL";
    tx.execute(sql, &[holder.into()]).await
}

/// A change by whoever holds the newest token.
async fn held<const N: usize>(
    tx: &mut Tx<'_>,
    sql: &str,
    id: &str,
    token: FencingToken,
    values: [Value; N],
) -> Result<(), StoreError> {
    let params: Vec<Value> = [id.into(), token.into()]
        .into_iter()
        .chain(values)
        .collect();
    match tx.execute(sql, &params).await? {
        1 => Ok(()),
        _ => Err(StoreError::StaleLease {
            resource: format!("unit/{id}"),
            token,
        }),
    }
}

/// What of a worker waits is due now; how many that were.
pub async fn hasten(
    tx: &mut Tx<'_>,
    worker: &str,
    home: &str,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let sql = "UPDATE worker_units SET due_at = $3, latest_at = $3 \
         WHERE worker = $1 AND (home = '' OR home = $2) AND ended_at IS NULL \
             AND leased_until IS NULL";
    tx.execute(sql, &[worker.into(), home.into(), now.into()])
        .await
}

/// What was given up is tried anew; how many that were.
pub async fn revive(
    tx: &mut Tx<'_>,
    worker: &str,
    home: &str,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let sql = "UPDATE worker_units SET ended_at = NULL, outcome = NULL, attempts = 0, \
             due_at = $3 \
         WHERE worker = $1 AND (home = '' OR home = $2) AND outcome = 'dead'";
    tx.execute(sql, &[worker.into(), home.into(), now.into()])
        .await
}

/// When the next unit of a worker may be claimed, if one waits.
pub async fn next_due(
    tx: &mut Tx<'_>,
    worker: &str,
    home: &str,
) -> Result<Option<Timestamp>, StoreError> {
    // Two questions, so that each is answered from the head of an index.
    let waiting = "SELECT due_at FROM worker_units \
         WHERE worker = $1 AND (home = '' OR home = $2) AND ended_at IS NULL \
             AND leased_until IS NULL ORDER BY due_at LIMIT 1";
    let leased = "SELECT leased_until FROM worker_units \
         WHERE worker = $1 AND (home = '' OR home = $2) AND leased_until IS NOT NULL \
         ORDER BY leased_until LIMIT 1";
    let params = [worker.into(), home.into()];
    let mut dues: Vec<Timestamp> = Vec::new();
    for sql in [waiting, leased] {
        if let Some(row) = tx.query_one(sql, &params).await? {
            dues.push(row.get(0)?);
        }
    }
    Ok(dues.into_iter().min())
}

/// Units of a worker that have not ended, of all homes.
pub async fn open_count(tx: &mut Tx<'_>, worker: &str) -> Result<u64, StoreError> {
    let sql = "SELECT COUNT(*) FROM worker_units WHERE worker = $1 AND ended_at IS NULL";
    let row = tx.query_one(sql, &[worker.into()]).await?;
    let count: Option<i64> = row.map(|row| row.get(0)).transpose()?;
    Ok(count.unwrap_or_default().unsigned_abs())
}

/// How the units of each worker stand that a home's daemon may do or has done.
pub async fn counts(
    tx: &mut Tx<'_>,
    home: &str,
    now: Timestamp,
) -> Result<Vec<(String, UnitCounts)>, StoreError> {
    let sql = "SELECT worker, \
             SUM(CASE WHEN ended_at IS NULL AND (leased_until IS NULL OR leased_until <= $2) \
                 THEN 1 ELSE 0 END), \
             SUM(CASE WHEN ended_at IS NULL AND leased_until > $2 THEN 1 ELSE 0 END), \
             SUM(CASE WHEN ended_at IS NULL AND leased_until IS NULL AND attempts > 0 \
                 THEN 1 ELSE 0 END), \
             SUM(CASE WHEN outcome = 'done' THEN 1 ELSE 0 END), \
             SUM(CASE WHEN outcome = 'dead' THEN 1 ELSE 0 END) \
         FROM worker_units WHERE home = '' OR home = $1 GROUP BY worker ORDER BY worker";
    let rows = tx.query(sql, &[home.into(), now.into()]).await?;
    let counted = |row: &Row| {
        let count = |column| row.get::<i64>(column).map(i64::unsigned_abs);
        let counts = UnitCounts {
            waiting: count(1)?,
            running: count(2)?,
            failing: count(3)?,
            done: count(4)?,
            dead: count(5)?,
        };
        Ok((row.get(0)?, counts))
    };
    rows.iter().map(counted).collect()
}

/// Units of a worker.
pub async fn list(
    tx: &mut Tx<'_>,
    worker: &str,
    home: &str,
    filter: UnitFilter,
    limit: u32,
) -> Result<Vec<UnitRow>, StoreError> {
    let (which, order) = match filter {
        UnitFilter::Open => ("ended_at IS NULL", "due_at, id"),
        UnitFilter::Ended => ("ended_at IS NOT NULL", "ended_at DESC, id DESC"),
        UnitFilter::Dead => ("outcome = 'dead'", "ended_at DESC, id DESC"),
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM worker_units \
         WHERE worker = $1 AND (home = '' OR home = $2) AND {which} ORDER BY {order} LIMIT $3"
    );
    let rows = tx
        .query(&sql, &[worker.into(), home.into(), limit.into()])
        .await?;
    rows.iter().map(decode).collect()
}

/// Deletes what was done before one moment, and given up before another.
pub async fn forget(
    tx: &mut Tx<'_>,
    done_before: Timestamp,
    dead_before: Timestamp,
) -> Result<u64, StoreError> {
    let sql = "DELETE FROM worker_units WHERE (outcome = 'done' AND ended_at < $1) \
         OR (outcome = 'dead' AND ended_at < $2)";
    tx.execute(sql, &[done_before.into(), dead_before.into()])
        .await
}

const COLUMNS: &str = "id, worker, home, subject, causes, trace_id, span_id, queued_at, due_at, \
     attempts, token, holder, leased_until, began_at, ended_at, outcome, said";

fn decode(row: &Row) -> Result<UnitRow, StoreError> {
    let outcome: Option<String> = row.get(15)?;
    Ok(UnitRow {
        id: row.get(0)?,
        worker: row.get(1)?,
        home: row.get(2)?,
        subject: row.get(3)?,
        causes: row.get(4)?,
        cause: TraceContext {
            trace_id: row.parse(5)?,
            span_id: row.parse(6)?,
            parent_span_id: None,
        },
        queued_at: row.get(7)?,
        due_at: row.get(8)?,
        attempts: row.get(9)?,
        token: row.get(10)?,
        holder: row.get(11)?,
        leased_until: row.get(12)?,
        began_at: row.get(13)?,
        ended_at: row.get(14)?,
        outcome: outcome.map(|outcome| match outcome.as_str() {
            "done" => UnitOutcome::Done,
            _ => UnitOutcome::Dead,
        }),
        said: row.get(16)?,
    })
}
