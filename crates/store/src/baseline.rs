//! The ceiling for appends: the same rows, put into the same table by the same
//! driver with nothing around it. `append` is measured against this, so that
//! what the handle costs is a number and not a belief.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, NoTls};

use crate::error::{Phase, from_postgres, from_sqlite};
use crate::postgres::EventColumns;
use crate::timeline::{self, EncodedEvent, NewEvent};
use crate::url::Target;
use crate::{DbUrl, MissionDb, StoreError};

/// How long raw inserts of `events` take, `per_transaction` rows to a durable
/// commit, on a new database at `url`. Making the schema and preparing the rows
/// is not counted.
pub async fn raw_appends(
    url: &DbUrl,
    events: &[NewEvent],
    per_transaction: usize,
) -> Result<Duration, StoreError> {
    MissionDb::open(url).await?.close().await?;
    let events = timeline::encode(events)?;
    let per_transaction = per_transaction.max(1);
    match &url.0 {
        Target::Sqlite(path) => {
            let path = path.clone();
            let running =
                tokio::task::spawn_blocking(move || sqlite(&path, &events, per_transaction));
            running
                .await
                .map_err(|error| StoreError::internal(error.to_string()))?
        }
        Target::Postgres { config, .. } => postgres(config, &events, per_transaction).await,
    }
}

fn sqlite(
    path: &Path,
    events: &[EncodedEvent],
    per_transaction: usize,
) -> Result<Duration, StoreError> {
    let insert = || -> rusqlite::Result<Duration> {
        let connection = rusqlite::Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
             PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864;",
        )?;
        let mut statement = connection.prepare(timeline::INSERT_ONE)?;
        let began = Instant::now();
        let mut seq = 0;
        for batch in events.chunks(per_transaction) {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            for event in batch {
                seq += 1;
                statement.execute(timeline::sqlite_params!(seq, event))?;
            }
            connection.execute_batch("COMMIT")?;
        }
        Ok(began.elapsed())
    };
    insert().map_err(|error| from_sqlite(&error, path))
}

async fn postgres(
    config: &Config,
    events: &[EncodedEvent],
    per_transaction: usize,
) -> Result<Duration, StoreError> {
    let insert = async {
        let (client, connection) = config.connect(NoTls).await?;
        let driving = tokio::spawn(connection);
        client.batch_execute("SET synchronous_commit = on").await?;
        let statement = client.prepare(RAW_INSERT).await?;
        let began = Instant::now();
        let mut before = 0i64;
        for batch in events.chunks(per_transaction) {
            let columns = EventColumns::of(batch);
            let mut params: Vec<&(dyn ToSql + Sync)> = vec![&before];
            params.extend(columns.params());
            client.execute(&statement, &params).await?;
            before += batch.len() as i64;
        }
        let elapsed = began.elapsed();
        drop(client);
        // The connection ends when its client does; how is of no interest.
        let _ = driving.await;
        Ok(elapsed)
    };
    insert
        .await
        .map_err(|error: tokio_postgres::Error| from_postgres(&error, Phase::BeforeCommit))
}

const RAW_INSERT: &str = "INSERT INTO system_timeline \
         (seq, at, daemon, trace_id, span_id, parent_span_id, kind, category, payload) \
     SELECT $1 + event.place, event.at, event.daemon, event.trace_id, \
         event.span_id, event.parent_span_id, event.kind, event.category, event.payload \
     FROM UNNEST($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], \
         $7::text[], $8::text[], $9::text[]) WITH ORDINALITY AS event \
         (at, daemon, trace_id, span_id, parent_span_id, kind, category, payload, place)";
