//! Who may reach a daemon over HTTP. Of a secret only a keyed hash is here; the
//! key is a file of one home, so a row that somebody else puts into a shared
//! database opens nothing.

use std::time::Duration;

use missiond_core::{AccessId, AccessKind, Scopes, Timestamp};

use crate::{Row, StoreError, Tx, Value};

/// How long a row stays after its end, so that a person can still see it.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Rows of one home that are listed at most.
const LISTED: u32 = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub id: AccessId,
    /// Names the key that the secret was hashed with.
    pub home: String,
    pub kind: AccessKind,
    pub name: String,
    pub secret_hash: String,
    /// What a token lets do; of a session nothing is asked.
    pub scopes: Scopes,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl Access {
    /// Whether it lets in at this time.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| end > now)
    }
}

/// Lets somebody in. A token's name must be free among those that are good.
pub async fn grant(tx: &mut Tx<'_>, access: &Access) -> Result<(), StoreError> {
    let now = access.created_at;
    let long_ago = Timestamp::from_micros(
        now.as_micros() - i64::try_from(KEPT.as_micros()).unwrap_or(i64::MAX),
    );
    let sql = "DELETE FROM http_access WHERE revoked_at < $1 OR expires_at < $1";
    tx.execute(sql, &[long_ago.into()]).await?;
    if access.kind == AccessKind::Token {
        let sql = "SELECT id FROM http_access WHERE home = $1 AND kind = 'token' AND name = $2 \
             AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)";
        let params = [(&access.home).into(), (&access.name).into(), now.into()];
        if tx.query_one(sql, &params).await?.is_some() {
            return Err(StoreError::conflict(format!(
                "a token called `{}` exists; revoke it first or choose another name",
                access.name
            )));
        }
    }
    let sql = "INSERT INTO http_access (id, home, kind, name, secret_hash, created_at, \
         expires_at, last_used_at, revoked_at, scopes) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let params = [
        Value::written(access.id),
        (&access.home).into(),
        Value::written(access.kind),
        (&access.name).into(),
        (&access.secret_hash).into(),
        now.into(),
        access.expires_at.into(),
        access.last_used_at.into(),
        access.revoked_at.into(),
        Value::written(access.scopes),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

/// What this hash stands for, whatever has become of it.
pub async fn find(
    tx: &mut Tx<'_>,
    home: &str,
    secret_hash: &str,
) -> Result<Option<Access>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM http_access WHERE secret_hash = $1 AND home = $2");
    let row = tx
        .query_one(&sql, &[secret_hash.into(), home.into()])
        .await?;
    row.as_ref().map(decode).transpose()
}

/// What lets in at this time, the oldest first.
pub async fn list(tx: &mut Tx<'_>, home: &str, now: Timestamp) -> Result<Vec<Access>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM http_access WHERE home = $1 AND revoked_at IS NULL \
         AND (expires_at IS NULL OR expires_at > $2) ORDER BY created_at, id LIMIT $3"
    );
    let params = [home.into(), now.into(), LISTED.into()];
    tx.query(&sql, &params).await?.iter().map(decode).collect()
}

/// Notes that it was used.
pub async fn used(tx: &mut Tx<'_>, id: AccessId, at: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE http_access SET last_used_at = $2 WHERE id = $1";
    tx.execute(sql, &[Value::written(id), at.into()]).await?;
    Ok(())
}

/// Takes back what has this id or this name; which those were.
pub async fn revoke(
    tx: &mut Tx<'_>,
    home: &str,
    reference: &str,
    now: Timestamp,
) -> Result<Vec<Access>, StoreError> {
    let mut revoked = Vec::new();
    for mut access in list(tx, home, now).await? {
        if access.name == reference || access.id.to_string() == reference {
            let sql = "UPDATE http_access SET revoked_at = $2 WHERE id = $1";
            tx.execute(sql, &[Value::written(access.id), now.into()])
                .await?;
            access.revoked_at = Some(now);
            revoked.push(access);
        }
    }
    Ok(revoked)
}

const COLUMNS: &str =
    "id, home, kind, name, secret_hash, created_at, expires_at, last_used_at, revoked_at, scopes";

fn decode(row: &Row) -> Result<Access, StoreError> {
    Ok(Access {
        id: row.parse(0)?,
        home: row.get(1)?,
        kind: row.parse(2)?,
        name: row.get(3)?,
        secret_hash: row.get(4)?,
        created_at: row.get(5)?,
        expires_at: row.get(6)?,
        last_used_at: row.get(7)?,
        revoked_at: row.get(8)?,
        scopes: row.parse(9)?,
    })
}
