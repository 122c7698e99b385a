//! What machines propose to remember, until a rule or a person decides.

use missiond_core::{EntryId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalRow {
    pub id: EntryId,
    /// What would be remembered, as JSON.
    pub proposal: String,
    pub source: String,
    pub at: Timestamp,
}

pub async fn add(tx: &mut Tx<'_>, row: &ProposalRow) -> Result<(), StoreError> {
    let sql = "INSERT INTO knowledge_inbox (id, proposal, source, at) VALUES ($1, $2, $3, $4)";
    let params = [
        Value::written(row.id),
        (&row.proposal).into(),
        (&row.source).into(),
        row.at.into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

/// Undecided ones, oldest first.
pub async fn list(tx: &mut Tx<'_>, limit: u32) -> Result<Vec<ProposalRow>, StoreError> {
    let sql = "SELECT id, proposal, source, at FROM knowledge_inbox \
         WHERE decided_at IS NULL ORDER BY at, id LIMIT $1";
    tx.query(sql, &[limit.into()])
        .await?
        .iter()
        .map(decode)
        .collect()
}

/// The proposal, when nobody has decided about it.
pub async fn undecided(tx: &mut Tx<'_>, id: EntryId) -> Result<ProposalRow, StoreError> {
    let sql = format!(
        "SELECT id, proposal, source, at, decision FROM knowledge_inbox WHERE id = $1{}",
        tx.for_update()
    );
    let Some(row) = tx.query_one(&sql, &[Value::written(id)]).await? else {
        return Err(StoreError::not_found("proposal", id));
    };
    match row.get::<Option<String>>(4)? {
        Some(decision) => Err(StoreError::conflict(format!("{id} was {decision} already"))),
        None => decode(&row),
    }
}

pub async fn decide(
    tx: &mut Tx<'_>,
    id: EntryId,
    decision: &str,
    entry: Option<EntryId>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE knowledge_inbox SET decided_at = $2, decision = $3, entry = $4 WHERE id = $1";
    let entry = entry.map(|id| id.to_string());
    let params = [Value::written(id), at.into(), decision.into(), entry.into()];
    tx.execute(sql, &params).await?;
    Ok(())
}

fn decode(row: &Row) -> Result<ProposalRow, StoreError> {
    Ok(ProposalRow {
        id: row.parse(0)?,
        proposal: row.get(1)?,
        source: row.get(2)?,
        at: row.get(3)?,
    })
}
