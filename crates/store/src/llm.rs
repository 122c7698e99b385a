//! Requests to models, and the money they may cost.
//!
//! A request is a row from before it is sent. While it runs, what it may cost at most
//! is reserved in that row; when it has ended, its cost stands there instead. What was
//! spent is the sum over rows, so there is no counter that a crash could leave wrong,
//! and a request whose end nobody saw goes on counting for what it might have cost.

use missiond_core::{BoardTaskId, DaemonId, ExecutionId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// A request that is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRequest {
    pub id: String,
    pub daemon: DaemonId,
    pub provider: String,
    pub format: String,
    pub model: String,
    pub purpose: String,
    pub principal: String,
    pub trace_id: Option<String>,
    pub execution: Option<ExecutionId>,
    pub task: Option<BoardTaskId>,
    pub started_at: Timestamp,
    /// What it costs at most, in millionths of a dollar.
    pub reserved: u64,
    /// As far as it is kept; masked by the store.
    pub prompt: Option<String>,
}

/// What was used, as far as the provider said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsedTokens {
    pub input: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub cache_write_1h: Option<u64>,
    pub output: Option<u64>,
    pub reasoning: Option<u64>,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestEnd {
    pub answered_by: Option<String>,
    pub first_piece_at: Option<Timestamp>,
    pub ended_at: Timestamp,
    /// `answered`, `failed`, `cut`, `given_up`, `lost`.
    pub outcome: &'static str,
    pub failure: Option<String>,
    pub stop: Option<&'static str>,
    pub tokens: UsedTokens,
    /// None when nobody can say; then what was reserved counts on.
    pub cost: Option<u64>,
    pub answer: Option<String>,
}

impl RequestEnd {
    /// An end of which no more is known.
    #[must_use]
    pub const fn new(outcome: &'static str, ended_at: Timestamp) -> Self {
        Self {
            answered_by: None,
            first_piece_at: None,
            ended_at,
            outcome,
            failure: None,
            stop: None,
            tokens: UsedTokens {
                input: None,
                cache_read: None,
                cache_write: None,
                cache_write_1h: None,
                output: None,
                reasoning: None,
            },
            cost: None,
            answer: None,
        }
    }
}

/// A request as it is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRequest {
    pub id: String,
    pub provider: String,
    pub format: String,
    pub model: String,
    pub answered_by: Option<String>,
    pub purpose: String,
    pub principal: String,
    pub trace_id: Option<String>,
    pub execution: Option<ExecutionId>,
    pub task: Option<BoardTaskId>,
    pub started_at: Timestamp,
    pub first_piece_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<String>,
    pub failure: Option<String>,
    pub stop: Option<String>,
    pub tokens: UsedTokens,
    pub reserved: u64,
    pub cost: Option<u64>,
    pub prompt: Option<String>,
    pub answer: Option<String>,
}

/// What a budget is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purse {
    Execution(ExecutionId),
    Task(BoardTaskId),
    /// A provider, since a moment.
    Provider(String, Timestamp),
    /// All, since a moment.
    Everything(Timestamp),
}

/// A purse and the most that may be taken from it, in millionths of a dollar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub purse: Purse,
    pub most: u64,
}

/// A budget that has too little left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    pub budget: Budget,
    /// Taken and reserved so far.
    pub spent: u64,
}

/// Puts a request on record with what it may cost, if every budget has that left.
pub async fn reserve(
    tx: &mut Tx<'_>,
    request: &NewRequest,
    budgets: &[Budget],
) -> Result<Result<(), Spent>, StoreError> {
    if !budgets.is_empty() {
        // Two who reserve must not each find the other's money there.
        let lock = format!("SELECT id FROM llm_budget WHERE id = 1{}", tx.for_update());
        tx.query(&lock, &[]).await?;
    }
    for budget in budgets {
        let spent = spent(tx, &budget.purse).await?;
        if spent.saturating_add(request.reserved) > budget.most {
            let budget = budget.clone();
            return Ok(Err(Spent { budget, spent }));
        }
    }
    let sql = "INSERT INTO llm_requests (id, daemon, provider, format, model, purpose, \
         principal, trace_id, execution, task, started_at, reserved, prompt) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let params = [
        (&request.id).into(),
        Value::written(request.daemon),
        (&request.provider).into(),
        (&request.format).into(),
        (&request.model).into(),
        (&request.purpose).into(),
        (&request.principal).into(),
        request.trace_id.clone().into(),
        request.execution.map(Value::written).unwrap_or(Value::Null),
        request.task.map(Value::written).unwrap_or(Value::Null),
        request.started_at.into(),
        number(request.reserved),
        Value::masked_optional(request.prompt.as_deref()),
    ];
    tx.execute(sql, &params).await?;
    Ok(Ok(()))
}

/// What was taken from a purse, with what is reserved.
pub async fn spent(tx: &mut Tx<'_>, purse: &Purse) -> Result<u64, StoreError> {
    const SUM: &str = "SELECT CAST(COALESCE(SUM(COALESCE(cost, reserved)), 0) AS BIGINT) \
         FROM llm_requests WHERE ";
    let (filter, params) = match purse {
        Purse::Execution(execution) => ("execution = $1", vec![Value::written(execution)]),
        Purse::Task(task) => ("task = $1", vec![Value::written(task)]),
        Purse::Provider(provider, since) => (
            "started_at >= $1 AND provider = $2",
            vec![(*since).into(), provider.into()],
        ),
        Purse::Everything(since) => ("started_at >= $1", vec![(*since).into()]),
    };
    let row = tx.query_one(&format!("{SUM}{filter}"), &params).await?;
    let sum: i64 = row.map_or(Ok(0), |row| row.get(0))?;
    Ok(u64::try_from(sum).unwrap_or(0))
}

/// Writes how a request ended, once: whether it was under way.
pub async fn settle(tx: &mut Tx<'_>, id: &str, end: &RequestEnd) -> Result<bool, StoreError> {
    let sql = "UPDATE llm_requests SET answered_by = $2, first_piece_at = $3, ended_at = $4, \
         outcome = $5, failure = $6, stop = $7, input_tokens = $8, cache_read_tokens = $9, \
         cache_write_tokens = $10, cache_write_1h_tokens = $11, output_tokens = $12, \
         reasoning_tokens = $13, cost = $14, answer = $15 WHERE id = $1 AND ended_at IS NULL";
    let optional = |count: Option<u64>| count.map_or(Value::Null, number);
    let params = [
        id.into(),
        end.answered_by.clone().into(),
        end.first_piece_at.into(),
        end.ended_at.into(),
        end.outcome.into(),
        Value::masked_optional(end.failure.as_deref()),
        end.stop.into(),
        optional(end.tokens.input),
        optional(end.tokens.cache_read),
        optional(end.tokens.cache_write),
        optional(end.tokens.cache_write_1h),
        optional(end.tokens.output),
        optional(end.tokens.reasoning),
        optional(end.cost),
        Value::masked_optional(end.answer.as_deref()),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// Ends what daemons that no longer run left under way, and takes away the tokens of
/// executions that have ended. What they reserved counts on:
/// nobody knows how much of it was used.
pub async fn end_lost(tx: &mut Tx<'_>, own: DaemonId, now: Timestamp) -> Result<u64, StoreError> {
    let sql = "UPDATE llm_requests SET ended_at = $2, outcome = 'lost' \
         WHERE ended_at IS NULL AND daemon <> $1 AND daemon NOT IN \
         (SELECT id FROM daemon_state WHERE ended_at IS NULL)";
    let ended = tx.execute(sql, &[Value::written(own), now.into()]).await?;
    let sql = "DELETE FROM llm_tokens WHERE execution IN \
         (SELECT id FROM executions WHERE ended_at IS NOT NULL)";
    tx.execute(sql, &[]).await?;
    Ok(ended)
}

/// Which requests are wanted; all of them where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestFilter {
    pub id: Option<String>,
    pub execution: Option<ExecutionId>,
    pub task: Option<BoardTaskId>,
    pub provider: Option<String>,
    pub trace_id: Option<String>,
    pub since: Option<Timestamp>,
}

/// Requests, the newest first.
pub async fn list(
    tx: &mut Tx<'_>,
    filter: &RequestFilter,
    limit: u32,
) -> Result<Vec<StoredRequest>, StoreError> {
    let mut conditions = vec!["1 = 1".to_owned()];
    let mut params: Vec<Value> = Vec::new();
    let wanted = [
        ("id", filter.id.clone().map(Value::from)),
        ("execution", filter.execution.map(Value::written)),
        ("task", filter.task.map(Value::written)),
        ("provider", filter.provider.clone().map(Value::from)),
        ("trace_id", filter.trace_id.clone().map(Value::from)),
    ];
    for (column, value) in wanted {
        if let Some(value) = value {
            params.push(value);
            conditions.push(format!("{column} = ${}", params.len()));
        }
    }
    if let Some(since) = filter.since {
        params.push(since.into());
        conditions.push(format!("started_at >= ${}", params.len()));
    }
    params.push(limit.into());
    let sql = format!(
        "SELECT {COLUMNS} FROM llm_requests WHERE {} ORDER BY started_at DESC, id DESC LIMIT ${}",
        conditions.join(" AND "),
        params.len()
    );
    tx.query(&sql, &params).await?.iter().map(decode).collect()
}

/// What was used of a model since a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelUsage {
    pub provider: String,
    pub model: String,
    pub requests: u64,
    pub failed: u64,
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    /// Of requests whose cost is known.
    pub cost: u64,
    /// Requests whose cost nobody knows.
    pub unpriced: u64,
    /// Reserved by what is under way or was lost.
    pub reserved: u64,
}

pub async fn usage(tx: &mut Tx<'_>, since: Timestamp) -> Result<Vec<ModelUsage>, StoreError> {
    let sum = |what: &str| format!("CAST(COALESCE(SUM({what}), 0) AS BIGINT)");
    let sql = format!(
        "SELECT provider, model, {}, {}, {}, {}, {}, {}, {}, {}, {} FROM llm_requests \
         WHERE started_at >= $1 GROUP BY provider, model ORDER BY provider, model LIMIT 1000",
        sum("1"),
        sum("CASE WHEN outcome IN ('failed', 'cut', 'lost') THEN 1 ELSE 0 END"),
        sum("input_tokens"),
        sum("cache_read_tokens"),
        sum("cache_write_tokens"),
        sum("output_tokens"),
        sum("cost"),
        sum("CASE WHEN cost IS NULL AND ended_at IS NOT NULL THEN 1 ELSE 0 END"),
        sum("CASE WHEN cost IS NULL THEN reserved ELSE 0 END"),
    );
    let rows = tx.query(&sql, &[since.into()]).await?;
    let usage = |row: &Row| {
        Ok(ModelUsage {
            provider: row.get(0)?,
            model: row.get(1)?,
            requests: count(row, 2)?,
            failed: count(row, 3)?,
            input: count(row, 4)?,
            cache_read: count(row, 5)?,
            cache_write: count(row, 6)?,
            output: count(row, 7)?,
            cost: count(row, 8)?,
            unpriced: count(row, 9)?,
            reserved: count(row, 10)?,
        })
    };
    rows.iter().map(usage).collect()
}

/// Forgets what was said in requests that began before; the requests stay.
pub async fn forget_texts(tx: &mut Tx<'_>, before: Timestamp) -> Result<u64, StoreError> {
    let sql = "UPDATE llm_requests SET prompt = NULL, answer = NULL \
         WHERE started_at < $1 AND (prompt IS NOT NULL OR answer IS NOT NULL)";
    tx.execute(sql, &[before.into()]).await
}

/// A provider that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    pub provider: String,
    pub parked_at: Timestamp,
    pub until: Timestamp,
    pub reason: String,
}

pub async fn park(tx: &mut Tx<'_>, parked: &Parked) -> Result<(), StoreError> {
    let sql = "INSERT INTO llm_parked (provider, parked_at, until, reason) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (provider) DO UPDATE SET \
         parked_at = excluded.parked_at, until = excluded.until, reason = excluded.reason";
    let params = [
        (&parked.provider).into(),
        parked.parked_at.into(),
        parked.until.into(),
        Value::masked(&parked.reason),
    ];
    tx.execute(sql, &params).await.map(|_| ())
}

pub async fn unpark(tx: &mut Tx<'_>, provider: &str) -> Result<bool, StoreError> {
    let sql = "DELETE FROM llm_parked WHERE provider = $1";
    Ok(tx.execute(sql, &[provider.into()]).await? > 0)
}

/// What is left alone at this time.
pub async fn parked(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<Parked>, StoreError> {
    let sql = "SELECT provider, parked_at, until, reason FROM llm_parked WHERE until > $1 \
         ORDER BY provider LIMIT 1000";
    let rows = tx.query(sql, &[now.into()]).await?;
    let parked = |row: &Row| {
        Ok(Parked {
            provider: row.get(0)?,
            parked_at: row.get(1)?,
            until: row.get(2)?,
            reason: row.get(3)?,
        })
    };
    rows.iter().map(parked).collect()
}

/// Lets whoever shows this token speak to models for an execution, and nobody with an
/// earlier one.
pub async fn grant_token(
    tx: &mut Tx<'_>,
    token_hash: &str,
    execution: ExecutionId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM llm_tokens WHERE execution = $1";
    tx.execute(sql, &[Value::written(execution)]).await?;
    let sql = "INSERT INTO llm_tokens (token_hash, execution, created_at) VALUES ($1, $2, $3)";
    let params = [token_hash.into(), Value::written(execution), now.into()];
    tx.execute(sql, &params).await.map(|_| ())
}

/// The execution a token is of, while that runs, and the task it works for.
pub async fn execution_of_token(
    tx: &mut Tx<'_>,
    token_hash: &str,
) -> Result<Option<(ExecutionId, Option<BoardTaskId>)>, StoreError> {
    let sql = "SELECT t.execution, (SELECT a.task FROM board_attempts a \
         WHERE a.execution = t.execution ORDER BY a.started_at DESC LIMIT 1) \
         FROM llm_tokens t JOIN executions e ON e.id = t.execution \
         WHERE t.token_hash = $1 AND e.ended_at IS NULL";
    let row = tx.query_one(sql, &[token_hash.into()]).await?;
    row.map(|row| Ok((row.parse(0)?, row.parse_optional(1)?)))
        .transpose()
}

/// A conversation with the router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatSession {
    pub id: String,
    pub title: String,
    pub started_at: Timestamp,
    pub used_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage {
    /// `user` or `assistant`.
    pub role: String,
    pub content: String,
    /// The request that it is the answer to.
    pub request: Option<String>,
    pub at: Timestamp,
}

/// Adds messages to a conversation, which begins with them if it is new.
pub async fn add_messages(
    tx: &mut Tx<'_>,
    session: &ChatSession,
    messages: &[ChatMessage],
) -> Result<(), StoreError> {
    let sql = "INSERT INTO router_chat_sessions (id, title, started_at, used_at) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE SET used_at = excluded.used_at";
    let params = [
        (&session.id).into(),
        Value::masked(&session.title),
        session.started_at.into(),
        session.used_at.into(),
    ];
    tx.execute(sql, &params).await?;
    let sql = "INSERT INTO router_chat_messages (session, position, role, content, request, at) \
         SELECT $1, COALESCE(MAX(position), 0) + 1, $2, $3, $4, $5 \
         FROM router_chat_messages WHERE session = $1";
    for message in messages {
        let params = [
            (&session.id).into(),
            (&message.role).into(),
            Value::masked(&message.content),
            message.request.clone().into(),
            message.at.into(),
        ];
        tx.execute(sql, &params).await?;
    }
    Ok(())
}

pub async fn chat_session(tx: &mut Tx<'_>, id: &str) -> Result<Option<ChatSession>, StoreError> {
    let sql = "SELECT id, title, started_at, used_at FROM router_chat_sessions WHERE id = $1";
    let row = tx.query_one(sql, &[id.into()]).await?;
    row.as_ref().map(decode_session).transpose()
}

/// Conversations, the one used last first.
pub async fn chat_sessions(tx: &mut Tx<'_>, limit: u32) -> Result<Vec<ChatSession>, StoreError> {
    let sql = "SELECT id, title, started_at, used_at FROM router_chat_sessions \
         ORDER BY used_at DESC, id LIMIT $1";
    let rows = tx.query(sql, &[limit.into()]).await?;
    rows.iter().map(decode_session).collect()
}

/// What was said, the newest `limit` of it, in order.
pub async fn chat_messages(
    tx: &mut Tx<'_>,
    session: &str,
    limit: u32,
) -> Result<Vec<ChatMessage>, StoreError> {
    let sql = "SELECT role, content, request, at FROM router_chat_messages WHERE session = $1 \
         ORDER BY position DESC LIMIT $2";
    let rows = tx.query(sql, &[session.into(), limit.into()]).await?;
    let message = |row: &Row| {
        Ok(ChatMessage {
            role: row.get(0)?,
            content: row.get(1)?,
            request: row.get(2)?,
            at: row.get(3)?,
        })
    };
    rows.iter().rev().map(message).collect()
}

const COLUMNS: &str = "id, provider, format, model, answered_by, purpose, principal, trace_id, \
     execution, task, started_at, first_piece_at, ended_at, outcome, failure, stop, \
     input_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, \
     output_tokens, reasoning_tokens, reserved, cost, prompt, answer";

fn decode(row: &Row) -> Result<StoredRequest, StoreError> {
    Ok(StoredRequest {
        id: row.get(0)?,
        provider: row.get(1)?,
        format: row.get(2)?,
        model: row.get(3)?,
        answered_by: row.get(4)?,
        purpose: row.get(5)?,
        principal: row.get(6)?,
        trace_id: row.get(7)?,
        execution: row.parse_optional(8)?,
        task: row.parse_optional(9)?,
        started_at: row.get(10)?,
        first_piece_at: row.get(11)?,
        ended_at: row.get(12)?,
        outcome: row.get(13)?,
        failure: row.get(14)?,
        stop: row.get(15)?,
        tokens: UsedTokens {
            input: optional_count(row, 16)?,
            cache_read: optional_count(row, 17)?,
            cache_write: optional_count(row, 18)?,
            cache_write_1h: optional_count(row, 19)?,
            output: optional_count(row, 20)?,
            reasoning: optional_count(row, 21)?,
        },
        reserved: count(row, 22)?,
        cost: optional_count(row, 23)?,
        prompt: row.get(24)?,
        answer: row.get(25)?,
    })
}

fn decode_session(row: &Row) -> Result<ChatSession, StoreError> {
    Ok(ChatSession {
        id: row.get(0)?,
        title: row.get(1)?,
        started_at: row.get(2)?,
        used_at: row.get(3)?,
    })
}

fn number(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn count(row: &Row, index: usize) -> Result<u64, StoreError> {
    let value: i64 = row.get(index)?;
    Ok(u64::try_from(value).unwrap_or(0))
}

fn optional_count(row: &Row, index: usize) -> Result<Option<u64>, StoreError> {
    let value: Option<i64> = row.get(index)?;
    Ok(value.map(|value| u64::try_from(value).unwrap_or(0)))
}
