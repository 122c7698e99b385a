//! What models made of code. A cache: what is missing is made again.

use missiond_core::Timestamp;

use crate::{StoreError, Tx, Value};

/// Names in one statement.
const AT_ONCE: usize = 200;

/// Those of these texts that are there, with their vectors.
pub async fn get(
    tx: &mut Tx<'_>,
    model: &str,
    described: &[String],
) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let mut found = Vec::new();
    for names in described.chunks(AT_ONCE) {
        let places: Vec<String> = (2..names.len() + 2).map(|n| format!("${n}")).collect();
        let sql = format!(
            "SELECT described, vector FROM code_vectors WHERE model = $1 AND described IN ({})",
            places.join(", ")
        );
        let mut params: Vec<Value> = vec![model.into()];
        params.extend(names.iter().map(Value::from));
        let rows = tx.query(&sql, &params).await?;
        for row in &rows {
            found.push((row.get(0)?, row.get(1)?));
        }
    }
    Ok(found)
}

/// Keeps vectors. One that is there already is the same.
pub async fn put(
    tx: &mut Tx<'_>,
    model: &str,
    vectors: Vec<(String, Vec<u8>)>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO code_vectors (model, described, vector, made_at) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (model, described) DO NOTHING";
    for (described, vector) in vectors {
        let params = [model.into(), described.into(), vector.into(), now.into()];
        tx.execute(sql, &params).await?;
    }
    Ok(())
}

/// Forgets the oldest beyond `most`.
pub async fn prune(tx: &mut Tx<'_>, most: u32) -> Result<(), StoreError> {
    let sql = "DELETE FROM code_vectors WHERE made_at <= COALESCE((SELECT made_at FROM \
         code_vectors ORDER BY made_at DESC LIMIT 1 OFFSET $1), 0)";
    tx.execute(sql, &[most.into()]).await?;
    Ok(())
}
