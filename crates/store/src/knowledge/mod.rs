//! Entries of knowledge and their history. Whether an entry counts is not
//! stored: it counts until it has a moment of archiving. What a change means
//! is decided by others; here a change and the revision it replaces are kept
//! together.

pub mod edges;
pub mod inbox;
pub mod vectors;

use std::collections::BTreeSet;

use missiond_core::{EdgeKind, EntryId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// One entry as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryRow {
    pub id: EntryId,
    /// Unique within its scope.
    pub key: String,
    /// The project it belongs to; empty for all.
    pub scope: String,
    pub category: String,
    pub summary: String,
    pub detail: String,
    /// A JSON list.
    pub labels: String,
    pub source: String,
    pub conversation: Option<String>,
    pub turn: Option<i64>,
    pub author: String,
    pub tier: String,
    /// How far its author is believed.
    pub trust: f64,
    /// What the entries around it leave of that.
    pub confidence: f64,
    pub utility: f64,
    pub revision: i64,
    pub created_at: Timestamp,
    pub verified_at: Timestamp,
    pub used_at: Option<Timestamp>,
    pub archived_at: Option<Timestamp>,
    pub archived_why: Option<String>,
}

/// What an entry said at some time.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionRow {
    pub revision: i64,
    pub category: String,
    pub summary: String,
    pub detail: String,
    pub labels: String,
    pub author: String,
    pub at: Timestamp,
}

/// Writes a new entry with its first revision.
pub async fn insert(tx: &mut Tx<'_>, row: &EntryRow) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO knowledge ({COLUMNS}) VALUES \
         ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)"
    );
    tx.execute(&sql, &encode(row)).await?;
    keep_revision(tx, row, row.created_at).await
}

/// Replaces what an entry says; `row.revision` must be the one after the
/// stored one, so that two who change at once do not overwrite each other.
pub async fn revise(tx: &mut Tx<'_>, row: &EntryRow, at: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE knowledge SET category = $2, summary = $3, detail = $4, labels = $5, \
         source = $6, author = $7, tier = $8, trust = $9, confidence = $10, revision = $11, \
         verified_at = $12, archived_at = NULL, archived_why = NULL \
         WHERE id = $1 AND revision = $13";
    let params = [
        Value::written(row.id),
        (&row.category).into(),
        (&row.summary).into(),
        (&row.detail).into(),
        (&row.labels).into(),
        (&row.source).into(),
        (&row.author).into(),
        (&row.tier).into(),
        row.trust.into(),
        row.confidence.into(),
        row.revision.into(),
        at.into(),
        (row.revision - 1).into(),
    ];
    if tx.execute(sql, &params).await? != 1 {
        let id = row.id;
        return Err(StoreError::conflict(format!(
            "{id} was changed by somebody else meanwhile"
        )));
    }
    keep_revision(tx, row, at).await
}

async fn keep_revision(tx: &mut Tx<'_>, row: &EntryRow, at: Timestamp) -> Result<(), StoreError> {
    let sql = "INSERT INTO knowledge_revisions \
         (entry, revision, category, summary, detail, labels, author, at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let params = [
        Value::written(row.id),
        row.revision.into(),
        (&row.category).into(),
        (&row.summary).into(),
        (&row.detail).into(),
        (&row.labels).into(),
        (&row.author).into(),
        at.into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

/// How useful an entry has been, unless it is not there or is being changed by
/// somebody else just now: a use is not worth waiting for.
pub async fn utility_if_free(tx: &mut Tx<'_>, id: EntryId) -> Result<Option<f64>, StoreError> {
    let sql = format!(
        "SELECT utility FROM knowledge WHERE id = $1{}",
        tx.for_update_skip_locked()
    );
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.map(|row| row.get(0)).transpose()
}

/// Notes that an entry was of use, and how useful it is now.
pub async fn record_use(
    tx: &mut Tx<'_>,
    id: EntryId,
    utility: f64,
    at: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE knowledge SET utility = $2, used_at = $3 WHERE id = $1";
    let params = [Value::written(id), utility.into(), at.into()];
    require_changed(id, tx.execute(sql, &params).await?)
}

/// How an entry stands among the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    pub id: EntryId,
    pub confidence: f64,
    /// The entry in use that holds instead of it.
    pub superseded_by: Option<EntryId>,
}

/// Counts again what the edges of an entry leave of the trust in it.
pub async fn refresh_standing(tx: &mut Tx<'_>, id: EntryId) -> Result<Standing, StoreError> {
    let row = get(tx, id).await?;
    let row = row.ok_or_else(|| StoreError::not_found("entry", id))?;
    let mut standing = Standing {
        id,
        confidence: row.trust,
        superseded_by: None,
    };
    for edge in edges::in_force(tx, id).await? {
        let goes_out = edge.from == id;
        standing.confidence *= if goes_out {
            edge.from_keeps
        } else {
            edge.to_keeps
        };
        if !goes_out && edge.kind == EdgeKind::Supersedes.name() {
            standing.superseded_by = Some(edge.from);
        }
    }
    let sql = "UPDATE knowledge SET confidence = $2 WHERE id = $1";
    tx.execute(sql, &[Value::written(id), standing.confidence.into()])
        .await?;
    Ok(standing)
}

/// As [`stand`], for each entry that an edge joins to one of these.
pub async fn refresh_neighbours(
    tx: &mut Tx<'_>,
    ids: &[EntryId],
) -> Result<Vec<Standing>, StoreError> {
    let mut around = BTreeSet::new();
    for id in ids {
        for edge in edges::of_entry(tx, *id).await? {
            around.extend([edge.from, edge.to].into_iter().filter(|end| end != id));
        }
    }
    let mut standings = Vec::with_capacity(around.len());
    for id in around {
        standings.push(refresh_standing(tx, id).await?);
    }
    Ok(standings)
}

/// Takes an entry out of use. Whether it was in use is returned.
pub async fn archive(
    tx: &mut Tx<'_>,
    id: EntryId,
    why: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let sql = "UPDATE knowledge SET archived_at = $2, archived_why = $3 \
         WHERE id = $1 AND archived_at IS NULL";
    Ok(tx
        .execute(sql, &[Value::written(id), at.into(), why.into()])
        .await?
        == 1)
}

/// What stands before the reason when entries were collected as garbage.
pub const COLLECTED: &str = "gc: ";

/// Brings back what was collected last, all that was archived at that moment,
/// and says which entries those are.
pub async fn restore_last_collection(tx: &mut Tx<'_>) -> Result<Vec<EntryId>, StoreError> {
    let sql = "UPDATE knowledge SET archived_at = NULL, archived_why = NULL \
         WHERE archived_why LIKE 'gc: %' AND archived_at = \
             (SELECT MAX(archived_at) FROM knowledge WHERE archived_why LIKE 'gc: %') \
         RETURNING id";
    let rows = tx.query(sql, &[]).await?;
    rows.iter().map(|row| row.parse(0)).collect()
}

/// How many entries there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub archived: i64,
    pub undecided: i64,
    /// Entries in use by category.
    pub categories: Vec<(String, i64)>,
}

pub async fn counts(tx: &mut Tx<'_>) -> Result<Counts, StoreError> {
    let one = |rows: Vec<Row>| rows.first().map_or(Ok(0), |row| row.get::<i64>(0));
    let archived = "SELECT COUNT(*) FROM knowledge WHERE archived_at IS NOT NULL";
    let undecided = "SELECT COUNT(*) FROM knowledge_inbox WHERE decided_at IS NULL";
    let categories = "SELECT category, COUNT(*) FROM knowledge WHERE archived_at IS NULL \
         GROUP BY category ORDER BY category";
    Ok(Counts {
        archived: one(tx.query(archived, &[]).await?)?,
        undecided: one(tx.query(undecided, &[]).await?)?,
        categories: tx
            .query(categories, &[])
            .await?
            .iter()
            .map(|row| Ok((row.get(0)?, row.get(1)?)))
            .collect::<Result<_, StoreError>>()?,
    })
}

pub async fn get(tx: &mut Tx<'_>, id: EntryId) -> Result<Option<EntryRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM knowledge WHERE id = $1{}",
        tx.for_update()
    );
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.as_ref().map(decode).transpose()
}

pub async fn by_key(
    tx: &mut Tx<'_>,
    scope: &str,
    key: &str,
) -> Result<Option<EntryRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM knowledge WHERE scope = $1 AND key = $2{}",
        tx.for_update()
    );
    let row = tx.query_one(&sql, &[scope.into(), key.into()]).await?;
    row.as_ref().map(decode).transpose()
}

/// Entries in the order of their ids, after one of them. `archived` too when
/// asked for.
pub async fn page(
    tx: &mut Tx<'_>,
    after: Option<EntryId>,
    which: EntryFilter,
    limit: u32,
) -> Result<Vec<EntryRow>, StoreError> {
    let condition = which.condition();
    let sql =
        format!("SELECT {COLUMNS} FROM knowledge WHERE id > $1 {condition} ORDER BY id LIMIT $2");
    let after = after.map_or_else(String::new, |id| id.to_string());
    let rows = tx.query(&sql, &[after.into(), limit.into()]).await?;
    rows.iter().map(decode).collect()
}

/// Entries, those that were last known to be true first.
pub async fn latest(
    tx: &mut Tx<'_>,
    category: Option<&str>,
    which: EntryFilter,
    limit: u32,
    offset: u32,
) -> Result<Vec<EntryRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM knowledge WHERE ($1 = '' OR category = $1) {} \
         ORDER BY verified_at DESC, id DESC LIMIT $2 OFFSET $3",
        which.condition()
    );
    let params = [
        category.unwrap_or_default().into(),
        limit.into(),
        offset.into(),
    ];
    let rows = tx.query(&sql, &params).await?;
    rows.iter().map(decode).collect()
}

/// Which entries to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryFilter {
    InUse,
    Archived,
    All,
}

impl EntryFilter {
    const fn condition(self) -> &'static str {
        match self {
            Self::InUse => "AND archived_at IS NULL",
            Self::Archived => "AND archived_at IS NOT NULL",
            Self::All => "",
        }
    }
}

/// Oldest first.
pub async fn history(tx: &mut Tx<'_>, id: EntryId) -> Result<Vec<RevisionRow>, StoreError> {
    let sql = "SELECT revision, category, summary, detail, labels, author, at \
         FROM knowledge_revisions WHERE entry = $1 ORDER BY revision";
    let decode = |row: &Row| {
        Ok(RevisionRow {
            revision: row.get(0)?,
            category: row.get(1)?,
            summary: row.get(2)?,
            detail: row.get(3)?,
            labels: row.get(4)?,
            author: row.get(5)?,
            at: row.get(6)?,
        })
    };
    tx.query(sql, &[Value::written(id)])
        .await?
        .iter()
        .map(decode)
        .collect()
}

const COLUMNS: &str = "id, key, scope, category, summary, detail, labels, source, conversation, \
     turn, author, tier, trust, confidence, utility, revision, created_at, verified_at, used_at, \
     archived_at, archived_why";

fn encode(row: &EntryRow) -> [Value; 21] {
    [
        Value::written(row.id),
        (&row.key).into(),
        (&row.scope).into(),
        (&row.category).into(),
        (&row.summary).into(),
        (&row.detail).into(),
        (&row.labels).into(),
        (&row.source).into(),
        row.conversation.as_deref().into(),
        row.turn.into(),
        (&row.author).into(),
        (&row.tier).into(),
        row.trust.into(),
        row.confidence.into(),
        row.utility.into(),
        row.revision.into(),
        row.created_at.into(),
        row.verified_at.into(),
        row.used_at.into(),
        row.archived_at.into(),
        row.archived_why.as_deref().into(),
    ]
}

fn decode(row: &Row) -> Result<EntryRow, StoreError> {
    Ok(EntryRow {
        id: row.parse(0)?,
        key: row.get(1)?,
        scope: row.get(2)?,
        category: row.get(3)?,
        summary: row.get(4)?,
        detail: row.get(5)?,
        labels: row.get(6)?,
        source: row.get(7)?,
        conversation: row.get(8)?,
        turn: row.get(9)?,
        author: row.get(10)?,
        tier: row.get(11)?,
        trust: row.get(12)?,
        confidence: row.get(13)?,
        utility: row.get(14)?,
        revision: row.get(15)?,
        created_at: row.get(16)?,
        verified_at: row.get(17)?,
        used_at: row.get(18)?,
        archived_at: row.get(19)?,
        archived_why: row.get(20)?,
    })
}

fn require_changed(id: EntryId, changed: u64) -> Result<(), StoreError> {
    match changed {
        1 => Ok(()),
        _ => Err(StoreError::not_found("entry", id)),
    }
}
