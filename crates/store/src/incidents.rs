//! What went wrong and wants attention. Whether an incident is open is not
//! stored: it is open until it has a moment of resolution.

use missiond_core::{Incident, IncidentId, IncidentState, Severity, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// Something that went wrong, as it is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What kind of thing; with `subject` it decides what "the same" is.
    pub kind: String,
    /// What it happened to.
    pub subject: String,
    pub severity: Severity,
    /// One sentence: what is wrong and what to do.
    pub summary: String,
}

/// Which incidents to list, the last seen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentFilter {
    pub state: Option<IncidentState>,
    pub limit: u32,
}

impl Default for IncidentFilter {
    fn default() -> Self {
        Self {
            state: None,
            limit: 100,
        }
    }
}

/// Opens an incident, or counts up the open one of the same kind and subject,
/// which then has the newest severity and summary. A new one has one occurrence.
pub async fn report(
    tx: &mut Tx<'_>,
    report: &Report,
    now: Timestamp,
) -> Result<Incident, StoreError> {
    let sql = format!(
        "INSERT INTO incidents \
             (id, kind, subject, severity, summary, occurrences, opened_at, last_seen_at) \
         VALUES ($1, $2, $3, $4, $5, 1, $6, $6) \
         ON CONFLICT (kind, subject) WHERE resolved_at IS NULL DO UPDATE \
         SET severity = excluded.severity, summary = excluded.summary, \
             occurrences = incidents.occurrences + 1, last_seen_at = excluded.last_seen_at \
         RETURNING {COLUMNS}"
    );
    let params = [
        Value::written(IncidentId::generate()),
        (&report.kind).into(),
        (&report.subject).into(),
        severity_name(report.severity).into(),
        Value::masked(&report.summary),
        now.into(),
    ];
    let row = tx.query_one(&sql, &params).await?;
    decode(&row.ok_or_else(|| StoreError::internal("an incident was neither opened nor counted"))?)
}

pub async fn resolve(
    tx: &mut Tx<'_>,
    id: IncidentId,
    now: Timestamp,
) -> Result<Incident, StoreError> {
    let sql = format!(
        "UPDATE incidents SET resolved_at = $2 WHERE id = $1 AND resolved_at IS NULL \
         RETURNING {COLUMNS}"
    );
    match tx
        .query_one(&sql, &[Value::written(id), now.into()])
        .await?
    {
        Some(row) => decode(&row),
        None => match get(tx, id).await? {
            Some(_) => Err(StoreError::conflict(format!("{id} is already resolved"))),
            None => Err(StoreError::not_found("incident", id)),
        },
    }
}

/// Resolves the open incident of this kind and subject, if there is one.
pub async fn resolve_open(
    tx: &mut Tx<'_>,
    kind: &str,
    subject: &str,
    now: Timestamp,
) -> Result<Option<Incident>, StoreError> {
    let sql = format!(
        "UPDATE incidents SET resolved_at = $3 \
         WHERE kind = $1 AND subject = $2 AND resolved_at IS NULL RETURNING {COLUMNS}"
    );
    let row = tx
        .query_one(&sql, &[kind.into(), subject.into(), now.into()])
        .await?;
    row.as_ref().map(decode).transpose()
}

/// The kinds of the open incidents of a subject.
pub async fn open_kinds(tx: &mut Tx<'_>, subject: &str) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT kind FROM incidents WHERE subject = $1 AND resolved_at IS NULL";
    let rows = tx.query(sql, &[subject.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

pub async fn get(tx: &mut Tx<'_>, id: IncidentId) -> Result<Option<Incident>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM incidents WHERE id = $1");
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.as_ref().map(decode).transpose()
}

pub async fn list(tx: &mut Tx<'_>, filter: &IncidentFilter) -> Result<Vec<Incident>, StoreError> {
    let condition = match filter.state {
        Some(IncidentState::Open) => "WHERE resolved_at IS NULL",
        Some(IncidentState::Resolved) => "WHERE resolved_at IS NOT NULL",
        None => "",
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM incidents {condition} ORDER BY last_seen_at DESC, id DESC LIMIT $1"
    );
    tx.query(&sql, &[filter.limit.into()])
        .await?
        .iter()
        .map(decode)
        .collect()
}

const COLUMNS: &str = "id, kind, subject, severity, summary, occurrences, opened_at, \
     last_seen_at, resolved_at";

fn decode(row: &Row) -> Result<Incident, StoreError> {
    let resolved_at: Option<Timestamp> = row.get(8)?;
    Ok(Incident {
        id: row.parse(0)?,
        kind: row.get(1)?,
        subject: row.get(2)?,
        severity: match row.text(3)? {
            "info" => Severity::Info,
            "warning" => Severity::Warning,
            "error" => Severity::Error,
            "critical" => Severity::Critical,
            other => return Err(StoreError::internal(format!("`{other}` is no severity"))),
        },
        summary: row.get(4)?,
        occurrences: row.get(5)?,
        state: match resolved_at {
            None => IncidentState::Open,
            Some(_) => IncidentState::Resolved,
        },
        opened_at: row.get(6)?,
        last_seen_at: row.get(7)?,
        resolved_at,
    })
}

const fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
        Severity::Critical => "critical",
    }
}
