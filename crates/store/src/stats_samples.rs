//! The daemon's numbers at one moment after the other, for plots.
//!
//! Fine samples are put together to coarse ones before they are let go; of both
//! only the newest are kept, so the table has a size and keeps it. Every number
//! is a level or a rate, so several samples become one by their mean.

use std::collections::BTreeMap;

use missiond_core::Timestamp;

use crate::{Engine, StoreError, Tx, Value};

/// The numbers of a moment, by name.
pub type Numbers = BTreeMap<String, f64>;

#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub at: Timestamp,
    pub numbers: Numbers,
}

/// So many fine samples become a coarse one.
pub const FINE_IN_COARSE: usize = 15;
/// So many samples are kept of each resolution: a day and fifteen, at one a
/// minute.
pub const KEPT: u32 = 1440;

const FINE: i64 = 0;
const COARSE: i64 = 1;

/// Adds the numbers of a moment and lets go of what is too old.
pub async fn add(tx: &mut Tx<'_>, host: &str, sample: &Sample) -> Result<(), StoreError> {
    insert(tx, host, FINE, sample).await?;
    let sql = "SELECT max(at) FROM stats_samples WHERE host = $1 AND resolution = $2";
    let row = tx.query_one(sql, &[host.into(), COARSE.into()]).await?;
    let last: Option<Timestamp> = row.map_or(Ok(None), |row| row.get(0))?;
    let after = last.unwrap_or(Timestamp::from_micros(i64::MIN));
    let sql = "SELECT at, numbers FROM stats_samples \
         WHERE host = $1 AND resolution = $2 AND at > $3 ORDER BY at LIMIT $4";
    let params = [
        host.into(),
        FINE.into(),
        after.into(),
        (FINE_IN_COARSE as i64).into(),
    ];
    let fine = decode(&tx.query(sql, &params).await?)?;
    if let (FINE_IN_COARSE, Some(last)) = (fine.len(), fine.last()) {
        let coarse = Sample {
            at: last.at,
            numbers: mean(&fine),
        };
        insert(tx, host, COARSE, &coarse).await?;
    }
    for resolution in [FINE, COARSE] {
        let sql = "DELETE FROM stats_samples WHERE host = $1 AND resolution = $2 AND at < \
             (SELECT at FROM stats_samples WHERE host = $1 AND resolution = $2 \
              ORDER BY at DESC LIMIT 1 OFFSET $3)";
        let params = [host.into(), resolution.into(), i64::from(KEPT - 1).into()];
        tx.execute(sql, &params).await?;
    }
    Ok(())
}

/// Everything since a moment, oldest first: fine as far back as it goes, and
/// coarse before that.
pub async fn since(
    tx: &mut Tx<'_>,
    host: &str,
    since: Timestamp,
) -> Result<Vec<Sample>, StoreError> {
    let sql = "SELECT at, numbers FROM stats_samples WHERE host = $1 AND resolution = $2 \
         AND at >= $3 AND at < coalesce((SELECT min(at) FROM stats_samples \
             WHERE host = $1 AND resolution = $4), 9223372036854775807) ORDER BY at";
    let params = [host.into(), COARSE.into(), since.into(), FINE.into()];
    let mut samples = decode(&tx.query(sql, &params).await?)?;
    let sql = "SELECT at, numbers FROM stats_samples \
         WHERE host = $1 AND resolution = $2 AND at >= $3 ORDER BY at";
    let params = [host.into(), FINE.into(), since.into()];
    samples.extend(decode(&tx.query(sql, &params).await?)?);
    Ok(samples)
}

/// One sample for several: the mean of each number where it was known.
#[must_use]
pub fn mean(samples: &[Sample]) -> Numbers {
    let mut sums: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
    for (name, number) in samples.iter().flat_map(|sample| &sample.numbers) {
        let (sum, count) = sums.entry(name).or_default();
        *sum += number;
        *count += 1;
    }
    let mean = |(name, (sum, count)): (&str, (f64, u32))| (name.to_owned(), sum / f64::from(count));
    sums.into_iter().map(mean).collect()
}

/// What there is at this moment, counted in the database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// By status, in the words of the board.
    pub tasks: Vec<(String, u64)>,
    pub open_questions: u64,
    pub open_incidents: u64,
    pub running_executions: u64,
    pub database_bytes: u64,
}

pub async fn standing(tx: &mut Tx<'_>) -> Result<Standing, StoreError> {
    let sql = "SELECT status, count(*) FROM board_tasks GROUP BY status ORDER BY status";
    let mut tasks = Vec::new();
    for row in tx.query(sql, &[]).await? {
        tasks.push((row.get(0)?, number(row.get(1)?)));
    }
    let size = match tx.engine() {
        Engine::Sqlite => {
            "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        }
        Engine::Postgres => "SELECT pg_database_size(current_database())",
    };
    Ok(Standing {
        tasks,
        open_questions: one(
            tx,
            "SELECT count(*) FROM agent_questions WHERE closed_at IS NULL",
        )
        .await?,
        open_incidents: one(
            tx,
            "SELECT count(*) FROM incidents WHERE resolved_at IS NULL",
        )
        .await?,
        running_executions: one(tx, "SELECT count(*) FROM executions WHERE ended_at IS NULL")
            .await?,
        database_bytes: one(tx, size).await?,
    })
}

async fn one(tx: &mut Tx<'_>, sql: &str) -> Result<u64, StoreError> {
    let row = tx.query_one(sql, &[]).await?;
    Ok(number(row.map_or(Ok(0), |row| row.get(0))?))
}

fn number(found: i64) -> u64 {
    u64::try_from(found).unwrap_or(0)
}

async fn insert(
    tx: &mut Tx<'_>,
    host: &str,
    resolution: i64,
    sample: &Sample,
) -> Result<(), StoreError> {
    let numbers = serde_json::to_string(&sample.numbers)
        .map_err(|error| StoreError::internal(error.to_string()))?;
    // Two daemons of one host may take theirs at the same moment.
    let sql = "INSERT INTO stats_samples (host, resolution, at, numbers) \
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    let params: [Value; 4] = [
        host.into(),
        resolution.into(),
        sample.at.into(),
        numbers.into(),
    ];
    tx.execute(sql, &params).await.map(drop)
}

fn decode(rows: &[crate::Row]) -> Result<Vec<Sample>, StoreError> {
    let one = |row: &crate::Row| {
        let numbers = serde_json::from_str(row.text(1)?)
            .map_err(|error| StoreError::internal(format!("a sample cannot be read: {error}")))?;
        Ok(Sample {
            at: row.get(0)?,
            numbers,
        })
    };
    rows.iter().map(one).collect()
}
