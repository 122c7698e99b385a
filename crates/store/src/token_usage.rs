//! What agents used, by day, and the budgets that are checked in the very
//! transaction that writes it.
//!
//! An execution counts its tokens itself and only upwards, so what is written is
//! what its count says beyond what is on record: written twice it counts once.

use missiond_core::{BoardTaskId, BudgetScope, CliEngine, ExecutionId, Timestamp};

use crate::{StoreError, Tx, Value};

/// Tokens, as the vendors count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Those of `cache_write` that stay for an hour, where a transcript says so.
    pub cache_write_1h: u64,
}

/// Whose tokens they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub execution: ExecutionId,
    pub task: BoardTaskId,
    pub slot_name: String,
    pub engine: CliEngine,
}

/// The most that may be used: by the task in all, by the others in a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budgets {
    pub task: Option<u64>,
    pub slot: Option<u64>,
    pub engine: Option<u64>,
    pub day: Option<u64>,
}

/// Days since 1970, in UTC.
#[must_use]
pub const fn day_of(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(MICROS_OF_DAY)
}

/// When the day of a moment began.
#[must_use]
pub const fn begin_of_day(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(day_of(at) * MICROS_OF_DAY)
}

/// When the day of a moment is over.
#[must_use]
pub const fn end_of_day(at: Timestamp) -> Timestamp {
    Timestamp::from_micros((day_of(at) + 1) * MICROS_OF_DAY)
}

pub(crate) const MICROS_OF_DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// What counts against a budget: everything but what came from a cache.
const COUNTED: &str = "cast(coalesce(sum(input_tokens + output_tokens + cache_write_tokens), 0) \
     AS bigint)";

/// Writes what an execution has used in all, and says whose budget that, with
/// what others used, has used up.
pub async fn record(
    tx: &mut Tx<'_>,
    account: &Account,
    total: Tokens,
    budgets: &Budgets,
    now: Timestamp,
) -> Result<Option<BudgetScope>, StoreError> {
    // Two daemons must not each find the other's tokens missing.
    let lock = format!("SELECT id FROM autopilot WHERE id = 1{}", tx.for_update());
    tx.query(&lock, &[]).await?;
    let sql = "SELECT cast(coalesce(sum(input_tokens), 0) AS bigint), \
         cast(coalesce(sum(output_tokens), 0) AS bigint), \
         cast(coalesce(sum(cache_read_tokens), 0) AS bigint), \
         cast(coalesce(sum(cache_write_tokens), 0) AS bigint) \
         FROM token_usage WHERE execution = $1";
    let row = tx
        .query_one(sql, &[Value::written(account.execution)])
        .await?;
    let known =
        |index| -> Result<i64, StoreError> { row.as_ref().map_or(Ok(0), |row| row.get(index)) };
    let more = [
        beyond(total.input, known(0)?),
        beyond(total.output, known(1)?),
        beyond(total.cache_read, known(2)?),
        beyond(total.cache_write, known(3)?),
    ];
    if more.iter().any(|more| *more > 0) {
        add(tx, account, more, now).await?;
    }
    used_up(tx, account, budgets, now).await
}

/// Whose budget is used up, the narrowest first.
pub async fn used_up(
    tx: &mut Tx<'_>,
    account: &Account,
    budgets: &Budgets,
    now: Timestamp,
) -> Result<Option<BudgetScope>, StoreError> {
    let today = day_of(now);
    if let Some(budget) = budgets.task {
        let sql = format!("SELECT {COUNTED} FROM token_usage WHERE task = $1");
        if sum(tx, &sql, &[Value::written(account.task)]).await? >= budget {
            return Ok(Some(BudgetScope::Task));
        }
    }
    if let Some(budget) = budgets.slot {
        let sql = format!("SELECT {COUNTED} FROM token_usage WHERE day = $1 AND slot_name = $2");
        let params = [today.into(), (&account.slot_name).into()];
        if sum(tx, &sql, &params).await? >= budget {
            let name = account.slot_name.clone();
            return Ok(Some(BudgetScope::Slot { name }));
        }
    }
    if let Some(budget) = budgets.engine
        && of_engine(tx, &account.engine, now).await? >= budget
    {
        let engine = account.engine.clone();
        return Ok(Some(BudgetScope::Engine { engine }));
    }
    if let Some(budget) = budgets.day
        && of_day(tx, now).await? >= budget
    {
        return Ok(Some(BudgetScope::Day));
    }
    Ok(None)
}

/// What all agents used on the day of a moment.
pub async fn of_day(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64, StoreError> {
    let sql = format!("SELECT {COUNTED} FROM token_usage WHERE day = $1");
    sum(tx, &sql, &[day_of(now).into()]).await
}

/// What the agents of an engine used on the day of a moment.
pub async fn of_engine(
    tx: &mut Tx<'_>,
    engine: &CliEngine,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let sql = format!("SELECT {COUNTED} FROM token_usage WHERE day = $1 AND engine = $2");
    sum(tx, &sql, &[day_of(now).into(), engine.name().into()]).await
}

/// What the agents of each engine used on the day of a moment.
pub async fn engines_of_day(
    tx: &mut Tx<'_>,
    now: Timestamp,
) -> Result<Vec<(CliEngine, u64)>, StoreError> {
    let sql = format!("SELECT engine, {COUNTED} FROM token_usage WHERE day = $1 GROUP BY engine");
    let rows = tx.query(&sql, &[day_of(now).into()]).await?;
    let one = |row: &crate::Row| {
        let used: i64 = row.get(1)?;
        Ok((row.parse(0)?, u64::try_from(used).unwrap_or(0)))
    };
    rows.iter().map(one).collect()
}

/// What was used in each slot on the day of a moment, by its name.
pub async fn slots_of_day(
    tx: &mut Tx<'_>,
    now: Timestamp,
) -> Result<Vec<(String, u64)>, StoreError> {
    let sql =
        format!("SELECT slot_name, {COUNTED} FROM token_usage WHERE day = $1 GROUP BY slot_name");
    let rows = tx.query(&sql, &[day_of(now).into()]).await?;
    let one = |row: &crate::Row| {
        let used: i64 = row.get(1)?;
        Ok((row.get(0)?, u64::try_from(used).unwrap_or(0)))
    };
    rows.iter().map(one).collect()
}

/// What was used of one thing: a day and an engine, a task, a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used<T> {
    pub of: T,
    pub tokens: Tokens,
}

impl Tokens {
    /// What counts against a budget: everything but what came from a cache.
    #[must_use]
    pub const fn counted(&self) -> u64 {
        self.input + self.output + self.cache_write
    }
}

pub(crate) const SUMS: &str = "cast(sum(input_tokens) AS bigint), cast(sum(output_tokens) AS bigint), \
     cast(sum(cache_read_tokens) AS bigint), cast(sum(cache_write_tokens) AS bigint)";

/// What the agents of each engine used on each day since one, oldest first.
pub async fn by_day(
    tx: &mut Tx<'_>,
    since: i64,
) -> Result<Vec<Used<(Timestamp, CliEngine)>>, StoreError> {
    let sql = format!(
        "SELECT {SUMS}, day, engine FROM token_usage WHERE day >= $1 \
         GROUP BY day, engine ORDER BY day, engine"
    );
    let rows = tx.query(&sql, &[since.into()]).await?;
    let one = |row: &crate::Row| {
        let day: i64 = row.get(4)?;
        let began = Timestamp::from_micros(day * MICROS_OF_DAY);
        used(row, (began, row.parse(5)?))
    };
    rows.iter().map(one).collect()
}

/// The tasks that used most since a day, the most first.
pub async fn by_task(
    tx: &mut Tx<'_>,
    since: i64,
    limit: u32,
) -> Result<Vec<Used<BoardTaskId>>, StoreError> {
    let sql = most_used("task");
    let rows = tx
        .query(&sql, &[since.into(), i64::from(limit).into()])
        .await?;
    let one = |row: &crate::Row| used(row, row.parse(4)?);
    rows.iter().map(one).collect()
}

/// What each of some tasks used in all.
pub async fn of_tasks(
    tx: &mut Tx<'_>,
    tasks: &[BoardTaskId],
) -> Result<Vec<Used<BoardTaskId>>, StoreError> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<_> = (1..=tasks.len()).map(|place| format!("${place}")).collect();
    let sql = format!(
        "SELECT {SUMS}, task FROM token_usage WHERE task IN ({}) GROUP BY task",
        places.join(", ")
    );
    let params: Vec<_> = tasks.iter().map(|task| Value::written(*task)).collect();
    let rows = tx.query(&sql, &params).await?;
    let one = |row: &crate::Row| used(row, row.parse(4)?);
    rows.iter().map(one).collect()
}

/// The slots that used most since a day, by name, the most first.
pub async fn by_slot(
    tx: &mut Tx<'_>,
    since: i64,
    limit: u32,
) -> Result<Vec<Used<String>>, StoreError> {
    let sql = most_used("slot_name");
    let rows = tx
        .query(&sql, &[since.into(), i64::from(limit).into()])
        .await?;
    let one = |row: &crate::Row| used(row, row.get(4)?);
    rows.iter().map(one).collect()
}

fn most_used(column: &str) -> String {
    format!(
        "SELECT {SUMS}, {column} FROM token_usage WHERE day >= $1 GROUP BY {column} \
         ORDER BY sum(input_tokens + output_tokens + cache_write_tokens) DESC, {column} LIMIT $2"
    )
}

pub(crate) fn used<T>(row: &crate::Row, of: T) -> Result<Used<T>, StoreError> {
    let count = |index| -> Result<u64, StoreError> {
        let count: i64 = row.get(index)?;
        Ok(u64::try_from(count).unwrap_or(0))
    };
    let tokens = Tokens {
        input: count(0)?,
        output: count(1)?,
        cache_read: count(2)?,
        cache_write: count(3)?,
        cache_write_1h: 0,
    };
    Ok(Used { of, tokens })
}

async fn sum(tx: &mut Tx<'_>, sql: &str, params: &[Value]) -> Result<u64, StoreError> {
    let row = tx.query_one(sql, params).await?;
    let sum: i64 = row.map_or(Ok(0), |row| row.get(0))?;
    Ok(u64::try_from(sum).unwrap_or(0))
}

fn beyond(total: u64, known: i64) -> i64 {
    i64::try_from(total)
        .unwrap_or(i64::MAX)
        .saturating_sub(known)
        .max(0)
}

async fn add(
    tx: &mut Tx<'_>,
    account: &Account,
    more: [i64; 4],
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO token_usage (execution, day, task, slot_name, engine, input_tokens, \
             output_tokens, cache_read_tokens, cache_write_tokens, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (execution, day) DO UPDATE SET \
             input_tokens = token_usage.input_tokens + excluded.input_tokens, \
             output_tokens = token_usage.output_tokens + excluded.output_tokens, \
             cache_read_tokens = token_usage.cache_read_tokens + excluded.cache_read_tokens, \
             cache_write_tokens = token_usage.cache_write_tokens + excluded.cache_write_tokens, \
             updated_at = excluded.updated_at";
    let params = [
        Value::written(account.execution),
        day_of(now).into(),
        Value::written(account.task),
        (&account.slot_name).into(),
        account.engine.name().into(),
        more[0].into(),
        more[1].into(),
        more[2].into(),
        more[3].into(),
        now.into(),
    ];
    tx.execute(sql, &params).await.map(drop)
}
