//! A transaction, as the rest of the crate sees it: one SQL text with `$1`
//! parameters, run by whichever engine is behind it.
//!
//! Statements are boxed futures: the body of an `async fn` is compiled again in
//! every crate that awaits it, and that of these would be all of the PostgreSQL
//! driver.
//!
//! After a statement has failed the transaction can only end: PostgreSQL
//! refuses to go on, so the same holds for SQLite, and the work is rolled back
//! even if its closure returns `Ok`.

use std::any::Any;

use futures::TryFutureExt;
use futures::future::BoxFuture;
use missiond_core::Seq;

use crate::postgres::PgConnection;
use crate::sqlite::SqliteConnection;
use crate::{Engine, Row, StoreError, Value};

/// Work to be done in one transaction. The type of what it makes is left out, so
/// that the engines are compiled once and not for every caller.
pub(crate) type Work =
    Box<dyn for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<TxOutput, StoreError>> + Send>;

/// What a transaction made, whatever it is.
pub(crate) type TxOutput = Box<dyn Any + Send>;

pub(crate) fn erase_output<T, F>(work: F) -> Work
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
{
    Box::new(move |tx| Box::pin(work(tx).map_ok(|output| Box::new(output) as TxOutput)))
}

pub(crate) fn downcast_output<T: 'static>(output: TxOutput) -> Result<T, StoreError> {
    match output.downcast() {
        Ok(output) => Ok(*output),
        Err(_) => Err(StoreError::internal("a transaction made something else")),
    }
}

/// Whether a transaction may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    ReadWrite,
}

/// An open transaction. It ends with the closure it was given to.
pub struct Tx<'c> {
    link: Link<'c>,
    access: Access,
    failure: Option<StoreError>,
    new_head: Option<Seq>,
}

pub(crate) enum Link<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl<'c> Tx<'c> {
    pub(crate) const fn new(link: Link<'c>, access: Access) -> Self {
        Self {
            link,
            access,
            failure: None,
            new_head: None,
        }
    }

    #[must_use]
    pub const fn engine(&self) -> Engine {
        match self.link {
            Link::Sqlite(_) => Engine::Sqlite,
            Link::Postgres(_) => Engine::Postgres,
        }
    }

    /// Runs a statement and says how many rows it changed.
    pub fn execute<'t>(
        &'t mut self,
        sql: &'t str,
        params: &'t [Value],
    ) -> BoxFuture<'t, Result<u64, StoreError>> {
        Box::pin(async move {
            self.check_params(params)?;
            let result = match &mut self.link {
                Link::Sqlite(connection) => connection.execute(sql, params),
                Link::Postgres(connection) => connection.execute(sql, params).await,
            };
            self.track_failure(result)
        })
    }

    /// Runs a statement and returns its rows.
    pub fn query<'t>(
        &'t mut self,
        sql: &'t str,
        params: &'t [Value],
    ) -> BoxFuture<'t, Result<Vec<Row>, StoreError>> {
        Box::pin(async move {
            self.check_params(params)?;
            let result = match &mut self.link {
                Link::Sqlite(connection) => connection.query(sql, params),
                Link::Postgres(connection) => connection.query(sql, params).await,
            };
            self.track_failure(result)
        })
    }

    /// Runs a statement that returns at most one row.
    pub async fn query_one(
        &mut self,
        sql: &str,
        params: &[Value],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    /// Ends a `SELECT` whose rows will be changed, so that no other transaction
    /// changes them first. SQLite has one writer at a time and needs nothing.
    pub(crate) const fn for_update(&self) -> &'static str {
        match (self.engine(), self.access) {
            (Engine::Postgres, Access::ReadWrite) => " FOR UPDATE",
            _ => "",
        }
    }

    /// As [`Tx::for_update`], leaving out rows another transaction holds.
    pub(crate) const fn for_update_skip_locked(&self) -> &'static str {
        match (self.engine(), self.access) {
            (Engine::Postgres, Access::ReadWrite) => " FOR UPDATE SKIP LOCKED",
            _ => "",
        }
    }

    pub(crate) const fn link(&mut self) -> &mut Link<'c> {
        &mut self.link
    }

    /// The timeline will end here if this transaction commits.
    pub(crate) const fn set_new_head(&mut self, head: Seq) {
        self.new_head = Some(head);
    }

    pub(crate) const fn new_head(&self) -> Option<Seq> {
        self.new_head
    }

    /// What the transaction as a whole came to, given what its closure said.
    pub(crate) fn outcome<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        match (result, &self.failure) {
            (Ok(_), Some(failure)) => Err(failure.clone()),
            (result, _) => result,
        }
    }

    pub(crate) fn track_failure<T>(
        &mut self,
        result: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Err(error) = &result {
            self.failure.get_or_insert_with(|| error.clone());
        }
        result
    }

    fn check_params(&self, params: &[Value]) -> Result<(), StoreError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        // PostgreSQL cannot hold it; what one engine refuses, both refuse.
        let has_nul = |value: &Value| matches!(value, Value::Text(text) if text.contains('\0'));
        if params.iter().any(has_nul) {
            return Err(StoreError::InvalidValue {
                detail: "text with a NUL character in it".into(),
            });
        }
        Ok(())
    }
}

impl std::fmt::Debug for Tx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx")
            .field("engine", &self.engine())
            .field("access", &self.access)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}
