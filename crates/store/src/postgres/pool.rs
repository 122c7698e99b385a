//! A few connections, lent out one transaction at a time. One that is not
//! given back in good order is closed, which makes the server roll back
//! whatever was open on it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::Config;

use super::PgConnection;
use crate::StoreError;

const CONNECTIONS: u32 = 8;

pub(super) struct Pool {
    config: Config,
    idle: Arc<Mutex<Vec<PgConnection>>>,
    permits: Arc<Semaphore>,
}

pub(super) struct PooledConnection {
    connection: PgConnection,
    pool: Arc<Mutex<Vec<PgConnection>>>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(CONNECTIONS as usize)),
        }
    }

    /// A connection on which the transaction has been begun.
    pub(super) async fn begin(&self, begin: &str) -> Result<PooledConnection, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        let idle = self.pop_idle();
        let connection = match idle {
            // A kept connection may have died unnoticed. Nothing has been done
            // on it yet, so trying another one repeats nothing.
            Some(connection) if connection.batch(begin).await.is_ok() => connection,
            _ => {
                let connection = PgConnection::open(&self.config).await?;
                connection.batch(begin).await?;
                connection
            }
        };
        Ok(PooledConnection {
            connection,
            pool: Arc::clone(&self.idle),
            _permit: permit,
        })
    }

    /// Waits until every transaction has ended.
    pub(super) async fn close(&self) {
        let all = self.permits.acquire_many(CONNECTIONS).await;
        self.permits.close();
        drop(all);
        self.idle.lock().clear();
    }

    fn pop_idle(&self) -> Option<PgConnection> {
        let mut idle = self.idle.lock();
        idle.retain(|connection| !connection.is_closed());
        idle.pop()
    }
}

impl PooledConnection {
    pub(super) const fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Its transaction has ended, so the next may begin on it.
    pub(super) fn release(self) {
        if !self.connection.is_closed() {
            let mut idle = self.pool.lock();
            idle.push(self.connection);
        }
    }
}
