//! What is in a conversation: messages, calls of tools, events, and what the
//! requests to the model cost. All but the last stand in one order of places.

use missiond_core::{ConversationId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// Something a person or an agent said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    pub place: i64,
    pub key: String,
    pub turn: i64,
    /// `person` or `agent`.
    pub role: String,
    pub text: String,
    pub model: Option<String>,
    /// Why it is no part of what was talked about.
    pub noise: Option<String>,
    /// How long it was before it was cut.
    pub bytes: i64,
    pub at: Timestamp,
}

/// A tool the agent called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    pub place: i64,
    pub call: String,
    pub turn: i64,
    pub tool: String,
    pub input: String,
    /// Null until it has ended: `succeeded`, `failed` or `denied`.
    pub outcome: Option<String>,
    pub output: String,
    pub noise: Option<String>,
    /// How long the output was before it was cut.
    pub bytes: i64,
    pub at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// Something that happened to the conversation itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    pub place: i64,
    pub key: String,
    pub turn: i64,
    /// `turn_ended`, `interrupted` or `compacted`.
    pub kind: String,
    pub at: Timestamp,
}

/// Adds a message; whether it is new.
pub async fn add_message(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    row: &MessageRow,
) -> Result<bool, StoreError> {
    let sql = format!(
        "INSERT INTO conversation_messages (conversation, {MESSAGE}) VALUES \
         ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (conversation, key) DO NOTHING"
    );
    let params = [
        Value::written(conversation),
        row.place.into(),
        (&row.key).into(),
        row.turn.into(),
        (&row.role).into(),
        (&row.text).into(),
        row.model.as_deref().into(),
        row.noise.as_deref().into(),
        row.bytes.into(),
        row.at.into(),
    ];
    Ok(tx.execute(&sql, &params).await? == 1)
}

/// Adds a call; whether it is new.
pub async fn add_call(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    row: &CallRow,
) -> Result<bool, StoreError> {
    let sql = format!(
        "INSERT INTO tool_calls (conversation, {CALL}) VALUES \
         ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (conversation, call) DO NOTHING"
    );
    let params = [
        Value::written(conversation),
        row.place.into(),
        (&row.call).into(),
        row.turn.into(),
        (&row.tool).into(),
        (&row.input).into(),
        row.outcome.as_deref().into(),
        (&row.output).into(),
        row.noise.as_deref().into(),
        row.bytes.into(),
        row.at.into(),
        row.ended_at.into(),
    ];
    Ok(tx.execute(&sql, &params).await? == 1)
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEnd {
    pub call: String,
    pub outcome: String,
    pub output: String,
    pub noise: Option<String>,
    pub bytes: i64,
    pub at: Timestamp,
}

/// Notes the end of a call, once; the turn it began in, when this was the time.
pub async fn end_call(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    end: &CallEnd,
) -> Result<Option<i64>, StoreError> {
    let sql = "UPDATE tool_calls SET outcome = $3, output = $4, noise = $5, bytes = $6, \
         ended_at = $7 WHERE conversation = $1 AND call = $2 AND outcome IS NULL RETURNING turn";
    let params = [
        Value::written(conversation),
        (&end.call).into(),
        (&end.outcome).into(),
        (&end.output).into(),
        end.noise.as_deref().into(),
        end.bytes.into(),
        end.at.into(),
    ];
    let row = tx.query_one(sql, &params).await?;
    row.map(|row| row.get(0)).transpose()
}

/// Adds an event; whether it is new.
pub async fn add_event(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    row: &EventRow,
) -> Result<bool, StoreError> {
    let sql = format!(
        "INSERT INTO conversation_events (conversation, {EVENT}) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (conversation, key) DO NOTHING"
    );
    let params = [
        Value::written(conversation),
        row.place.into(),
        (&row.key).into(),
        row.turn.into(),
        (&row.kind).into(),
        row.at.into(),
    ];
    Ok(tx.execute(&sql, &params).await? == 1)
}

/// What one request to the model cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    pub request: String,
    pub model: Option<String>,
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
    pub cache_write: i64,
    /// Those of `cache_write` that stay for an hour.
    pub cache_write_1h: i64,
    pub at: Timestamp,
}

/// Notes what a request cost. A transcript repeats it while an answer grows:
/// the largest count holds.
pub async fn put_usage(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    row: &UsageRow,
) -> Result<(), StoreError> {
    let larger = |column: &str| {
        format!(
            "{column} = CASE WHEN excluded.{column} > conversation_usage.{column} \
             THEN excluded.{column} ELSE conversation_usage.{column} END"
        )
    };
    let sql = format!(
        "INSERT INTO conversation_usage (conversation, request, model, input_tokens, \
         output_tokens, cache_read_tokens, cache_write_tokens, at, cache_write_1h_tokens) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (conversation, request) \
         DO UPDATE SET {}, {}, {}, {}, {}",
        larger("input_tokens"),
        larger("output_tokens"),
        larger("cache_read_tokens"),
        larger("cache_write_tokens"),
        larger("cache_write_1h_tokens"),
    );
    let params = [
        Value::written(conversation),
        (&row.request).into(),
        row.model.as_deref().into(),
        row.input.into(),
        row.output.into(),
        row.cache_read.into(),
        row.cache_write.into(),
        row.at.into(),
        row.cache_write_1h.into(),
    ];
    tx.execute(&sql, &params).await?;
    Ok(())
}

/// Part of a conversation, in the order of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Behind this place.
    pub after: i64,
    /// Of this turn alone.
    pub turn: Option<i64>,
    pub limit: u32,
}

pub async fn messages(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    window: Window,
) -> Result<Vec<MessageRow>, StoreError> {
    let rows = in_window(tx, "conversation_messages", MESSAGE, conversation, window).await?;
    rows.iter().map(decode_message).collect()
}

pub async fn calls(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    window: Window,
) -> Result<Vec<CallRow>, StoreError> {
    let rows = in_window(tx, "tool_calls", CALL, conversation, window).await?;
    rows.iter().map(decode_call).collect()
}

pub async fn events(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    window: Window,
) -> Result<Vec<EventRow>, StoreError> {
    let rows = in_window(tx, "conversation_events", EVENT, conversation, window).await?;
    rows.iter().map(decode_event).collect()
}

async fn in_window(
    tx: &mut Tx<'_>,
    table: &str,
    columns: &str,
    conversation: ConversationId,
    window: Window,
) -> Result<Vec<Row>, StoreError> {
    let mut params = vec![
        Value::written(conversation),
        window.after.into(),
        window.limit.into(),
    ];
    let of_turn = window.turn.map_or("", |turn| {
        params.push(turn.into());
        "AND turn = $4"
    });
    let sql = format!(
        "SELECT {columns} FROM {table} WHERE conversation = $1 AND place > $2 {of_turn} \
         ORDER BY place LIMIT $3"
    );
    tx.query(&sql, &params).await
}

/// One message by its place.
pub async fn message(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    place: i64,
) -> Result<Option<MessageRow>, StoreError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM conversation_messages WHERE conversation = $1 AND place = $2"
    );
    let row = tx
        .query_one(&sql, &[Value::written(conversation), place.into()])
        .await?;
    row.as_ref().map(decode_message).transpose()
}

/// One call of a tool by its place.
pub async fn call(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    place: i64,
) -> Result<Option<CallRow>, StoreError> {
    let sql = format!("SELECT {CALL} FROM tool_calls WHERE conversation = $1 AND place = $2");
    let row = tx
        .query_one(&sql, &[Value::written(conversation), place.into()])
        .await?;
    row.as_ref().map(decode_call).transpose()
}

const MESSAGE: &str = "place, key, turn, role, text, model, noise, bytes, at";
const CALL: &str = "place, call, turn, tool, input, outcome, output, noise, bytes, at, ended_at";
const EVENT: &str = "place, key, turn, kind, at";

fn decode_message(row: &Row) -> Result<MessageRow, StoreError> {
    Ok(MessageRow {
        place: row.get(0)?,
        key: row.get(1)?,
        turn: row.get(2)?,
        role: row.get(3)?,
        text: row.get(4)?,
        model: row.get(5)?,
        noise: row.get(6)?,
        bytes: row.get(7)?,
        at: row.get(8)?,
    })
}

fn decode_call(row: &Row) -> Result<CallRow, StoreError> {
    Ok(CallRow {
        place: row.get(0)?,
        call: row.get(1)?,
        turn: row.get(2)?,
        tool: row.get(3)?,
        input: row.get(4)?,
        outcome: row.get(5)?,
        output: row.get(6)?,
        noise: row.get(7)?,
        bytes: row.get(8)?,
        at: row.get(9)?,
        ended_at: row.get(10)?,
    })
}

fn decode_event(row: &Row) -> Result<EventRow, StoreError> {
    Ok(EventRow {
        place: row.get(0)?,
        key: row.get(1)?,
        turn: row.get(2)?,
        kind: row.get(3)?,
        at: row.get(4)?,
    })
}
