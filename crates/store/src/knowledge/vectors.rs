//! The vectors of entries, each of one model and one revision of its entry.
//! A vector of an older revision is none: its entry is asked for again.

use missiond_core::{EntryId, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// One model and how far its vectors are.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRow {
    /// The full name: provider, model, revision, dimension.
    pub name: String,
    pub dimension: i64,
    /// Where it was reached, when it is behind an endpoint.
    pub endpoint: Option<String>,
    /// What the model's unlike texts come to, as JSON.
    pub calibration: Option<String>,
    /// When every entry had a vector for the first time.
    pub completed_at: Option<Timestamp>,
}

/// Notes that there is a model, and where it is reached now, if that is told.
pub async fn ensure_model(
    tx: &mut Tx<'_>,
    name: &str,
    dimension: i64,
    endpoint: Option<&str>,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO knowledge_models (name, dimension, endpoint) VALUES ($1, $2, $3) \
         ON CONFLICT (name) DO UPDATE \
         SET endpoint = COALESCE(excluded.endpoint, knowledge_models.endpoint)";
    tx.execute(sql, &[name.into(), dimension.into(), endpoint.into()])
        .await?;
    Ok(())
}

/// Notes that a model's vectors are complete; the first time stays.
pub async fn complete_model(
    tx: &mut Tx<'_>,
    name: &str,
    calibration: Option<&str>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE knowledge_models SET completed_at = COALESCE(completed_at, $2), \
         calibration = COALESCE($3, calibration) WHERE name = $1";
    tx.execute(sql, &[name.into(), at.into(), calibration.into()])
        .await?;
    Ok(())
}

/// Every model, the one completed last first.
pub async fn models(tx: &mut Tx<'_>) -> Result<Vec<ModelRow>, StoreError> {
    let sql = "SELECT name, dimension, endpoint, calibration, completed_at FROM knowledge_models \
         ORDER BY COALESCE(completed_at, 0) DESC, name";
    let decode = |row: &Row| {
        Ok(ModelRow {
            name: row.get(0)?,
            dimension: row.get(1)?,
            endpoint: row.get(2)?,
            calibration: row.get(3)?,
            completed_at: row.get(4)?,
        })
    };
    tx.query(sql, &[]).await?.iter().map(decode).collect()
}

/// Forgets a model and its vectors.
pub async fn remove_model(tx: &mut Tx<'_>, name: &str) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM knowledge_vectors WHERE model = $1",
        &[name.into()],
    )
    .await?;
    tx.execute(
        "DELETE FROM knowledge_models WHERE name = $1",
        &[name.into()],
    )
    .await?;
    Ok(())
}

/// Writes the vector of a revision. One of a later revision stays, and `false` is
/// returned.
pub async fn put(
    tx: &mut Tx<'_>,
    model: &str,
    entry: EntryId,
    revision: i64,
    vector: &[f32],
) -> Result<bool, StoreError> {
    let sql = "INSERT INTO knowledge_vectors (entry, model, revision, vector) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (entry, model) DO UPDATE \
         SET revision = excluded.revision, vector = excluded.vector \
         WHERE knowledge_vectors.revision <= excluded.revision";
    let bytes: Vec<u8> = vector
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let params = [
        Value::written(entry),
        model.into(),
        revision.into(),
        bytes.into(),
    ];
    Ok(tx.execute(sql, &params).await? == 1)
}

/// The vectors of a model that belong to what entries in use say now, in the
/// order of the entries' ids, after one of them.
pub async fn page(
    tx: &mut Tx<'_>,
    model: &str,
    after: Option<EntryId>,
    limit: u32,
) -> Result<Vec<(EntryId, Vec<f32>)>, StoreError> {
    let sql = "SELECT v.entry, v.vector FROM knowledge_vectors v \
         JOIN knowledge k ON k.id = v.entry AND k.revision = v.revision AND k.archived_at IS NULL \
         WHERE v.model = $1 AND v.entry > $2 ORDER BY v.entry LIMIT $3";
    let after = after.map_or_else(String::new, |id| id.to_string());
    let rows = tx
        .query(sql, &[model.into(), after.into(), limit.into()])
        .await?;
    let decode = |row: &Row| {
        let bytes: Vec<u8> = row.get(1)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok((
            row.parse(0)?,
            numbers
                .iter()
                .map(|bytes| f32::from_le_bytes(*bytes))
                .collect(),
        ))
    };
    rows.iter().map(decode).collect()
}

/// Entries in use that have no vector of this model for what they say now.
pub async fn missing(tx: &mut Tx<'_>, model: &str, limit: u32) -> Result<Vec<EntryId>, StoreError> {
    let sql = "SELECT k.id FROM knowledge k LEFT JOIN knowledge_vectors v \
         ON v.entry = k.id AND v.model = $1 AND v.revision = k.revision \
         WHERE k.archived_at IS NULL AND v.entry IS NULL ORDER BY k.id LIMIT $2";
    let rows = tx.query(sql, &[model.into(), limit.into()]).await?;
    rows.iter().map(|row| row.parse(0)).collect()
}

/// How many entries are in use, and how many of them have a vector of this
/// model.
pub async fn progress(tx: &mut Tx<'_>, model: &str) -> Result<(i64, i64), StoreError> {
    let sql = "SELECT COUNT(*), COUNT(v.entry) FROM knowledge k LEFT JOIN knowledge_vectors v \
         ON v.entry = k.id AND v.model = $1 AND v.revision = k.revision \
         WHERE k.archived_at IS NULL";
    let row = tx.query_one(sql, &[model.into()]).await?;
    let row = row.ok_or_else(|| StoreError::internal("a count gave no row"))?;
    Ok((row.get(0)?, row.get(1)?))
}
