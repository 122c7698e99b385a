//! Beacons in code: a name that people and agents use, and what it stands for.
//! They belong to all checkouts of a repository; the one they were set in says
//! where their code is now.

use missiond_core::Timestamp;

use crate::{Row, StoreError, Tx, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeaconRow {
    pub name: String,
    pub note: String,
    /// The checkout it was set in.
    pub repository: i64,
    pub created_at: Timestamp,
    pub nodes: Vec<BeaconNodeRow>,
}

/// One piece of code a beacon stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeaconNodeRow {
    pub path: String,
    pub kind: String,
    pub container: String,
    pub name: String,
    pub signature: String,
    pub words: String,
    pub hash: String,
    pub nameless: String,
    pub line: u32,
    /// How it was found the last time it was somewhere else or lost.
    pub trail: String,
    /// Where it was before that.
    pub moved_from: Option<String>,
    /// Since when it is not found.
    pub lost_at: Option<Timestamp>,
    pub followed_at: Timestamp,
}

/// Sets a beacon, in the place of one with its name.
pub async fn set(tx: &mut Tx<'_>, family: i64, beacon: &BeaconRow) -> Result<(), StoreError> {
    remove(tx, family, &beacon.name).await?;
    let sql = "INSERT INTO beacons (family, name, note, repository, created_at) \
         VALUES ($1, $2, $3, $4, $5)";
    let params = [
        family.into(),
        (&beacon.name).into(),
        Value::masked(&beacon.note),
        beacon.repository.into(),
        beacon.created_at.into(),
    ];
    tx.execute(sql, &params).await?;
    for (node, place) in beacon.nodes.iter().zip(0_i64..) {
        insert(tx, family, &beacon.name, place, node).await?;
    }
    Ok(())
}

/// Writes what became of one piece of a beacon's code. False when the beacon
/// was removed meanwhile.
pub async fn follow(
    tx: &mut Tx<'_>,
    family: i64,
    beacon: &str,
    place: i64,
    node: &BeaconNodeRow,
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM beacon_nodes WHERE family = $1 AND beacon = $2 AND place = $3";
    let params = [family.into(), beacon.into(), place.into()];
    if tx.execute(sql, &params).await? == 0 {
        return Ok(false);
    }
    insert(tx, family, beacon, place, node).await?;
    Ok(true)
}

/// Removes a beacon; whether there was one.
pub async fn remove(tx: &mut Tx<'_>, family: i64, name: &str) -> Result<bool, StoreError> {
    let params = [family.into(), name.into()];
    let sql = "DELETE FROM beacon_nodes WHERE family = $1 AND beacon = $2";
    tx.execute(sql, &params).await?;
    let sql = "DELETE FROM beacons WHERE family = $1 AND name = $2";
    Ok(tx.execute(sql, &params).await? == 1)
}

/// The beacons of a repository, by name.
pub async fn list(tx: &mut Tx<'_>, family: i64) -> Result<Vec<BeaconRow>, StoreError> {
    let sql = "SELECT name, note, repository, created_at FROM beacons WHERE family = $1 \
         ORDER BY name";
    let rows = tx.query(sql, &[family.into()]).await?;
    let mut beacons = rows.iter().map(beacon).collect::<Result<Vec<_>, _>>()?;
    let sql = "SELECT beacon, path, kind, container, name, signature, words, hash, nameless, \
         line, trail, moved_from, lost_at, followed_at FROM beacon_nodes WHERE family = $1 \
         ORDER BY beacon, place";
    for row in &tx.query(sql, &[family.into()]).await? {
        let of = row.text(0)?;
        if let Some(beacon) = beacons.iter_mut().find(|beacon| beacon.name == of) {
            beacon.nodes.push(node(row)?);
        }
    }
    Ok(beacons)
}

async fn insert(
    tx: &mut Tx<'_>,
    family: i64,
    beacon: &str,
    place: i64,
    node: &BeaconNodeRow,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO beacon_nodes (family, beacon, place, path, kind, container, name, \
         signature, words, hash, nameless, line, trail, moved_from, lost_at, followed_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
    let params = [
        family.into(),
        beacon.into(),
        place.into(),
        (&node.path).into(),
        (&node.kind).into(),
        (&node.container).into(),
        (&node.name).into(),
        (&node.signature).into(),
        (&node.words).into(),
        (&node.hash).into(),
        (&node.nameless).into(),
        node.line.into(),
        (&node.trail).into(),
        node.moved_from.as_deref().into(),
        node.lost_at.into(),
        node.followed_at.into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

fn beacon(row: &Row) -> Result<BeaconRow, StoreError> {
    Ok(BeaconRow {
        name: row.get(0)?,
        note: row.get(1)?,
        repository: row.get(2)?,
        created_at: row.get(3)?,
        nodes: Vec::new(),
    })
}

fn node(row: &Row) -> Result<BeaconNodeRow, StoreError> {
    Ok(BeaconNodeRow {
        path: row.get(1)?,
        kind: row.get(2)?,
        container: row.get(3)?,
        name: row.get(4)?,
        signature: row.get(5)?,
        words: row.get(6)?,
        hash: row.get(7)?,
        nameless: row.get(8)?,
        line: row.get(9)?,
        trail: row.get(10)?,
        moved_from: row.get(11)?,
        lost_at: row.get(12)?,
        followed_at: row.get(13)?,
    })
}
