//! One connection to a PostgreSQL server, with its prepared statements and the
//! neutral values going in and out.

use std::collections::HashMap;

use missiond_core::Seq;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Statement};

use crate::error::{Phase, from_postgres};
use crate::timeline::{self, EncodedEvent};
use crate::{Row, StoreError, Value};

/// Statements kept prepared. The crate has about fifty; filters make more.
const PREPARED: usize = 256;

/// `synchronous_commit` is what makes an acknowledged commit durable; a server
/// or a user may have another default. The timeouts end what would otherwise
/// hold a lock that others wait for.
const SESSION: &str = "SET synchronous_commit = on; \
     SET lock_timeout = '10s'; \
     SET idle_in_transaction_session_timeout = '60s'; \
     SET default_transaction_isolation = 'read committed'";

pub(crate) struct PgConnection {
    client: Client,
    statements: HashMap<String, Statement>,
}

impl PgConnection {
    pub(crate) async fn open(config: &Config) -> Result<Self, StoreError> {
        let (client, connection) =
            config.connect(NoTls).await.map_err(|error| {
                match from_postgres(&error, Phase::BeforeCommit) {
                    StoreError::Unavailable { detail } => StoreError::Unavailable {
                        detail: format!("PostgreSQL did not accept the connection: {detail}"),
                    },
                    other => other,
                }
            })?;
        // A connection that ends, however it does, is opened again by whoever
        // needs it next.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "PostgreSQL connection lost");
            }
        });
        let this = Self {
            client,
            statements: HashMap::new(),
        };
        this.batch(SESSION).await?;
        Ok(this)
    }

    pub(crate) async fn open_for_appends(config: &Config) -> Result<Self, StoreError> {
        let this = Self::open(config).await?;
        this.plan_once().await?;
        Ok(this)
    }

    /// Statements of this connection are planned once and not for each call: the
    /// plan of an append is the same whatever it holds.
    pub(crate) async fn plan_once(&self) -> Result<(), StoreError> {
        self.batch("SET plan_cache_mode = force_generic_plan").await
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Statements without parameters or results.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), StoreError> {
        let result = self.client.batch_execute(sql).await;
        result.map_err(|error| from_postgres(&error, Phase::BeforeCommit))
    }

    pub(crate) async fn commit(&self) -> Result<(), StoreError> {
        let result = self.client.batch_execute("COMMIT").await;
        result.map_err(|error| from_postgres(&error, Phase::Commit))
    }

    pub(crate) async fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, StoreError> {
        let statement = self.prepared(sql).await?;
        let result = self
            .client
            .execute(&statement, &self::params(&statement, params))
            .await;
        result.map_err(|error| from_postgres(&error, Phase::BeforeCommit))
    }

    pub(crate) async fn query(
        &mut self,
        sql: &str,
        params: &[Value],
    ) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepared(sql).await?;
        let rows = self
            .client
            .query(&statement, &self::params(&statement, params))
            .await
            .map_err(|error| from_postgres(&error, Phase::BeforeCommit))?;
        rows.iter().map(read).collect()
    }

    /// Appends as a transaction of its own, durable when it returns.
    pub(crate) async fn insert_events(
        &mut self,
        events: &[EncodedEvent],
    ) -> Result<Seq, StoreError> {
        self.insert(events, Phase::Commit).await
    }

    /// Appends within the open transaction.
    pub(crate) async fn insert_events_in_transaction(
        &mut self,
        events: &[EncodedEvent],
    ) -> Result<Seq, StoreError> {
        self.insert(events, Phase::BeforeCommit).await
    }

    async fn insert(&mut self, events: &[EncodedEvent], phase: Phase) -> Result<Seq, StoreError> {
        let statement = self.prepared(timeline::INSERT_MANY).await?;
        let columns = EventColumns::of(events);
        let count = events.len() as i64;
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&count];
        params.extend(columns.params());
        let row = self
            .client
            .query_one(&statement, &params)
            .await
            .map_err(|error| from_postgres(&error, phase))?;
        read(&row)?.get(0)
    }

    async fn prepared(&mut self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let prepared = self.client.prepare(sql).await;
        let statement = prepared.map_err(|error| from_postgres(&error, Phase::BeforeCommit))?;
        if self.statements.len() >= PREPARED {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// Events turned on their side: one array per column, as UNNEST takes them.
pub(crate) struct EventColumns<'e> {
    at: Vec<i64>,
    daemon: Vec<&'e str>,
    trace_id: Vec<&'e str>,
    span_id: Vec<&'e str>,
    parent_span_id: Vec<Option<&'e str>>,
    kind: Vec<&'e str>,
    category: Vec<&'e str>,
    payload: Vec<&'e str>,
}

impl<'e> EventColumns<'e> {
    pub(crate) fn of(events: &'e [EncodedEvent]) -> Self {
        fn column<'e, T>(events: &'e [EncodedEvent], of: impl Fn(&'e EncodedEvent) -> T) -> Vec<T> {
            events.iter().map(of).collect()
        }
        Self {
            at: column(events, |event| event.at),
            daemon: column(events, |event| event.daemon()),
            trace_id: column(events, |event| event.trace_id()),
            span_id: column(events, |event| event.span_id()),
            parent_span_id: column(events, |event| event.parent_span_id()),
            kind: column(events, |event| event.kind),
            category: column(events, |event| event.category),
            payload: column(events, |event| event.payload()),
        }
    }

    pub(crate) fn params(&self) -> [&(dyn ToSql + Sync); 8] {
        [
            &self.at,
            &self.daemon,
            &self.trace_id,
            &self.span_id,
            &self.parent_span_id,
            &self.kind,
            &self.category,
            &self.payload,
        ]
    }
}

/// The driver refuses a value whose type is not the one the server inferred.
fn params<'v>(statement: &Statement, values: &'v [Value]) -> Vec<&'v (dyn ToSql + Sync)> {
    let types = statement
        .params()
        .iter()
        .map(Some)
        .chain(std::iter::repeat(None));
    let param = |(value, ty): (&'v Value, Option<&Type>)| -> &'v (dyn ToSql + Sync) {
        match value {
            Value::Int(n) => n,
            Value::Real(n) => n,
            Value::Text(text) => text,
            Value::Bytes(bytes) => bytes,
            Value::Null => match ty {
                Some(&Type::INT8) => &None::<i64>,
                Some(&Type::FLOAT8) => &None::<f64>,
                Some(&Type::BYTEA) => &None::<&[u8]>,
                _ => &None::<&str>,
            },
        }
    };
    values.iter().zip(types).map(param).collect()
}

fn read(row: &tokio_postgres::Row) -> Result<Row, StoreError> {
    let unreadable = |error: tokio_postgres::Error| StoreError::internal(error.to_string());
    let columns = row.columns().iter().enumerate().map(|(index, column)| {
        fn optional<'r, T: FromSql<'r>>(
            row: &'r tokio_postgres::Row,
            index: usize,
            value: impl Fn(T) -> Value,
        ) -> Result<Value, tokio_postgres::Error> {
            Ok(row
                .try_get::<_, Option<T>>(index)?
                .map_or(Value::Null, value))
        }
        match *column.type_() {
            Type::INT8 => optional(row, index, Value::Int),
            Type::INT4 => optional(row, index, |n: i32| Value::Int(n.into())),
            Type::FLOAT8 => optional(row, index, Value::Real),
            Type::TEXT | Type::VARCHAR | Type::NAME => optional(row, index, Value::Text),
            Type::BYTEA => optional(row, index, Value::Bytes),
            Type::VOID => Ok(Value::Null),
            ref other => {
                return Err(StoreError::internal(format!(
                    "column {} has the type {other}, which SQLite does not share",
                    column.name()
                )));
            }
        }
        .map_err(unreadable)
    });
    Ok(Row(columns.collect::<Result<_, _>>()?))
}
