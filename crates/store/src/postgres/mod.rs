//! MissionDb on PostgreSQL: one connection that appends to the timeline, a
//! small pool for everything else, and one that carries word of new events.

mod appender;
mod connection;
mod hints;
mod pool;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use missiond_core::{Clock, Seq, SystemClock};
use tokio_postgres::Config;

#[cfg(feature = "baseline")]
pub(crate) use connection::EventColumns;
pub(crate) use connection::PgConnection;

use crate::StoreError;
use crate::migrate::{self, Migration};
use crate::progress::Progress;
use crate::timeline::{self, EncodedEvent};
use crate::tx::{Access, Link, Tx, TxOutput, Work};

use appender::Appender;
use hints::HeadHints;
use pool::Pool;

/// Held while migrating, so that of several daemons that start together one
/// migrates and the others find it done. The number has no meaning of its own.
const MIGRATION_LOCK: i64 = 0x6d69_7373_696f_6e64;

pub(crate) struct PostgresEngine {
    pool: Pool,
    /// `None` when it was opened for looking only.
    write_side: Option<WriteSide>,
    progress: Arc<Progress>,
}

/// What appends to the timeline and carries word of it.
struct WriteSide {
    appender: Appender,
    hints: HeadHints,
}

impl PostgresEngine {
    pub(crate) async fn open(
        config: &Config,
        known: &'static [Migration],
    ) -> Result<Self, StoreError> {
        let mut connection = PgConnection::open(config).await?;
        let head = prepare_schema(&mut connection, known).await?;
        warn_if_not_durable(&mut connection).await?;
        let progress = Arc::new(Progress::starting_at(head));
        let pool = Pool::new(config.clone());
        let hints = HeadHints::start(config.clone(), Arc::clone(&progress));
        connection.plan_once().await?;
        let appender = Appender::start(
            config.clone(),
            connection,
            Arc::clone(&progress),
            hints.notifier(),
        );
        Ok(Self {
            pool,
            write_side: Some(WriteSide { appender, hints }),
            progress,
        })
    }

    pub(crate) async fn open_read_only(
        config: &Config,
        known: &'static [Migration],
    ) -> Result<Self, StoreError> {
        let mut connection = PgConnection::open(config).await?;
        let applied = connection.query(migrate::APPLIED, &[]).await?;
        migrate::nothing_pending(&applied, known)?;
        let head = check_head(&mut connection).await?;
        Ok(Self {
            pool: Pool::new(config.clone()),
            write_side: None,
            progress: Arc::new(Progress::starting_at(head)),
        })
    }

    fn write_side(&self) -> Result<&WriteSide, StoreError> {
        self.write_side.as_ref().ok_or_else(StoreError::read_only)
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    pub(crate) async fn write(&self, work: Work) -> Result<TxOutput, StoreError> {
        let write_side = self.write_side()?;
        let mut lent = self.pool.begin("BEGIN").await?;
        let (outcome, head) = run(lent.connection(), Access::ReadWrite, work).await;
        match outcome {
            Ok(value) => {
                lent.connection().commit().await?;
                lent.release();
                self.progress.committed(head);
                if let Some(head) = head {
                    write_side.hints.notify(head);
                }
                Ok(value)
            }
            Err(error) => {
                if lent.connection().batch("ROLLBACK").await.is_ok() {
                    lent.release();
                }
                Err(error)
            }
        }
    }

    pub(crate) async fn read(&self, work: Work) -> Result<TxOutput, StoreError> {
        let mut lent = self
            .pool
            .begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await?;
        let (outcome, _) = run(lent.connection(), Access::ReadOnly, work).await;
        if lent.connection().batch("ROLLBACK").await.is_ok() {
            lent.release();
        }
        outcome
    }

    pub(crate) async fn append(&self, events: Vec<EncodedEvent>) -> Result<Vec<Seq>, StoreError> {
        self.write_side()?.appender.append(events).await
    }

    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        if let Some(write_side) = &self.write_side {
            write_side.appender.close().await;
        }
        self.pool.close().await;
        if let Some(write_side) = &self.write_side {
            write_side.hints.close().await;
        }
        Ok(())
    }
}

/// Runs a transaction's closure; says what came of it and where it would leave
/// the timeline.
async fn run(
    connection: &mut PgConnection,
    access: Access,
    work: Work,
) -> (Result<TxOutput, StoreError>, Option<Seq>) {
    let mut tx = Tx::new(Link::Postgres(connection), access);
    // The block makes a panic before the first await one of the future's too.
    let running = async { work(&mut tx).await };
    let said = AssertUnwindSafe(running)
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(StoreError::from_panic(&*panic)));
    (tx.outcome(said), tx.new_head())
}

async fn prepare_schema(
    connection: &mut PgConnection,
    known: &[Migration],
) -> Result<Seq, StoreError> {
    // Another daemon's migration may take longer than any statement should.
    connection.batch("SET lock_timeout = 0").await?;
    connection
        .query("SELECT pg_advisory_lock($1)", &[MIGRATION_LOCK.into()])
        .await?;
    let migrated = migrate(connection, known).await;
    let unlocked = connection
        .execute("SELECT pg_advisory_unlock_all()", &[])
        .await;
    migrated?;
    unlocked?;
    connection.batch("SET lock_timeout = '10s'").await?;
    check_head(connection).await
}

async fn migrate(connection: &mut PgConnection, known: &[Migration]) -> Result<(), StoreError> {
    connection
        .batch(&format!(
            "SET client_min_messages = warning; {}",
            migrate::RECORD
        ))
        .await?;
    let applied = connection.query(migrate::APPLIED, &[]).await?;
    for next in migrate::pending(&applied, known)? {
        tracing::info!(migration = next.name, "database migration started");
        connection.batch("BEGIN").await?;
        let step = async {
            connection.batch(next.for_postgres()).await?;
            let record = next.record(SystemClock.now());
            connection.execute(migrate::RECORD_ONE, &record).await?;
            connection.commit().await
        };
        if let Err(error) = step.await {
            connection.batch("ROLLBACK").await?;
            return Err(error);
        }
    }
    Ok(())
}

/// As for SQLite: an event beyond the recorded end would be given its number
/// a second time.
async fn check_head(connection: &mut PgConnection) -> Result<Seq, StoreError> {
    let corrupt = |detail| StoreError::Corrupt {
        path: "on the PostgreSQL server".into(),
        detail,
    };
    let rows = connection.query(timeline::HEAD_AND_LAST, &[]).await?;
    let row = rows
        .first()
        .ok_or_else(|| corrupt("timeline_head is empty".into()))?;
    let (head, last): (i64, i64) = (row.get(0)?, row.get(1)?);
    if last > head {
        return Err(corrupt(format!(
            "the timeline holds event {last} but ends at {head}"
        )));
    }
    Ok(Seq(head))
}

async fn warn_if_not_durable(connection: &mut PgConnection) -> Result<(), StoreError> {
    let rows = connection
        .query("SELECT current_setting('fsync')", &[])
        .await?;
    if rows.first().map(|row| row.text(0)).transpose()? != Some("on") {
        tracing::warn!("PostgreSQL server runs with fsync off: a power cut can lose commits");
    }
    Ok(())
}
