//! Conversations with agents, as their CLIs' transcripts have them.
//!
//! Taking in is a transaction of many of these functions: the cursor of the
//! transcript is held first, then the conversation, so that two daemons that
//! read the same file come one after the other. Whatever has a key is there
//! once; a function that adds says whether it did. What a text may be and what
//! makes a turn is decided by others.

pub mod cursors;
pub mod items;
pub mod turns;
pub mod usage;

use missiond_core::{BoardTaskId, CliEngine, ConversationId, ExecutionId, SlotId, Timestamp};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{Row, StoreError, Tx, Value};

/// The id of the conversation an agent CLI calls by this name: the same
/// whoever takes it in.
#[must_use]
pub fn id_of(engine: &CliEngine, session: &str) -> ConversationId {
    let digest = Sha256::digest(format!("{engine}\0{session}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    ConversationId::from_uuid(Uuid::from_bytes(bytes))
}

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRow {
    pub id: ConversationId,
    pub engine: CliEngine,
    /// The CLI's own name of it.
    pub session: String,
    /// Where its transcript was first read.
    pub host: String,
    /// The folder of the repository it was about, or its own.
    pub project: String,
    pub cwd: String,
    /// The beginning of the first prompt; empty until there is one.
    pub title: String,
    /// The newest execution it was led in, with its slot.
    pub execution: Option<ExecutionId>,
    pub task: Option<BoardTaskId>,
    pub slot: Option<SlotId>,
    pub started_at: Timestamp,
    pub last_at: Timestamp,
    /// When something was last taken in, by the daemon's clock.
    pub taken_at: Timestamp,
    pub next_place: i64,
    /// Lines of its transcript that could not be taken in.
    pub skipped: i64,
    /// What was wrong with the last of them.
    pub diagnostic: Option<String>,
}

/// Whose run a conversation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Links {
    pub execution: Option<ExecutionId>,
    pub task: Option<BoardTaskId>,
    pub slot: Option<SlotId>,
}

/// Makes the row unless it is there, and holds it until the transaction ends.
pub async fn hold(tx: &mut Tx<'_>, new: &ConversationRow) -> Result<ConversationRow, StoreError> {
    let sql = format!(
        "INSERT INTO conversations ({COLUMNS}) VALUES \
         ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         ON CONFLICT (id) DO NOTHING"
    );
    tx.execute(&sql, &encode(new)).await?;
    let sql = format!(
        "SELECT {COLUMNS} FROM conversations WHERE id = $1{}",
        tx.for_update()
    );
    let row = tx.query_one(&sql, &[Value::written(new.id)]).await?;
    let row = row.ok_or_else(|| StoreError::not_found("conversation", new.id))?;
    decode(&row)
}

/// Writes what has changed of a row that is held.
pub async fn update(tx: &mut Tx<'_>, row: &ConversationRow) -> Result<(), StoreError> {
    let sql = "UPDATE conversations SET title = $2, execution = $3, task = $4, slot = $5, \
         started_at = $6, last_at = $7, taken_at = $8, next_place = $9, skipped = $10, \
         diagnostic = $11, project = $12 WHERE id = $1";
    let params = [
        Value::written(row.id),
        (&row.title).into(),
        row.execution.map(Value::written).unwrap_or(Value::Null),
        row.task.map(Value::written).unwrap_or(Value::Null),
        row.slot.map(Value::written).unwrap_or(Value::Null),
        row.started_at.into(),
        row.last_at.into(),
        row.taken_at.into(),
        row.next_place.into(),
        row.skipped.into(),
        row.diagnostic.as_deref().into(),
        (&row.project).into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

pub async fn get(
    tx: &mut Tx<'_>,
    id: ConversationId,
) -> Result<Option<ConversationRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM conversations WHERE id = $1");
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.as_ref().map(decode).transpose()
}

/// Those whose CLI's own name begins so, two at most: enough to tell one from
/// several.
pub async fn by_session(
    tx: &mut Tx<'_>,
    beginning: &str,
) -> Result<Vec<ConversationRow>, StoreError> {
    let pattern: String = beginning
        .chars()
        .flat_map(|c| match c {
            '%' | '_' | '\\' => vec!['\\', c],
            c => vec![c],
        })
        .chain(['%'])
        .collect();
    let sql = format!(
        "SELECT {COLUMNS} FROM conversations WHERE session LIKE $1 ESCAPE '\\' \
         ORDER BY session LIMIT 2"
    );
    let rows = tx.query(&sql, &[pattern.into()]).await?;
    rows.iter().map(decode).collect()
}

/// Which conversations to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationFilter {
    pub engine: Option<CliEngine>,
    pub project: Option<String>,
    pub task: Option<BoardTaskId>,
    pub execution: Option<ExecutionId>,
    /// Something was said at or after this moment.
    pub since: Option<Timestamp>,
    /// It began before this moment.
    pub until: Option<Timestamp>,
    /// Those after this one in the order of the list.
    pub after: Option<(Timestamp, ConversationId)>,
    pub limit: u32,
}

/// The one in which something was said last comes first.
pub async fn list(
    tx: &mut Tx<'_>,
    filter: &ConversationFilter,
) -> Result<Vec<ConversationRow>, StoreError> {
    let mut conditions = vec!["1 = 1".to_owned()];
    let mut params: Vec<Value> = Vec::new();
    let mut add = |condition: &str, value: Value| {
        params.push(value);
        conditions.push(condition.replace('?', &format!("${}", params.len())));
    };
    if let Some(engine) = &filter.engine {
        add("engine = ?", engine.name().into());
    }
    if let Some(project) = &filter.project {
        add("project = ?", project.into());
    }
    if let Some(task) = filter.task {
        add("task = ?", Value::written(task));
    }
    if let Some(execution) = filter.execution {
        add("execution = ?", Value::written(execution));
    }
    if let Some(since) = filter.since {
        add("last_at >= ?", since.into());
    }
    if let Some(until) = filter.until {
        add("started_at < ?", until.into());
    }
    if let Some((at, id)) = filter.after {
        params.push(at.into());
        params.push(Value::written(id));
        let n = params.len();
        conditions.push(format!(
            "(last_at < ${} OR (last_at = ${} AND id > ${n}))",
            n - 1,
            n - 1
        ));
    }
    params.push(filter.limit.into());
    let sql = format!(
        "SELECT {COLUMNS} FROM conversations WHERE {} ORDER BY last_at DESC, id LIMIT ${}",
        conditions.join(" AND "),
        params.len()
    );
    let rows = tx.query(&sql, &params).await?;
    rows.iter().map(decode).collect()
}

/// Conversations into which something was taken at or after a moment, the
/// earliest first; behind one of that moment, when it is named.
pub async fn ingested_since(
    tx: &mut Tx<'_>,
    since: Timestamp,
    behind: Option<ConversationId>,
    limit: u32,
) -> Result<Vec<ConversationRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM conversations WHERE taken_at > $1 OR (taken_at = $1 AND id > $2) \
         ORDER BY taken_at, id LIMIT $3"
    );
    let behind = behind.map_or_else(String::new, |id| id.to_string());
    let params = [since.into(), behind.into(), limit.into()];
    let rows = tx.query(&sql, &params).await?;
    rows.iter().map(decode).collect()
}

/// What a conversation holds, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub turns: i64,
    pub messages: i64,
    pub tools: i64,
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
    pub cache_write: i64,
}

pub async fn counts(tx: &mut Tx<'_>, id: ConversationId) -> Result<Counts, StoreError> {
    let sum = |column: &str| {
        format!(
            "(SELECT cast(coalesce(sum({column}), 0) AS bigint) FROM conversation_usage \
             WHERE conversation = $1)"
        )
    };
    let count = |table: &str| format!("(SELECT COUNT(*) FROM {table} WHERE conversation = $1)");
    let columns = [
        count("turns"),
        count("conversation_messages"),
        count("tool_calls"),
        sum("input_tokens"),
        sum("output_tokens"),
        sum("cache_read_tokens"),
        sum("cache_write_tokens"),
    ];
    let sql = format!("SELECT {}", columns.join(", "));
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    let number =
        |index| -> Result<i64, StoreError> { row.as_ref().map_or(Ok(0), |row| row.get(index)) };
    Ok(Counts {
        turns: number(0)?,
        messages: number(1)?,
        tools: number(2)?,
        input: number(3)?,
        output: number(4)?,
        cache_read: number(5)?,
        cache_write: number(6)?,
    })
}

/// Forgets conversations in which nothing was said since a moment, a few at a
/// time; how many. Their cursors stay, so that what was forgotten is not read
/// again.
pub async fn forget_before(
    tx: &mut Tx<'_>,
    moment: Timestamp,
    limit: u32,
) -> Result<u64, StoreError> {
    let sql = format!(
        "SELECT id FROM conversations WHERE last_at < $1 ORDER BY last_at, id LIMIT $2{}",
        tx.for_update_skip_locked()
    );
    let rows = tx.query(&sql, &[moment.into(), limit.into()]).await?;
    for row in &rows {
        let id: String = row.get(0)?;
        for table in [
            "conversation_messages",
            "tool_calls",
            "conversation_events",
            "conversation_usage",
            "turns",
        ] {
            let sql = format!("DELETE FROM {table} WHERE conversation = $1");
            tx.execute(&sql, &[(&id).into()]).await?;
        }
        tx.execute("DELETE FROM conversations WHERE id = $1", &[id.into()])
            .await?;
    }
    Ok(rows.len() as u64)
}

const COLUMNS: &str = "id, engine, session, host, project, cwd, title, execution, task, slot, \
     started_at, last_at, taken_at, next_place, skipped, diagnostic";

fn encode(row: &ConversationRow) -> [Value; 16] {
    [
        Value::written(row.id),
        row.engine.name().into(),
        (&row.session).into(),
        (&row.host).into(),
        (&row.project).into(),
        (&row.cwd).into(),
        (&row.title).into(),
        row.execution.map(Value::written).unwrap_or(Value::Null),
        row.task.map(Value::written).unwrap_or(Value::Null),
        row.slot.map(Value::written).unwrap_or(Value::Null),
        row.started_at.into(),
        row.last_at.into(),
        row.taken_at.into(),
        row.next_place.into(),
        row.skipped.into(),
        row.diagnostic.as_deref().into(),
    ]
}

fn decode(row: &Row) -> Result<ConversationRow, StoreError> {
    Ok(ConversationRow {
        id: row.parse(0)?,
        engine: row.parse(1)?,
        session: row.get(2)?,
        host: row.get(3)?,
        project: row.get(4)?,
        cwd: row.get(5)?,
        title: row.get(6)?,
        execution: row.parse_optional(7)?,
        task: row.parse_optional(8)?,
        slot: row.parse_optional(9)?,
        started_at: row.get(10)?,
        last_at: row.get(11)?,
        taken_at: row.get(12)?,
        next_place: row.get(13)?,
        skipped: row.get(14)?,
        diagnostic: row.get(15)?,
    })
}
