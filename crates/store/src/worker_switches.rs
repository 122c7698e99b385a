//! Which background workers may work: what was said of one, of all, of a kind or of a
//! domain. Where nothing was said there is no row.

use missiond_core::{ControlNode, Timestamp, WorkerSwitch};

use crate::{Row, StoreError, Tx, Value};

/// What was said of some workers, by whom and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchRow {
    pub node: ControlNode,
    pub switch: WorkerSwitch,
    pub reason: String,
    pub changed_by: String,
    pub changed_at: Timestamp,
}

/// Says it; whether that changes anything.
pub async fn set(tx: &mut Tx<'_>, row: &SwitchRow) -> Result<bool, StoreError> {
    let sql = "INSERT INTO worker_switches (node, switch, reason, changed_by, changed_at) \
         VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (node) DO UPDATE SET switch = excluded.switch, reason = excluded.reason, \
             changed_by = excluded.changed_by, changed_at = excluded.changed_at \
         WHERE worker_switches.switch <> excluded.switch \
             OR worker_switches.reason <> excluded.reason";
    let params = [
        Value::written(&row.node),
        row.switch.name().into(),
        Value::masked(&row.reason),
        (&row.changed_by).into(),
        row.changed_at.into(),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// Says nothing of them any more; whether something had been said.
pub async fn clear(tx: &mut Tx<'_>, node: &ControlNode) -> Result<bool, StoreError> {
    let sql = "DELETE FROM worker_switches WHERE node = $1";
    Ok(tx.execute(sql, &[Value::written(node)]).await? == 1)
}

/// All that was said. What another version of missiond said of what this one does not
/// know is left out.
pub async fn all(tx: &mut Tx<'_>) -> Result<Vec<SwitchRow>, StoreError> {
    let sql = "SELECT node, switch, reason, changed_by, changed_at FROM worker_switches \
         ORDER BY node";
    let rows = tx.query(sql, &[]).await?;
    let known = rows
        .iter()
        .filter(|row| row.parse::<ControlNode>(0).is_ok());
    known.map(decode).collect()
}

fn decode(row: &Row) -> Result<SwitchRow, StoreError> {
    Ok(SwitchRow {
        node: row.parse(0)?,
        switch: row.parse(1)?,
        reason: row.get(2)?,
        changed_by: row.get(3)?,
        changed_at: row.get(4)?,
    })
}
