//! What runs were started with, and where they were found to differ from it.

use missiond_core::{ExecutionId, Timestamp};

use crate::questions::{from_json, json};
use crate::{Row, StoreError, Tx, Value};

/// One thing a run was started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurfacePart {
    /// `AGENTS.md`, `program claude`.
    pub part: String,
    pub digest: String,
    /// Of what is text, without secrets.
    pub text: Option<String>,
}

/// A difference that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDrift {
    pub execution: ExecutionId,
    /// Of everything that was found, so that the same is not asked twice.
    pub digest: String,
    /// A sentence or a diff for each part.
    pub changes: Vec<String>,
    pub found_at: Timestamp,
    /// `go on` or `stop`, once somebody decided.
    pub decision: Option<String>,
}

/// A text as it is kept: two that are compared are both without their secrets.
#[must_use]
pub fn storable(text: &str) -> String {
    missiond_secrets::mask_within(text).into_string()
}

/// Keeps what a run is started with, or goes on with after a decision.
pub async fn keep(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    parts: &[SurfacePart],
) -> Result<(), StoreError> {
    let sql = "DELETE FROM run_surfaces WHERE execution = $1";
    tx.execute(sql, &[Value::written(execution)]).await?;
    for part in parts {
        let sql = "INSERT INTO run_surfaces (execution, part, digest, text) \
             VALUES ($1, $2, $3, $4)";
        let params = [
            Value::written(execution),
            (&part.part).into(),
            (&part.digest).into(),
            Value::masked_optional(part.text.as_deref()),
        ];
        tx.execute(sql, &params).await?;
    }
    Ok(())
}

/// What a run was started with; nothing for one of an older version.
pub async fn of(tx: &mut Tx<'_>, execution: ExecutionId) -> Result<Vec<SurfacePart>, StoreError> {
    let sql = "SELECT part, digest, text FROM run_surfaces WHERE execution = $1 ORDER BY part";
    let rows = tx.query(sql, &[Value::written(execution)]).await?;
    let decode = |row: &Row| {
        Ok(SurfacePart {
            part: row.get(0)?,
            digest: row.get(1)?,
            text: row.get(2)?,
        })
    };
    rows.iter().map(decode).collect()
}

/// What the last run of a conversation in a folder was started with.
pub async fn of_conversation(
    tx: &mut Tx<'_>,
    conversation: &str,
    cwd: &str,
) -> Result<Vec<SurfacePart>, StoreError> {
    let sql = "SELECT id FROM executions WHERE conversation = $1 AND cwd = $2 \
         AND EXISTS (SELECT 1 FROM run_surfaces WHERE execution = executions.id) \
         ORDER BY started_at DESC LIMIT 1";
    let params = [conversation.into(), cwd.into()];
    match tx.query_one(sql, &params).await? {
        Some(row) => of(tx, row.parse(0)?).await,
        None => Ok(Vec::new()),
    }
}

/// Puts a difference on record; whether it was not there.
pub async fn found(tx: &mut Tx<'_>, drift: &RunDrift) -> Result<bool, StoreError> {
    let sql = "INSERT INTO run_drifts (execution, digest, changes, found_at) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (execution, digest) DO NOTHING";
    let params = [
        Value::written(drift.execution),
        (&drift.digest).into(),
        json(&drift.changes)?.masked_json(),
        drift.found_at.into(),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// Takes a decision, once; whether this was the time.
pub async fn decide(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    digest: &str,
    decision: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let sql = "UPDATE run_drifts SET decision = $3, decided_at = $4 \
         WHERE execution = $1 AND digest = $2 AND decision IS NULL";
    let params = [
        Value::written(execution),
        digest.into(),
        decision.into(),
        now.into(),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// One difference.
pub async fn drift(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    digest: &str,
) -> Result<Option<RunDrift>, StoreError> {
    let sql = format!("SELECT {DRIFT} FROM run_drifts WHERE execution = $1 AND digest = $2");
    let params = [Value::written(execution), digest.into()];
    tx.query_one(&sql, &params)
        .await?
        .as_ref()
        .map(decode)
        .transpose()
}

/// Those that nobody has decided about, of runs that have not ended.
pub async fn undecided(tx: &mut Tx<'_>) -> Result<Vec<RunDrift>, StoreError> {
    let sql = format!(
        "SELECT {DRIFT} FROM run_drifts WHERE decision IS NULL AND EXISTS ( \
             SELECT 1 FROM executions WHERE id = run_drifts.execution AND ended_at IS NULL) \
         ORDER BY found_at"
    );
    tx.query(&sql, &[]).await?.iter().map(decode).collect()
}

const DRIFT: &str = "execution, digest, changes, found_at, decision";

fn decode(row: &Row) -> Result<RunDrift, StoreError> {
    Ok(RunDrift {
        execution: row.parse(0)?,
        digest: row.get(1)?,
        changes: from_json(row.text(2)?)?,
        found_at: row.get(3)?,
        decision: row.get(4)?,
    })
}
