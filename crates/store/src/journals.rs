//! Journals of executions: lines in order, and the head that says where each
//! journal ends. The lines come from `missiond-journal` and go back to it as
//! they were; nothing here reads them.

use missiond_core::ExecutionId;

use crate::{Row, StoreError, Tx, Value};

/// Where a journal ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalHead {
    /// The place of the last line.
    pub seq: i64,
    pub hash: String,
    pub records: i64,
    /// How often the lines were replaced as a whole.
    pub segment: i64,
}

/// One line and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    pub seq: i64,
    pub line: String,
}

/// Makes a journal; a conflict when the execution has one.
pub async fn create(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    head: &JournalHead,
    lines: &[JournalLine],
) -> Result<(), StoreError> {
    let sql = "INSERT INTO journals (execution, seq, hash, records, segment) \
         VALUES ($1, $2, $3, $4, 0) ON CONFLICT DO NOTHING";
    let params = [
        Value::written(execution),
        head.seq.into(),
        (&head.hash).into(),
        head.records.into(),
    ];
    match tx.execute(sql, &params).await? {
        1 => insert(tx, execution, lines).await,
        _ => Err(StoreError::conflict(format!(
            "{execution} already has a journal"
        ))),
    }
}

/// Appends lines if the journal still ends at `from`; a conflict when somebody
/// else has written it.
pub async fn append(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    from: &JournalHead,
    to: &JournalHead,
    lines: &[JournalLine],
) -> Result<(), StoreError> {
    advance(tx, execution, from, to).await?;
    insert(tx, execution, lines).await
}

/// Puts other lines in the place of all there are.
pub async fn replace(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    from: &JournalHead,
    to: &JournalHead,
    lines: &[JournalLine],
) -> Result<(), StoreError> {
    advance(tx, execution, from, to).await?;
    let sql = "DELETE FROM journal_lines WHERE execution = $1";
    tx.execute(sql, &[Value::written(execution)]).await?;
    insert(tx, execution, lines).await
}

pub async fn head(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
) -> Result<Option<JournalHead>, StoreError> {
    let sql = "SELECT seq, hash, records, segment FROM journals WHERE execution = $1";
    let row = tx.query_one(sql, &[Value::written(execution)]).await?;
    row.as_ref().map(decode).transpose()
}

/// Every execution that has a journal, in the order of their ids.
pub async fn list(tx: &mut Tx<'_>) -> Result<Vec<ExecutionId>, StoreError> {
    let rows = tx
        .query("SELECT execution FROM journals ORDER BY execution", &[])
        .await?;
    rows.iter().map(|row| row.parse(0)).collect()
}

/// Up to `limit` lines after `after`, and the segment they belong to. `None` when
/// there is no such journal.
pub async fn read_after(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    after: i64,
    limit: i64,
) -> Result<Option<(i64, Vec<JournalLine>)>, StoreError> {
    let Some(head) = head(tx, execution).await? else {
        return Ok(None);
    };
    let sql = "SELECT seq, line FROM journal_lines WHERE execution = $1 AND seq > $2 \
         ORDER BY seq LIMIT $3";
    let params = [Value::written(execution), after.into(), limit.into()];
    let rows = tx.query(sql, &params).await?;
    let line = |row: &Row| {
        Ok(JournalLine {
            seq: row.get(0)?,
            line: row.get(1)?,
        })
    };
    let lines = rows.iter().map(line).collect::<Result<_, StoreError>>()?;
    Ok(Some((head.segment, lines)))
}

async fn advance(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    from: &JournalHead,
    to: &JournalHead,
) -> Result<(), StoreError> {
    let sql = "UPDATE journals SET seq = $4, hash = $5, records = $6, segment = $7 \
         WHERE execution = $1 AND seq = $2 AND hash = $3";
    let params = [
        Value::written(execution),
        from.seq.into(),
        (&from.hash).into(),
        to.seq.into(),
        (&to.hash).into(),
        to.records.into(),
        to.segment.into(),
    ];
    match tx.execute(sql, &params).await? {
        1 => Ok(()),
        _ => Err(StoreError::conflict(format!(
            "the journal of {execution} no longer ends at record {}: somebody else has written it",
            from.seq
        ))),
    }
}

/// Rows of one statement: fewer round trips, and always one of two texts.
const ROWS: usize = 32;

async fn insert(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    lines: &[JournalLine],
) -> Result<(), StoreError> {
    let (whole, rest) = lines.split_at(lines.len() - lines.len() % ROWS);
    for chunk in whole.chunks(ROWS).chain(rest.chunks(1)) {
        let places =
            (0..chunk.len()).map(|row| format!("($1, ${}, ${})", 2 * row + 2, 2 * row + 3));
        let places = places.collect::<Vec<_>>().join(", ");
        let sql = format!("INSERT INTO journal_lines (execution, seq, line) VALUES {places}");
        let mut params = vec![Value::written(execution)];
        for line in chunk {
            params.push(line.seq.into());
            params.push((&line.line).into());
        }
        tx.execute(&sql, &params).await?;
    }
    Ok(())
}

fn decode(row: &Row) -> Result<JournalHead, StoreError> {
    Ok(JournalHead {
        seq: row.get(0)?,
        hash: row.get(1)?,
        records: row.get(2)?,
        segment: row.get(3)?,
    })
}
