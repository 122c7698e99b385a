//! What the requests of conversations used, by model, which is what a price
//! belongs to, and what transcripts themselves say it cost.

use std::collections::BTreeMap;

use missiond_core::{BoardTaskId, CliEngine, ConversationId, ExecutionId, Timestamp};

use crate::token_usage::{MICROS_OF_DAY, SUMS, Used, used};
use crate::{Row, StoreError, Tx, Value};

/// What was used of each model; none when the transcript names none.
pub type ByModel = Vec<Used<Option<String>>>;

/// What was used of each model, and what transcripts say of its cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent {
    pub models: ByModel,
    pub reported_cost: Option<u64>,
}

/// The sums of a model, its name, and what it wrote for an hour.
const OF_MODEL: &str = "model, cast(sum(cache_write_1h_tokens) AS bigint)";

fn of_model(row: &Row) -> Result<Used<Option<String>>, StoreError> {
    let mut model = used(row, row.get(4)?)?;
    let hour: i64 = row.get(5)?;
    model.tokens.cache_write_1h = u64::try_from(hour).unwrap_or(0);
    Ok(model)
}

/// Adds the row of one model to what it belongs to.
fn add_model(row: &Row, spent: &mut Spent, cost: usize) -> Result<(), StoreError> {
    let model = of_model(row)?;
    let cost: Option<i64> = row.get(cost)?;
    if let Some(cost) = cost.and_then(|cost| u64::try_from(cost).ok()) {
        *spent.reported_cost.get_or_insert(0) += cost;
    }
    if model.tokens != Default::default() {
        spent.models.push(model);
    }
    Ok(())
}

/// What each of some tasks used in all its conversations.
pub async fn of_tasks(
    tx: &mut Tx<'_>,
    tasks: &[BoardTaskId],
) -> Result<BTreeMap<BoardTaskId, Spent>, StoreError> {
    by_column(tx, "conversations.task", tasks).await
}

/// What each of some executions used in all its conversations.
pub async fn of_executions(
    tx: &mut Tx<'_>,
    executions: &[ExecutionId],
) -> Result<BTreeMap<ExecutionId, Spent>, StoreError> {
    by_column(tx, "conversations.execution", executions).await
}

async fn by_column<T>(
    tx: &mut Tx<'_>,
    column: &str,
    of: &[T],
) -> Result<BTreeMap<T, Spent>, StoreError>
where
    T: Ord + Copy + std::fmt::Display + std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let mut found: BTreeMap<T, Spent> = BTreeMap::new();
    if of.is_empty() {
        return Ok(found);
    }
    let places: Vec<_> = (1..=of.len()).map(|place| format!("${place}")).collect();
    let sql = format!(
        "SELECT {SUMS}, {OF_MODEL}, {column}, cast(sum(cost) AS bigint) FROM conversation_usage \
         JOIN conversations ON conversations.id = conversation_usage.conversation \
         WHERE {column} IN ({}) GROUP BY {column}, model ORDER BY {column}, model",
        places.join(", ")
    );
    let params: Vec<_> = of.iter().map(|id| Value::written(*id)).collect();
    for row in tx.query(&sql, &params).await? {
        add_model(&row, found.entry(row.parse(6)?).or_default(), 7)?;
    }
    Ok(found)
}

/// What the agents of tasks used on each day since a moment, by engine.
pub async fn by_day(
    tx: &mut Tx<'_>,
    moment: Timestamp,
) -> Result<BTreeMap<(Timestamp, CliEngine), Spent>, StoreError> {
    let day = format!("conversation_usage.at / {MICROS_OF_DAY}");
    let sql = format!(
        "SELECT {SUMS}, {OF_MODEL}, {day}, conversations.engine, cast(sum(cost) AS bigint) \
         FROM conversation_usage \
         JOIN conversations ON conversations.id = conversation_usage.conversation \
         WHERE conversations.task IS NOT NULL AND conversation_usage.at >= $1 \
         GROUP BY {day}, conversations.engine, model ORDER BY {day}, conversations.engine, model"
    );
    let mut found: BTreeMap<(Timestamp, CliEngine), Spent> = BTreeMap::new();
    for row in tx.query(&sql, &[moment.into()]).await? {
        let day: i64 = row.get(6)?;
        let began = Timestamp::from_micros(day * MICROS_OF_DAY);
        add_model(&row, found.entry((began, row.parse(7)?)).or_default(), 8)?;
    }
    Ok(found)
}

/// Notes what a transcript says a request cost, or all of them under a name of
/// their own. It is told again as it grows: the largest holds.
pub async fn put_cost(
    tx: &mut Tx<'_>,
    id: ConversationId,
    request: &str,
    microdollars: i64,
    at: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO conversation_usage (conversation, request, input_tokens, \
         output_tokens, cache_read_tokens, cache_write_tokens, at, cost) \
         VALUES ($1, $2, 0, 0, 0, 0, $3, $4) ON CONFLICT (conversation, request) DO UPDATE \
         SET cost = CASE WHEN excluded.cost > coalesce(conversation_usage.cost, 0) \
         THEN excluded.cost ELSE conversation_usage.cost END";
    let params = [
        Value::written(id),
        request.into(),
        at.into(),
        microdollars.into(),
    ];
    tx.execute(sql, &params).await.map(drop)
}

/// What the transcript of a conversation says it cost.
pub async fn reported_cost(tx: &mut Tx<'_>, id: ConversationId) -> Result<Option<u64>, StoreError> {
    let sql = "SELECT cast(sum(cost) AS bigint) FROM conversation_usage WHERE conversation = $1";
    of_one(tx, sql, &[Value::written(id)]).await
}

/// What the transcripts of all conversations in which something was said since a
/// moment say they cost in all.
pub async fn reported_cost_since(
    tx: &mut Tx<'_>,
    moment: Timestamp,
) -> Result<Option<u64>, StoreError> {
    let sql = "SELECT cast(sum(cost) AS bigint) FROM conversation_usage \
         JOIN conversations ON conversations.id = conversation_usage.conversation \
         WHERE conversations.last_at >= $1";
    of_one(tx, sql, &[moment.into()]).await
}

/// What the transcripts of the conversations of a task say they cost in all.
pub async fn reported_cost_of_task(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
) -> Result<Option<u64>, StoreError> {
    let sql = "SELECT cast(sum(cost) AS bigint) FROM conversation_usage \
         JOIN conversations ON conversations.id = conversation_usage.conversation \
         WHERE conversations.task = $1";
    of_one(tx, sql, &[Value::written(task)]).await
}

async fn of_one(tx: &mut Tx<'_>, sql: &str, params: &[Value]) -> Result<Option<u64>, StoreError> {
    let row = tx.query_one(sql, params).await?;
    let cost: Option<i64> = row.map_or(Ok(None), |row| row.get(0))?;
    Ok(cost.and_then(|cost| u64::try_from(cost).ok()))
}

/// What a conversation used.
pub async fn of_conversation(tx: &mut Tx<'_>, id: ConversationId) -> Result<ByModel, StoreError> {
    let sql = format!(
        "SELECT {SUMS}, {OF_MODEL} FROM conversation_usage WHERE conversation = $1 \
         GROUP BY model ORDER BY model"
    );
    let rows = tx.query(&sql, &[Value::written(id)]).await?;
    rows.iter().map(of_model).collect()
}

/// What each request of a conversation used, from one moment to another, the
/// first one first.
pub async fn requests(
    tx: &mut Tx<'_>,
    id: ConversationId,
    from: Timestamp,
    until: Option<Timestamp>,
) -> Result<Vec<Used<(Timestamp, Option<String>)>>, StoreError> {
    let mut params = vec![Value::written(id), from.into()];
    let before = until.map_or("", |until| {
        params.push(until.into());
        "AND at < $3"
    });
    let sql = format!(
        "SELECT input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, at, model, \
         cache_write_1h_tokens FROM conversation_usage WHERE conversation = $1 AND at >= $2 {before} ORDER BY at, request"
    );
    let rows = tx.query(&sql, &params).await?;
    let one = |row: &Row| {
        let mut request = used(row, (row.get(4)?, row.get(5)?))?;
        let hour: i64 = row.get(6)?;
        request.tokens.cache_write_1h = u64::try_from(hour).unwrap_or(0);
        Ok(request)
    };
    rows.iter().map(one).collect()
}

/// What all conversations used since a moment, the most first.
pub async fn since(tx: &mut Tx<'_>, moment: Timestamp) -> Result<ByModel, StoreError> {
    let sql = format!(
        "SELECT {SUMS}, {OF_MODEL} FROM conversation_usage \
         JOIN conversations ON conversations.id = conversation_usage.conversation \
         WHERE conversations.last_at >= $1 AND conversation_usage.at >= $1 GROUP BY model \
         HAVING sum(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens) > 0 \
         ORDER BY sum(input_tokens + output_tokens + cache_write_tokens) DESC, model"
    );
    let rows = tx.query(&sql, &[moment.into()]).await?;
    rows.iter().map(of_model).collect()
}

/// What the conversations of a task used since a moment.
pub async fn of_task(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
    moment: Timestamp,
) -> Result<ByModel, StoreError> {
    let sql = format!(
        "SELECT {SUMS}, {OF_MODEL} FROM conversation_usage \
         JOIN conversations ON conversations.id = conversation_usage.conversation \
         WHERE conversations.task = $1 AND conversation_usage.at >= $2 \
         GROUP BY model ORDER BY model"
    );
    let params = [Value::written(task), moment.into()];
    let rows = tx.query(&sql, &params).await?;
    rows.iter().map(of_model).collect()
}
