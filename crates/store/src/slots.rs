//! The places agents run. A name is unique among the slots that are open;
//! closed ones stay, because tasks and events name them.

use missiond_core::{Slot, SlotId, SlotKind, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// Which slots to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotFilter {
    Open,
    All,
}

pub async fn register(tx: &mut Tx<'_>, slot: &Slot) -> Result<(), StoreError> {
    let sql = "INSERT INTO slots (id, name, kind, engine, daemon, created_at, closed_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
    let params = [
        Value::written(slot.id),
        (&slot.name).into(),
        kind_name(slot.kind).into(),
        slot.engine.name().into(),
        Value::written(slot.daemon),
        slot.created_at.into(),
        slot.closed_at.into(),
    ];
    match tx.execute(sql, &params).await? {
        1 => Ok(()),
        _ => Err(StoreError::conflict(format!(
            "a slot named {} is already open",
            slot.name
        ))),
    }
}

pub async fn close(tx: &mut Tx<'_>, id: SlotId, at: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE slots SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL";
    if tx.execute(sql, &[Value::written(id), at.into()]).await? == 1 {
        return Ok(());
    }
    match get(tx, id).await? {
        Some(slot) => Err(StoreError::conflict(format!(
            "the slot {} is already closed",
            slot.name
        ))),
        None => Err(StoreError::not_found("slot", id)),
    }
}

pub async fn get(tx: &mut Tx<'_>, id: SlotId) -> Result<Option<Slot>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM slots WHERE id = $1");
    let row = tx.query_one(&sql, &[Value::written(id)]).await?;
    row.as_ref().map(decode).transpose()
}

/// The open slot with this name.
pub async fn find(tx: &mut Tx<'_>, name: &str) -> Result<Option<Slot>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM slots WHERE name = $1 AND closed_at IS NULL");
    let row = tx.query_one(&sql, &[name.into()]).await?;
    row.as_ref().map(decode).transpose()
}

/// The slot that bore this name last and is closed.
pub async fn last_closed(tx: &mut Tx<'_>, name: &str) -> Result<Option<Slot>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM slots WHERE name = $1 AND closed_at IS NOT NULL \
         ORDER BY created_at DESC, id DESC LIMIT 1"
    );
    let row = tx.query_one(&sql, &[name.into()]).await?;
    row.as_ref().map(decode).transpose()
}

/// Slots in the order they were made.
pub async fn list(tx: &mut Tx<'_>, filter: SlotFilter) -> Result<Vec<Slot>, StoreError> {
    let condition = match filter {
        SlotFilter::Open => "WHERE closed_at IS NULL",
        SlotFilter::All => "",
    };
    let sql = format!("SELECT {COLUMNS} FROM slots {condition} ORDER BY created_at, id");
    tx.query(&sql, &[]).await?.iter().map(decode).collect()
}

const COLUMNS: &str = "id, name, kind, engine, daemon, created_at, closed_at";

fn decode(row: &Row) -> Result<Slot, StoreError> {
    Ok(Slot {
        id: row.parse(0)?,
        name: row.get(1)?,
        kind: match row.text(2)? {
            "foreground" => SlotKind::Foreground,
            "static" => SlotKind::Static,
            "dynamic" => SlotKind::Dynamic,
            other => {
                return Err(StoreError::internal(format!(
                    "`{other}` is no kind of slot"
                )));
            }
        },
        engine: row.parse(3)?,
        daemon: row.parse(4)?,
        created_at: row.get(5)?,
        closed_at: row.get(6)?,
    })
}

const fn kind_name(kind: SlotKind) -> &'static str {
    match kind {
        SlotKind::Foreground => "foreground",
        SlotKind::Static => "static",
        SlotKind::Dynamic => "dynamic",
    }
}
