//! MissionDb on SQLite: one thread that writes, a few that read.

pub(crate) mod backup;
mod connection;
mod readers;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::{Clock, Seq, SystemClock};
use tokio::sync::oneshot;

pub(crate) use connection::SqliteConnection;

use crate::migrate::{self, Migration};
use crate::progress::Progress;
use crate::timeline::{self, EncodedEvent};
use crate::tx::{TxOutput, Work};
use crate::{StoreError, Value};

use readers::Readers;
use writer::{Job, Writer};

pub(crate) struct SqliteEngine {
    /// `None` when it was opened for looking only.
    writer: Option<Writer>,
    readers: Readers,
    progress: Arc<Progress>,
}

const OPEN_PATIENCE: Duration = Duration::from_secs(10);
const OPEN_PAUSE: Duration = Duration::from_millis(20);

impl SqliteEngine {
    pub(crate) async fn open(path: &Path, known: &'static [Migration]) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let opening = tokio::task::spawn_blocking(move || {
            let deadline = Instant::now() + OPEN_PATIENCE;
            loop {
                // Another process may be opening it at this very moment, and for
                // some steps of that SQLite does not wait by itself.
                match Self::try_open(&path, known) {
                    Err(StoreError::Busy { .. }) if Instant::now() < deadline => {
                        std::thread::sleep(OPEN_PAUSE);
                    }
                    opened => return opened,
                }
            }
        });
        opening
            .await
            .map_err(|error| StoreError::internal(format!("opening the database: {error}")))?
    }

    fn try_open(path: &Path, known: &'static [Migration]) -> Result<Self, StoreError> {
        let mut connection = SqliteConnection::open_writer(path)?;
        let head = prepare_schema(&mut connection, known)?;
        let progress = Arc::new(Progress::starting_at(head));
        Ok(Self {
            readers: Readers::start(path, &progress)?,
            writer: Some(Writer::start(connection, Arc::clone(&progress))?),
            progress,
        })
    }

    pub(crate) async fn open_read_only(
        path: &Path,
        known: &'static [Migration],
    ) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let looking = tokio::task::spawn_blocking(move || {
            let mut connection = SqliteConnection::open_reader(&path)?;
            let applied = connection.query(migrate::APPLIED, &[])?;
            migrate::nothing_pending(&applied, known)?;
            let head = check_head(&mut connection)?;
            let progress = Arc::new(Progress::starting_at(head));
            Ok(Self {
                readers: Readers::start(&path, &progress)?,
                writer: None,
                progress,
            })
        });
        looking
            .await
            .map_err(|error| StoreError::internal(format!("opening the database: {error}")))?
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    fn writer(&self) -> Result<&Writer, StoreError> {
        self.writer.as_ref().ok_or_else(StoreError::read_only)
    }

    pub(crate) async fn write(&self, work: Work) -> Result<TxOutput, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.writer()?.send(Job::work(work, reply)).await?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(crate) async fn read(&self, work: Work) -> Result<TxOutput, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.readers.send(work, reply).await?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(crate) async fn append(&self, events: Vec<EncodedEvent>) -> Result<Vec<Seq>, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.writer()?.send(Job::Append { events, reply }).await?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// The readers end first: a checkpoint cannot pass an open snapshot.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        self.readers.close().await;
        let Some(writer) = &self.writer else {
            return Ok(());
        };
        let (reply, answer) = oneshot::channel();
        if writer.send(Job::Close { reply }).await.is_err() {
            return Ok(());
        }
        answer.await.unwrap_or(Ok(()))
    }
}

/// Brings the schema to the newest version and says where the timeline ends.
fn prepare_schema(
    connection: &mut SqliteConnection,
    known: &[Migration],
) -> Result<Seq, StoreError> {
    // One transaction at a time holds the write lock, so of several daemons
    // that start together one migrates and the others find it done.
    loop {
        connection.batch("BEGIN IMMEDIATE")?;
        let step = one_migration(connection, known);
        match step {
            Ok(Step::Applied) => connection.batch("COMMIT")?,
            Ok(Step::UpToDate) => {
                connection.batch("COMMIT")?;
                break;
            }
            Err(error) => {
                if connection.in_transaction() {
                    connection.batch("ROLLBACK")?;
                }
                return Err(error);
            }
        }
    }
    check_head(connection)
}

enum Step {
    Applied,
    UpToDate,
}

fn one_migration(
    connection: &mut SqliteConnection,
    known: &[Migration],
) -> Result<Step, StoreError> {
    connection.batch(&migrate::for_sqlite(migrate::RECORD))?;
    let applied = connection.query(migrate::APPLIED, &[])?;
    let Some(next) = migrate::pending(&applied, known)?.first() else {
        return Ok(Step::UpToDate);
    };
    tracing::info!(migration = next.name, "database migration started");
    connection.batch(&next.for_sqlite())?;
    connection.execute(migrate::RECORD_ONE, &next.record(SystemClock.now()))?;
    Ok(Step::Applied)
}

/// Where the timeline ends. An event beyond the recorded end would be given
/// its number a second time, so a file that has one is not used.
pub(crate) fn check_head(connection: &mut SqliteConnection) -> Result<Seq, StoreError> {
    let rows = connection.query(timeline::HEAD_AND_LAST, &[] as &[Value])?;
    let row = rows
        .first()
        .ok_or_else(|| headless(connection.path(), "timeline_head is empty".into()))?;
    let (head, last): (i64, i64) = (row.get(0)?, row.get(1)?);
    if last > head {
        let detail = format!("the timeline holds event {last} but ends at {head}");
        return Err(headless(connection.path(), detail));
    }
    Ok(Seq(head))
}

fn headless(path: &Path, detail: String) -> StoreError {
    StoreError::Corrupt {
        path: path.display().to_string(),
        detail,
    }
}
