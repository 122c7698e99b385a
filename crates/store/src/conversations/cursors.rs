//! How far transcripts were read. A cursor moves in the transaction that takes
//! in what was read, and only from where its reader began: of two that read the
//! same, the second is told and reads on from the place of the first.

use missiond_core::{ConversationId, Timestamp};

use crate::{StoreError, Tx, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorRow {
    /// A file, or a conversation in a database.
    pub source: String,
    pub conversation: ConversationId,
    /// As its reader wrote it.
    pub place: String,
}

/// What became of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorMove {
    Done,
    /// Somebody else has read on from there, to this place.
    Elsewhere(String),
}

/// Moves the cursor of a transcript, and holds it until the transaction ends.
pub async fn advance(
    tx: &mut Tx<'_>,
    host: &str,
    from: Option<&str>,
    to: &CursorRow,
    at: Timestamp,
) -> Result<CursorMove, StoreError> {
    let insert = "INSERT INTO transcript_cursors (host, source, conversation, place, moved_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (host, source) DO NOTHING";
    let params = [
        host.into(),
        (&to.source).into(),
        Value::written(to.conversation),
        (&to.place).into(),
        at.into(),
    ];
    if tx.execute(insert, &params).await? == 1 {
        return Ok(CursorMove::Done);
    }
    let sql = format!(
        "SELECT place FROM transcript_cursors WHERE host = $1 AND source = $2{}",
        tx.for_update()
    );
    let row = tx
        .query_one(&sql, &[host.into(), (&to.source).into()])
        .await?;
    let place: String = row
        .ok_or_else(|| StoreError::internal("a cursor is neither there nor can it be made"))?
        .get(0)?;
    if from != Some(place.as_str()) {
        return Ok(CursorMove::Elsewhere(place));
    }
    let sql = "UPDATE transcript_cursors SET conversation = $3, place = $4, moved_at = $5 \
         WHERE host = $1 AND source = $2";
    tx.execute(sql, &params).await?;
    Ok(CursorMove::Done)
}

pub async fn get(
    tx: &mut Tx<'_>,
    host: &str,
    source: &str,
) -> Result<Option<CursorRow>, StoreError> {
    let sql = "SELECT source, conversation, place FROM transcript_cursors \
         WHERE host = $1 AND source = $2";
    let row = tx.query_one(sql, &[host.into(), source.into()]).await?;
    row.map(|row| {
        Ok(CursorRow {
            source: row.get(0)?,
            conversation: row.parse(1)?,
            place: row.get(2)?,
        })
    })
    .transpose()
}
