//! What lets the agent of an execution speak to the daemon. A capability is a
//! random token of which only the hash is here, bound to one execution, one
//! user and a time; it can be taken back.

use std::fmt;

use missiond_core::{ExecutionId, Timestamp};

use crate::{StoreError, Tx, Value};

/// What a token hashes to, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TokenHash(pub String);

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    pub token: TokenHash,
    pub execution: ExecutionId,
    /// The user whose processes may use it.
    pub uid: u32,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

pub async fn grant(tx: &mut Tx<'_>, capability: &Capability) -> Result<(), StoreError> {
    let sql = "INSERT INTO execution_capabilities \
         (token_hash, execution, uid, expires_at, revoked_at) VALUES ($1, $2, $3, $4, $5)";
    let params = [
        capability.token.0.as_str().into(),
        Value::written(capability.execution),
        i64::from(capability.uid).into(),
        capability.expires_at.into(),
        capability.revoked_at.into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

/// The capability of this token, whatever has become of it.
pub async fn find(tx: &mut Tx<'_>, token: &TokenHash) -> Result<Option<Capability>, StoreError> {
    let sql = "SELECT execution, uid, expires_at, revoked_at FROM execution_capabilities \
         WHERE token_hash = $1";
    let Some(row) = tx.query_one(sql, &[token.0.as_str().into()]).await? else {
        return Ok(None);
    };
    let uid: i64 = row.get(1)?;
    Ok(Some(Capability {
        token: token.clone(),
        execution: row.parse(0)?,
        uid: u32::try_from(uid)
            .map_err(|_| StoreError::internal(format!("{uid} is no user's number")))?,
        expires_at: row.get(2)?,
        revoked_at: row.get(3)?,
    }))
}

/// Takes back whatever an execution was granted but for this one.
pub async fn revoke_others(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    kept: &TokenHash,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let sql = "UPDATE execution_capabilities SET revoked_at = $3 \
         WHERE execution = $1 AND token_hash <> $2 AND revoked_at IS NULL";
    let params = [Value::written(execution), kept.0.as_str().into(), at.into()];
    tx.execute(sql, &params).await
}

/// Takes back whatever an execution was granted; how many that were.
pub async fn revoke(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let sql = "UPDATE execution_capabilities SET revoked_at = $2 \
         WHERE execution = $1 AND revoked_at IS NULL";
    tx.execute(sql, &[Value::written(execution), at.into()])
        .await
}
