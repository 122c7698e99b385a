//! The handle: one interface, two engines.

use futures::future::BoxFuture;
use missiond_core::Seq;
use std::sync::Arc;
use tokio::sync::watch;

use crate::engine::Engine;
use crate::migrate::{MIGRATIONS, Migration};
use crate::postgres::PostgresEngine;
use crate::progress::{Progress, StoreStats};
use crate::sqlite::SqliteEngine;
use crate::timeline::{self, NewEvent};
use crate::tx::{Tx, TxOutput, Work, downcast_output, erase_output};
use crate::url::Target;
use crate::{DbUrl, StoreError};

/// A mission database.
///
/// *Committed* means: the transaction is in the engine's log and that log was
/// forced to disk. *Acknowledged* means: a call returned `Ok`. Nothing is
/// acknowledged before it is committed, and a call that returns an error other
/// than [`StoreError::OutcomeUnknown`] left nothing behind.
#[derive(Clone)]
pub struct MissionDb {
    engine: Arc<OpenEngine>,
}

enum OpenEngine {
    Sqlite(SqliteEngine),
    Postgres(Box<PostgresEngine>),
}

impl MissionDb {
    /// Opens the database, creating a SQLite file that is not there, and brings
    /// its schema to the newest version. A database of a newer missiond is
    /// refused and left as it is.
    pub async fn open(url: &DbUrl) -> Result<Self, StoreError> {
        Self::open_with_migrations(url, MIGRATIONS).await
    }

    /// Opens a database that is there for looking only: nothing is made, migrated
    /// or repaired, and whatever would write is refused. One whose schema is not
    /// this missiond's is refused too.
    pub async fn open_read_only(url: &DbUrl) -> Result<Self, StoreError> {
        let engine = match &url.0 {
            Target::Sqlite(path) => {
                OpenEngine::Sqlite(SqliteEngine::open_read_only(path, MIGRATIONS).await?)
            }
            Target::Postgres { config, .. } => OpenEngine::Postgres(Box::new(
                PostgresEngine::open_read_only(config, MIGRATIONS).await?,
            )),
        };
        Ok(Self {
            engine: Arc::new(engine),
        })
    }

    /// Opens as a missiond would that knows only these versions.
    pub(crate) async fn open_with_migrations(
        url: &DbUrl,
        known: &'static [Migration],
    ) -> Result<Self, StoreError> {
        let engine = match &url.0 {
            Target::Sqlite(path) => OpenEngine::Sqlite(SqliteEngine::open(path, known).await?),
            Target::Postgres { config, .. } => {
                OpenEngine::Postgres(Box::new(PostgresEngine::open(config, known).await?))
            }
        };
        Ok(Self {
            engine: Arc::new(engine),
        })
    }

    #[must_use]
    pub fn engine(&self) -> Engine {
        match &*self.engine {
            OpenEngine::Sqlite(_) => Engine::Sqlite,
            OpenEngine::Postgres(_) => Engine::Postgres,
        }
    }

    /// Does `work` in one transaction, all of it or nothing, and returns after
    /// the commit. The work may wait for the store alone: on SQLite it runs on
    /// the writer's thread, and waiting for anything else is an error there.
    pub async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    {
        downcast_output(self.write_work(erase_output(work)).await?)
    }

    /// Does `work` on one unchanging view of the database. Keep it short: while
    /// it is open, neither engine can take back the space of what was replaced.
    pub async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
    {
        downcast_output(self.read_work(erase_output(work)).await?)
    }

    fn write_work(&self, work: Work) -> BoxFuture<'_, Result<TxOutput, StoreError>> {
        match &*self.engine {
            OpenEngine::Sqlite(sqlite) => Box::pin(sqlite.write(work)),
            OpenEngine::Postgres(postgres) => Box::pin(postgres.write(work)),
        }
    }

    fn read_work(&self, work: Work) -> BoxFuture<'_, Result<TxOutput, StoreError>> {
        match &*self.engine {
            OpenEngine::Sqlite(sqlite) => Box::pin(sqlite.read(work)),
            OpenEngine::Postgres(postgres) => Box::pin(postgres.read(work)),
        }
    }

    /// Appends to the timeline, side by side and in this order, and returns
    /// their places after the commit. Appends of several callers share a
    /// commit; to append together with another change, use
    /// [`timeline::append`] within [`MissionDb::write`].
    pub fn append<'e>(
        &'e self,
        events: &'e [NewEvent],
    ) -> BoxFuture<'e, Result<Vec<Seq>, StoreError>> {
        Box::pin(async move {
            let events = timeline::encode(events)?;
            if events.is_empty() {
                return Ok(Vec::new());
            }
            match &*self.engine {
                OpenEngine::Sqlite(sqlite) => sqlite.append(events).await,
                OpenEngine::Postgres(postgres) => postgres.append(events).await,
            }
        })
    }

    /// The newest place in the timeline that this handle has heard of. A hint
    /// to look: on PostgreSQL it hears of every daemon's commits, on SQLite of
    /// its own.
    #[must_use]
    pub fn head_hints(&self) -> watch::Receiver<Seq> {
        self.progress().head_hints()
    }

    #[must_use]
    pub fn stats(&self) -> StoreStats {
        self.progress().stats()
    }

    /// Waits until a part of the store itself has panicked, and returns what it
    /// said. From then on nothing can be promised of this handle.
    pub fn failed(&self) -> impl Future<Output = String> + Send + use<> {
        self.progress().failed()
    }

    /// Lets everything that was asked before finish and closes the database.
    /// Other clones of the handle answer [`StoreError::Closed`] from then on.
    pub async fn close(self) -> Result<(), StoreError> {
        match &*self.engine {
            OpenEngine::Sqlite(sqlite) => sqlite.close().await,
            OpenEngine::Postgres(postgres) => postgres.close().await,
        }
    }

    fn progress(&self) -> &Progress {
        match &*self.engine {
            OpenEngine::Sqlite(sqlite) => sqlite.progress(),
            OpenEngine::Postgres(postgres) => postgres.progress(),
        }
    }
}

impl std::fmt::Debug for MissionDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MissionDb")
            .field("engine", &self.engine())
            .finish_non_exhaustive()
    }
}
