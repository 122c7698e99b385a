//! Turns: a person's prompt and what followed from it.

use missiond_core::{ConversationId, Timestamp, TurnId};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{Row, StoreError, Tx, Value};

/// One turn as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRow {
    /// 1 for the first of its conversation.
    pub number: i64,
    pub first_place: i64,
    pub last_place: i64,
    /// The beginning of what was asked; empty when the agent began.
    pub prompt: String,
    /// The beginning of what the agent said last.
    pub answer: String,
    pub messages: i64,
    pub tools: i64,
    pub failed: i64,
    /// `answered` or `interrupted`; null while nothing says that it is over.
    pub ending: Option<String>,
    pub began_at: Timestamp,
    pub last_at: Timestamp,
}

/// The id of a turn: the same whoever takes it in.
#[must_use]
pub fn id_of(conversation: ConversationId, number: i64) -> TurnId {
    let digest = Sha256::digest(format!("{conversation}\0{number}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    TurnId::from_uuid(Uuid::from_bytes(bytes))
}

/// The newest turn of a conversation.
pub async fn last(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
) -> Result<Option<TurnRow>, StoreError> {
    let sql =
        format!("SELECT {COLUMNS} FROM turns WHERE conversation = $1 ORDER BY number DESC LIMIT 1");
    let row = tx.query_one(&sql, &[Value::written(conversation)]).await?;
    row.as_ref().map(|row| decode(row, 0)).transpose()
}

/// Writes a turn as it is now.
pub async fn put(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    row: &TurnRow,
) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO turns (conversation, {COLUMNS}) VALUES \
         ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (conversation, number) DO UPDATE SET last_place = excluded.last_place, \
         prompt = excluded.prompt, answer = excluded.answer, messages = excluded.messages, \
         tools = excluded.tools, failed = excluded.failed, ending = excluded.ending, \
         last_at = excluded.last_at"
    );
    let params = [
        Value::written(conversation),
        row.number.into(),
        row.first_place.into(),
        row.last_place.into(),
        (&row.prompt).into(),
        (&row.answer).into(),
        row.messages.into(),
        row.tools.into(),
        row.failed.into(),
        row.ending.as_deref().into(),
        row.began_at.into(),
        row.last_at.into(),
    ];
    tx.execute(&sql, &params).await?;
    Ok(())
}

/// A call of an earlier turn failed after all.
pub async fn count_failure(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    number: i64,
) -> Result<(), StoreError> {
    let sql = "UPDATE turns SET failed = failed + 1 WHERE conversation = $1 AND number = $2";
    tx.execute(sql, &[Value::written(conversation), number.into()])
        .await?;
    Ok(())
}

/// The turns of a conversation, the first one first.
pub async fn of_conversation(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    after: i64,
    limit: u32,
) -> Result<Vec<TurnRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM turns WHERE conversation = $1 AND number > $2 \
         ORDER BY number LIMIT $3"
    );
    let params = [Value::written(conversation), after.into(), limit.into()];
    let rows = tx.query(&sql, &params).await?;
    rows.iter().map(|row| decode(row, 0)).collect()
}

/// The newest turns of a project with something in them, the newest first.
pub async fn recent(
    tx: &mut Tx<'_>,
    project: &str,
    limit: u32,
) -> Result<Vec<(ConversationId, TurnRow)>, StoreError> {
    let columns: Vec<String> = COLUMNS
        .split(", ")
        .map(|column| format!("turns.{column}"))
        .collect();
    let sql = format!(
        "SELECT turns.conversation, {} FROM turns \
         JOIN conversations ON conversations.id = turns.conversation \
         WHERE conversations.project = $1 AND (turns.prompt <> '' OR turns.answer <> '') \
         ORDER BY turns.last_at DESC, turns.conversation, turns.number DESC LIMIT $2",
        columns.join(", ")
    );
    let rows = tx.query(&sql, &[project.into(), limit.into()]).await?;
    rows.iter()
        .map(|row| Ok((row.parse(0)?, decode(row, 1)?)))
        .collect()
}

const COLUMNS: &str = "number, first_place, last_place, prompt, answer, messages, tools, failed, \
     ending, began_at, last_at";

fn decode(row: &Row, from: usize) -> Result<TurnRow, StoreError> {
    Ok(TurnRow {
        number: row.get(from)?,
        first_place: row.get(from + 1)?,
        last_place: row.get(from + 2)?,
        prompt: row.get(from + 3)?,
        answer: row.get(from + 4)?,
        messages: row.get(from + 5)?,
        tools: row.get(from + 6)?,
        failed: row.get(from + 7)?,
        ending: row.get(from + 8)?,
        began_at: row.get(from + 9)?,
        last_at: row.get(from + 10)?,
    })
}
