//! Rules on what agents may do, and what was decided by them. A removed rule
//! stays, because decisions name it.

use std::collections::BTreeMap;

use missiond_core::{ExecutionId, PermissionAsked, QuestionId, SlotId, Timestamp};
use missiond_os::hex;
use sha2::{Digest as _, Sha256};

use crate::questions::{from_json, json};
use crate::{Row, StoreError, Tx, Value, attention_numbers};

/// A rule as it is stored. What its texts mean is the guard's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRow {
    pub number: i64,
    pub rule: NewRule,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRule {
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    pub tool: String,
    pub argument: Option<String>,
    pub path: Option<String>,
    pub server: Option<String>,
    /// For whom, as JSON.
    pub scope: String,
    pub expires_at: Option<Timestamp>,
    pub uses_left: Option<u32>,
    /// The question whose answer made it.
    pub question: Option<QuestionId>,
    pub created_by: String,
}

const RULE: &str = "number, effect, tool, argument, path, server, scope, expires_at, uses_left, \
     question, created_by, created_at";

/// What was decided about one permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    pub id: i64,
    pub decision: NewDecision,
    /// Whether the dialog took it, once that is known.
    pub outcome: Option<String>,
    pub outcome_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDecision {
    pub slot: SlotId,
    pub execution: Option<ExecutionId>,
    pub asked: PermissionAsked,
    /// `allow` or `deny`.
    pub effect: String,
    /// The names of rules, or who answered.
    pub decided_by: String,
    pub reason: String,
    pub decided_at: Timestamp,
}

pub async fn add(tx: &mut Tx<'_>, rule: &NewRule, now: Timestamp) -> Result<i64, StoreError> {
    let number = attention_numbers::next(tx, "permission_rule").await?;
    let sql = "INSERT INTO permission_rules (number, effect, tool, argument, path, server, scope, \
         expires_at, uses_left, question, created_by, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let params = [
        number.into(),
        (&rule.effect).into(),
        (&rule.tool).into(),
        rule.argument.as_deref().into(),
        rule.path.as_deref().into(),
        rule.server.as_deref().into(),
        (&rule.scope).into(),
        rule.expires_at.into(),
        rule.uses_left.into(),
        rule.question.map(Value::written).unwrap_or(Value::Null),
        (&rule.created_by).into(),
        now.into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(number)
}

/// The rules that have not been removed, expired or not, in the order they were
/// made.
pub async fn list(tx: &mut Tx<'_>) -> Result<Vec<RuleRow>, StoreError> {
    let sql =
        format!("SELECT {RULE} FROM permission_rules WHERE removed_at IS NULL ORDER BY number");
    tx.query(&sql, &[]).await?.iter().map(decode_rule).collect()
}

/// Removes a rule, once: this rule, if this was the time.
pub async fn remove(
    tx: &mut Tx<'_>,
    number: i64,
    now: Timestamp,
) -> Result<Option<RuleRow>, StoreError> {
    let sql = format!(
        "UPDATE permission_rules SET removed_at = $2 \
         WHERE number = $1 AND removed_at IS NULL RETURNING {RULE}"
    );
    let removed = tx.query(&sql, &[number.into(), now.into()]).await?;
    removed.first().map(decode_rule).transpose()
}

/// Puts a decision on record and counts one use of each rule it rests on.
/// Refused when one of them was used up, has expired or was removed meanwhile.
pub async fn decide_by(
    tx: &mut Tx<'_>,
    decision: &NewDecision,
    rules: &[i64],
) -> Result<i64, StoreError> {
    for &number in rules {
        if !count_use(tx, number, decision.decided_at).await? {
            return Err(StoreError::conflict(format!(
                "P-{number} is no longer in force"
            )));
        }
    }
    record_decision(tx, decision).await
}

/// Counts one use of a rule. False when it may not be used any more.
async fn count_use(tx: &mut Tx<'_>, number: i64, now: Timestamp) -> Result<bool, StoreError> {
    let sql = "UPDATE permission_rules SET uses_left = uses_left - 1 \
         WHERE number = $1 AND removed_at IS NULL AND (uses_left IS NULL OR uses_left > 0) \
             AND (expires_at IS NULL OR expires_at > $2)";
    Ok(tx.execute(sql, &[number.into(), now.into()]).await? == 1)
}

async fn record_decision(tx: &mut Tx<'_>, decision: &NewDecision) -> Result<i64, StoreError> {
    let id = attention_numbers::next(tx, "permission_decision").await?;
    let sql = "INSERT INTO permission_decisions (id, slot, execution, asked, effect, decided_by, \
         reason, decided_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let execution = decision.execution;
    let params = [
        id.into(),
        Value::written(decision.slot),
        execution.map(Value::written).unwrap_or(Value::Null),
        json(&decision.asked)?.masked_json(),
        (&decision.effect).into(),
        (&decision.decided_by).into(),
        (&decision.reason).into(),
        decision.decided_at.into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(id)
}

/// Notes what became of a decision.
pub async fn settle_decision(
    tx: &mut Tx<'_>,
    id: i64,
    outcome: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE permission_decisions SET outcome = $2, outcome_at = $3 WHERE id = $1";
    let changed = tx
        .execute(sql, &[id.into(), outcome.into(), now.into()])
        .await?;
    match changed {
        1 => Ok(()),
        _ => Err(StoreError::not_found("decision", id)),
    }
}

/// SHA-256 over what stands in the rows of these decisions, each in hexadecimal digits, but
/// for what came of them later. A row that cannot be read has no digest that fits.
pub async fn decision_digests(
    tx: &mut Tx<'_>,
    first: i64,
    last: i64,
) -> Result<BTreeMap<i64, String>, StoreError> {
    let sql = "SELECT id, decided_at, slot, execution, asked, effect, decided_by, reason \
         FROM permission_decisions WHERE id >= $1 AND id <= $2 ORDER BY id";
    let rows = tx.query(sql, &[first.into(), last.into()]).await?;
    let mut digests = BTreeMap::new();
    for row in &rows {
        let digest = digest_of(row).unwrap_or_else(|_| "unreadable".to_owned());
        digests.insert(row.get(0)?, digest);
    }
    Ok(digests)
}

fn digest_of(row: &Row) -> Result<String, StoreError> {
    let mut hash = Sha256::new();
    for number in 0..2 {
        hash.update(row.get::<i64>(number)?.to_le_bytes());
    }
    for text in 2..8 {
        let text = row.get::<Option<String>>(text)?;
        // Its length first, so that no two rows are the same bytes.
        let length = text.as_ref().map_or(u64::MAX, |text| text.len() as u64);
        hash.update(length.to_le_bytes());
        hash.update(text.unwrap_or_default());
    }
    Ok(hex::encode(&hash.finalize()))
}

/// The newest decisions, newest first.
pub async fn decisions(tx: &mut Tx<'_>, limit: u32) -> Result<Vec<DecisionRow>, StoreError> {
    let sql = "SELECT id, slot, execution, asked, effect, decided_by, reason, decided_at, \
         outcome, outcome_at FROM permission_decisions ORDER BY id DESC LIMIT $1";
    let rows = tx.query(sql, &[limit.into()]).await?;
    rows.iter().map(decode_decision).collect()
}

fn decode_rule(row: &Row) -> Result<RuleRow, StoreError> {
    Ok(RuleRow {
        number: row.get(0)?,
        rule: NewRule {
            effect: row.get(1)?,
            tool: row.get(2)?,
            argument: row.get(3)?,
            path: row.get(4)?,
            server: row.get(5)?,
            scope: row.get(6)?,
            expires_at: row.get(7)?,
            uses_left: row.get(8)?,
            question: row.parse_optional(9)?,
            created_by: row.get(10)?,
        },
        created_at: row.get(11)?,
    })
}

fn decode_decision(row: &Row) -> Result<DecisionRow, StoreError> {
    Ok(DecisionRow {
        id: row.get(0)?,
        decision: NewDecision {
            slot: row.parse(1)?,
            execution: row.parse_optional(2)?,
            asked: from_json(row.text(3)?)?,
            effect: row.get(4)?,
            decided_by: row.get(5)?,
            reason: row.get(6)?,
            decided_at: row.get(7)?,
        },
        outcome: row.get(8)?,
        outcome_at: row.get(9)?,
    })
}
