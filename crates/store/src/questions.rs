//! What people are asked. A question stands as long as what asked it does, and
//! raising it again finds the one that is there, answered or not. An answer that
//! has to travel is noted before it goes (`giving`), so that two cannot meet.

use missiond_core::{
    BoardTaskId, ExecutionId, Question, QuestionId, QuestionNumber, QuestionOrigin, QuestionRef,
    QuestionStatus, SlotId, TaskNumber, Timestamp,
};

use crate::{Row, StoreError, Tx, Value, attention_numbers};

/// A question as it is raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewQuestion {
    pub origin: QuestionOrigin,
    pub question: String,
    pub context: Option<String>,
    pub options: Vec<String>,
    pub blocks: u32,
}

/// What came of raising a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RaisedQuestion {
    New(Question),
    /// It was asked before; it may be closed by now.
    Existing(Question),
}

impl RaisedQuestion {
    #[must_use]
    pub const fn question(&self) -> &Question {
        match self {
            Self::New(question) | Self::Existing(question) => question,
        }
    }
}

/// Which questions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionFilter {
    Open,
    OpenInSlot(SlotId),
    OpenOfExecution(ExecutionId),
    /// The newest, closed or not.
    Newest {
        limit: u32,
    },
}

/// How a question is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closing {
    Answered { answer: String },
    Dismissed { reason: Option<String> },
}

/// Asks, unless it is asked already.
pub async fn raise(
    tx: &mut Tx<'_>,
    new: &NewQuestion,
    now: Timestamp,
) -> Result<RaisedQuestion, StoreError> {
    let key = new.origin.key();
    // What two daemons that raise the same question wait for.
    attention_numbers::hold(tx, "question").await?;
    let sql = format!("SELECT {COLUMNS} FROM agent_questions WHERE origin_key = $1 AND stands = 1");
    if let Some(row) = tx.query_one(&sql, &[(&key).into()]).await? {
        let mut known = decode(&row)?;
        if known.status == QuestionStatus::Pending && known.blocks != new.blocks {
            let sql = "UPDATE agent_questions SET blocks = $2 WHERE id = $1";
            let params = [Value::written(known.id), new.blocks.into()];
            tx.execute(sql, &params).await?;
            known.blocks = new.blocks;
        }
        return Ok(RaisedQuestion::Existing(known));
    }
    let number = attention_numbers::next(tx, "question").await?;
    let sql = format!(
        "INSERT INTO agent_questions (id, number, origin, origin_key, slot, execution, \
         task, question, context, options, blocks, asked_at, stands) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1) RETURNING {COLUMNS}"
    );
    let origin = &new.origin;
    let params = [
        Value::written(QuestionId::generate()),
        number.into(),
        json(origin)?.masked_json(),
        key.into(),
        origin.slot().map(Value::written).unwrap_or(Value::Null),
        origin
            .execution()
            .map(Value::written)
            .unwrap_or(Value::Null),
        origin.task().map(Value::written).unwrap_or(Value::Null),
        Value::masked(&new.question),
        Value::masked_optional(new.context.as_deref()),
        json(&new.options)?.masked_json(),
        new.blocks.into(),
        now.into(),
    ];
    let row = tx.query_one(&sql, &params).await?;
    let question = row.as_ref().map(decode).transpose()?;
    let question = question.ok_or_else(|| StoreError::internal("a question was not stored"))?;
    Ok(RaisedQuestion::New(question))
}

pub async fn find(tx: &mut Tx<'_>, reference: QuestionRef) -> Result<Option<Question>, StoreError> {
    let (column, value) = match reference {
        QuestionRef::Number(number) => ("number", number.0.into()),
        QuestionRef::Id(id) => ("id", Value::written(id)),
    };
    let sql = format!("SELECT {COLUMNS} FROM agent_questions WHERE {column} = $1");
    let row = tx.query_one(&sql, &[value]).await?;
    row.as_ref().map(decode).transpose()
}

/// The open ones as they were asked; otherwise the newest first.
pub async fn list(tx: &mut Tx<'_>, filter: QuestionFilter) -> Result<Vec<Question>, StoreError> {
    let open = "closed_at IS NULL";
    let (rest, params) = match filter {
        QuestionFilter::Open => (format!("WHERE {open} ORDER BY number"), vec![]),
        QuestionFilter::OpenInSlot(slot) => (
            format!("WHERE slot = $1 AND {open} ORDER BY number"),
            vec![Value::written(slot)],
        ),
        QuestionFilter::OpenOfExecution(execution) => (
            format!("WHERE execution = $1 AND {open} ORDER BY number"),
            vec![Value::written(execution)],
        ),
        QuestionFilter::Newest { limit } => (
            "ORDER BY number DESC LIMIT $1".to_owned(),
            vec![limit.into()],
        ),
    };
    let sql = format!("SELECT {COLUMNS} FROM agent_questions {rest}");
    tx.query(&sql, &params).await?.iter().map(decode).collect()
}

/// What was answered about a task or by way of one of its executions, as it was
/// asked.
pub async fn answered_about(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
    executions: &[ExecutionId],
) -> Result<Vec<Question>, StoreError> {
    let mut found = Vec::new();
    let of_task = ("task", Value::written(task));
    let of_executions = executions
        .iter()
        .map(|id| ("execution", Value::written(*id)));
    for (column, id) in std::iter::once(of_task).chain(of_executions) {
        let sql = format!(
            "SELECT {COLUMNS} FROM agent_questions WHERE {column} = $1 \
             AND closed_at IS NOT NULL AND answer IS NOT NULL ORDER BY number LIMIT 100"
        );
        let rows = tx.query(&sql, &[id]).await?;
        for row in &rows {
            found.push(decode(row)?);
        }
    }
    found.sort_by_key(|question| question.number);
    Ok(found)
}

/// Notes that an answer is on its way. Refused when the question is closed or
/// another answer is on its way.
pub async fn begin_delivery(
    tx: &mut Tx<'_>,
    id: QuestionId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE agent_questions SET giving_at = $2 \
         WHERE id = $1 AND closed_at IS NULL AND giving_at IS NULL";
    if tx.execute(sql, &[Value::written(id), now.into()]).await? == 1 {
        return Ok(());
    }
    match find(tx, QuestionRef::Id(id)).await? {
        Some(question) if question.closed_at.is_none() => Err(StoreError::conflict(format!(
            "{} is being answered by somebody else at this moment",
            question.number
        ))),
        Some(question) => Err(closed(&question)),
        None => Err(StoreError::not_found("question", id)),
    }
}

/// The answer did not arrive; another may be given.
pub async fn give_up(tx: &mut Tx<'_>, id: QuestionId) -> Result<(), StoreError> {
    let sql = "UPDATE agent_questions SET giving_at = NULL WHERE id = $1";
    tx.execute(sql, &[Value::written(id)]).await.map(drop)
}

/// The answers that were on their way to a slot when its daemon ended are not
/// any more; how many is returned.
pub async fn give_up_all_in(tx: &mut Tx<'_>, slot: SlotId) -> Result<u64, StoreError> {
    let sql = "UPDATE agent_questions SET giving_at = NULL \
         WHERE slot = $1 AND giving_at IS NOT NULL AND closed_at IS NULL";
    tx.execute(sql, &[Value::written(slot)]).await
}

/// What a slot showed has left its screen, but for the dialog with the key
/// given: the other dialogs may ask again.
pub async fn dialogs_left(
    tx: &mut Tx<'_>,
    slot: SlotId,
    but: Option<&str>,
) -> Result<(), StoreError> {
    let sql = "UPDATE agent_questions SET stands = 0 WHERE slot = $1 AND stands = 1 \
         AND origin_key LIKE 'dialog/%' AND origin_key <> $2";
    let params = [Value::written(slot), but.unwrap_or_default().into()];
    tx.execute(sql, &params).await.map(drop)
}

/// The open questions of a slot whose dialogs have left, but for one whose
/// answer is on its way: it may be why the dialog left.
pub async fn orphaned(tx: &mut Tx<'_>, slot: SlotId) -> Result<Vec<Question>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM agent_questions WHERE slot = $1 AND stands = 0 \
             AND closed_at IS NULL AND giving_at IS NULL ORDER BY number"
    );
    let rows = tx.query(&sql, &[Value::written(slot)]).await?;
    rows.iter().map(decode).collect()
}

/// Closes a question, once.
pub async fn close(
    tx: &mut Tx<'_>,
    id: QuestionId,
    closing: &Closing,
    by: &str,
    now: Timestamp,
) -> Result<Question, StoreError> {
    let (answer, reason) = match closing {
        Closing::Answered { answer } => (Some(answer.as_str()), None),
        Closing::Dismissed { reason } => (None, reason.as_deref()),
    };
    let sql = format!(
        "UPDATE agent_questions SET answer = $2, reason = $3, closed_by = $4, closed_at = $5, \
             giving_at = NULL \
         WHERE id = $1 AND closed_at IS NULL RETURNING {COLUMNS}"
    );
    let params = [
        Value::written(id),
        Value::masked_optional(answer),
        Value::masked_optional(reason),
        by.into(),
        now.into(),
    ];
    match tx.query_one(&sql, &params).await? {
        Some(row) => decode(&row),
        None => match find(tx, QuestionRef::Id(id)).await? {
            Some(question) => Err(closed(&question)),
            None => Err(StoreError::not_found("question", id)),
        },
    }
}

fn closed(question: &Question) -> StoreError {
    let by = question.closed_by.as_deref().unwrap_or("a person");
    StoreError::conflict(match (&question.answer, &question.reason) {
        (Some(answer), _) => {
            format!("{} was already answered by {by}: {answer}", question.number)
        }
        (None, Some(reason)) => format!("{} is closed: {reason}", question.number),
        (None, None) => format!("{} was dismissed by {by}", question.number),
    })
}

/// The open questions nobody was notified of, asked before a moment, in slots
/// nobody was notified about since another.
pub async fn unnotified(
    tx: &mut Tx<'_>,
    asked_before: Timestamp,
    quiet_since: Timestamp,
) -> Result<Vec<Question>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM agent_questions \
         WHERE closed_at IS NULL AND giving_at IS NULL AND notified_at IS NULL \
             AND asked_at <= $1 AND (slot IS NULL OR NOT EXISTS ( \
                 SELECT 1 FROM agent_questions AS other \
                 WHERE other.slot = agent_questions.slot AND other.notified_at > $2)) \
         ORDER BY number"
    );
    let rows = tx
        .query(&sql, &[asked_before.into(), quiet_since.into()])
        .await?;
    rows.iter().map(decode).collect()
}

/// Notes that people were notified, once; whether this was the time is returned.
pub async fn mark_notified(
    tx: &mut Tx<'_>,
    id: QuestionId,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let sql = "UPDATE agent_questions SET notified_at = $2 WHERE id = $1 AND notified_at IS NULL";
    Ok(tx.execute(sql, &[Value::written(id), now.into()]).await? == 1)
}

/// The task of a question is asked for as it is read: an agent may ask before it is
/// known on the board as the one that works on it.
const COLUMNS: &str = "id, number, origin, question, context, options, blocks, asked_at, answer, \
     closed_at, closed_by, reason, \
     (SELECT about.number FROM board_tasks AS about WHERE about.id = COALESCE( \
         agent_questions.task, \
         (SELECT attempt.task FROM board_attempts AS attempt \
          WHERE attempt.execution = agent_questions.execution LIMIT 1))) AS about";

fn decode(row: &Row) -> Result<Question, StoreError> {
    let answer: Option<String> = row.get(8)?;
    let closed_at: Option<Timestamp> = row.get(9)?;
    let origin: QuestionOrigin = from_json(row.text(2)?)?;
    let question: String = row.get(3)?;
    Ok(Question {
        id: row.parse(0)?,
        number: QuestionNumber(row.get(1)?),
        headline: origin.headline(&question),
        origin,
        task: row.get::<Option<i64>>(12)?.map(TaskNumber),
        question,
        context: row.get(4)?,
        options: from_json(row.text(5)?)?,
        blocks: row.get(6)?,
        asked_at: row.get(7)?,
        status: match (closed_at, &answer) {
            (None, _) => QuestionStatus::Pending,
            (Some(_), Some(_)) => QuestionStatus::Answered,
            (Some(_), None) => QuestionStatus::Dismissed,
        },
        answer,
        closed_at,
        closed_by: row.get(10)?,
        reason: row.get(11)?,
    })
}

pub(crate) fn json(value: &impl serde::Serialize) -> Result<Value, StoreError> {
    let text = serde_json::to_string(value)
        .map_err(|error| StoreError::internal(format!("cannot be written as JSON: {error}")))?;
    Ok(Value::Text(text))
}

pub(crate) fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::internal(format!("stored JSON cannot be read: {error}")))
}
