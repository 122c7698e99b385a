//! Attempts and their evidence as rows.

use std::path::PathBuf;

use missiond_core::{Attempt, AttemptId, Claim, Evidence, Outcome};

use super::rows::placeholders;
use crate::{Row, StoreError, Tx, Value};

pub(super) const ATTEMPT: &str = "id, task, number, token, holder, daemon, slot, execution, \
     worktree, branch, base_commit, claim_kind, claim_text, claim_at, outcome, reason, \
     check_rounds, started_at, ended_at, abandoned";

pub(super) const EVIDENCE: &str = "attempt, round, check_name, exit_code, signal, timed_out, \
     passed, tail, commit_id, at, millis, note";

pub(super) fn attempt(row: &Row) -> Result<Attempt, StoreError> {
    let claim = match row.parse_optional(11)? {
        Some(kind) => Some(Claim {
            kind,
            text: row.get(12)?,
            at: row.get(13)?,
        }),
        None => None,
    };
    Ok(Attempt {
        id: row.parse(0)?,
        task: row.parse(1)?,
        number: row.get(2)?,
        token: row.get(3)?,
        holder: row.get(4)?,
        daemon: row.parse(5)?,
        slot: row.parse_optional(6)?,
        execution: row.parse_optional(7)?,
        worktree: row.get::<Option<String>>(8)?.map(PathBuf::from),
        branch: row.get(9)?,
        base_commit: row.get(10)?,
        claim,
        outcome: row.parse_optional(14)?,
        reason: row.get(15)?,
        check_rounds: row.get(16)?,
        started_at: row.get(17)?,
        ended_at: row.get(18)?,
        abandoned: row.get(19)?,
    })
}

pub(super) fn attempts(rows: &[Row]) -> Result<Vec<Attempt>, StoreError> {
    rows.iter().map(attempt).collect()
}

pub(super) fn evidence(row: &Row) -> Result<Evidence, StoreError> {
    let small = |index| -> Result<Option<i32>, StoreError> {
        let number: Option<i64> = row.get(index)?;
        let fits = number.map(i32::try_from).transpose();
        fits.map_err(|_| StoreError::internal(format!("column {index} is too large")))
    };
    let millis: i64 = row.get(10)?;
    Ok(Evidence {
        attempt: row.parse(0)?,
        round: row.get(1)?,
        check: row.get(2)?,
        exit: small(3)?,
        signal: small(4)?,
        timed_out: row.get(5)?,
        passed: row.get(6)?,
        tail: row.get(7)?,
        commit: row.get(8)?,
        at: row.get(9)?,
        millis: u64::try_from(millis).unwrap_or(0),
        note: row.get(11)?,
    })
}

pub(super) async fn one(tx: &mut Tx<'_>, id: AttemptId) -> Result<Option<Attempt>, StoreError> {
    let sql = format!("SELECT {ATTEMPT} FROM board_attempts WHERE id = $1");
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.as_ref().map(attempt).transpose()
}

fn text(path: Option<&PathBuf>) -> Result<Value, StoreError> {
    match path.map(|path| path.to_str().ok_or(path)) {
        None => Ok(Value::Null),
        Some(Ok(text)) => Ok(text.into()),
        Some(Err(path)) => Err(StoreError::InvalidValue {
            detail: format!("the path {} is not text", path.display()),
        }),
    }
}

pub(super) async fn insert(tx: &mut Tx<'_>, attempt: &Attempt) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO board_attempts ({ATTEMPT}) VALUES ({})",
        placeholders(1, 20)
    );
    tx.execute(&sql, &values(attempt)?).await.map(drop)
}

pub(super) async fn store(tx: &mut Tx<'_>, attempt: &Attempt) -> Result<(), StoreError> {
    let sets: Vec<_> = ATTEMPT
        .split(',')
        .enumerate()
        .skip(1)
        .map(|(index, name)| format!("{} = ${}", name.trim(), index + 1))
        .collect();
    let sql = format!(
        "UPDATE board_attempts SET {} WHERE id = $1",
        sets.join(", ")
    );
    tx.execute(&sql, &values(attempt)?).await.map(drop)
}

fn values(attempt: &Attempt) -> Result<Vec<Value>, StoreError> {
    let claim = attempt.claim.as_ref();
    Ok(vec![
        Value::written(attempt.id),
        Value::written(attempt.task),
        attempt.number.into(),
        attempt.token.into(),
        (&attempt.holder).into(),
        Value::written(attempt.daemon),
        attempt.slot.map(|slot| slot.to_string()).into(),
        attempt
            .execution
            .map(|execution| execution.to_string())
            .into(),
        text(attempt.worktree.as_ref())?,
        attempt.branch.as_ref().into(),
        attempt.base_commit.as_ref().into(),
        claim.map(|claim| claim.kind.as_str()).into(),
        claim.map(|claim| claim.text.as_str()).into(),
        claim.map(|claim| claim.at).into(),
        attempt.outcome.map(Outcome::as_str).into(),
        attempt.reason.as_ref().into(),
        attempt.check_rounds.into(),
        attempt.started_at.into(),
        attempt.ended_at.into(),
        attempt.abandoned.into(),
    ])
}
