//! The right to work on something until a moment in time.
//!
//! A resource keeps its row for ever, so its fencing token only grows: through
//! renewal it stays, and every claim, also after a release or an expiry, gets
//! a larger one. A lease is *live* while it is not released and its time has
//! not come; only the live lease's token is good.

use std::time::Duration;

use missiond_core::{FencingToken, Lease, Timestamp};

use crate::{Row, StoreError, Tx};

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    Granted(Lease),
    /// Somebody (maybe the asker itself) has the live lease.
    Held(Lease),
}

/// Claims the resource, unless somebody holds it. Who holds a lease already
/// renews it instead: a second claim is answered [`Claim::Held`].
pub async fn claim(
    tx: &mut Tx<'_>,
    resource: &str,
    holder: &str,
    now: Timestamp,
    ttl: Duration,
) -> Result<Claim, StoreError> {
    let sql = format!(
        "INSERT INTO leases (resource, holder, token, expires_at) VALUES ($1, $2, 1, $3) \
         ON CONFLICT (resource) DO UPDATE \
         SET holder = excluded.holder, token = leases.token + 1, \
             expires_at = excluded.expires_at, released_at = NULL \
         WHERE leases.released_at IS NOT NULL OR leases.expires_at <= $4 \
         RETURNING {COLUMNS}"
    );
    let params = [
        resource.into(),
        holder.into(),
        now.plus(ttl).into(),
        now.into(),
    ];
    loop {
        if let Some(row) = tx.query_one(&sql, &params).await? {
            return Ok(Claim::Granted(decode(&row)?.lease));
        }
        let kept = find(tx, resource).await?;
        // It may have been freed between the two statements; then claim again.
        if let Some(kept) = kept.filter(|kept| kept.is_live(now)) {
            return Ok(Claim::Held(kept.lease));
        }
    }
}

/// Makes the live lease last until `now + ttl`.
pub async fn renew(
    tx: &mut Tx<'_>,
    resource: &str,
    token: FencingToken,
    now: Timestamp,
    ttl: Duration,
) -> Result<Lease, StoreError> {
    let sql = format!(
        "UPDATE leases SET expires_at = $3 \
         WHERE resource = $1 AND token = $2 AND released_at IS NULL AND expires_at > $4 \
         RETURNING {COLUMNS}"
    );
    let params = [
        resource.into(),
        token.into(),
        now.plus(ttl).into(),
        now.into(),
    ];
    match tx.query_one(&sql, &params).await? {
        Some(row) => Ok(decode(&row)?.lease),
        None => Err(stale(resource, token)),
    }
}

/// Gives the lease back before its time. One that has expired, but that nobody
/// has claimed or collected since, may still be given back.
pub async fn release(
    tx: &mut Tx<'_>,
    resource: &str,
    token: FencingToken,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE leases SET released_at = $3 \
         WHERE resource = $1 AND token = $2 AND released_at IS NULL";
    match tx
        .execute(sql, &[resource.into(), token.into(), now.into()])
        .await?
    {
        1 => Ok(()),
        _ => Err(stale(resource, token)),
    }
}

/// Collects the leases whose time has come and that nobody gave back. Each is
/// returned once.
pub async fn expire(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<Lease>, StoreError> {
    let sql = format!(
        "UPDATE leases SET released_at = $1 WHERE resource IN ( \
             SELECT resource FROM leases WHERE released_at IS NULL AND expires_at <= $1{} \
         ) RETURNING {COLUMNS}",
        tx.for_update_skip_locked()
    );
    let rows = tx.query(&sql, &[now.into()]).await?;
    let mut expired = leases(&rows)?;
    expired.sort_by(|a, b| (a.expires_at, &a.resource).cmp(&(b.expires_at, &b.resource)));
    Ok(expired)
}

/// Whether the token is that of the live lease. In a write transaction nobody
/// can take the lease over between this and the commit.
pub async fn check(
    tx: &mut Tx<'_>,
    resource: &str,
    token: FencingToken,
    now: Timestamp,
) -> Result<(), StoreError> {
    match find(tx, resource).await? {
        Some(kept) if kept.lease.token == token && kept.is_live(now) => Ok(()),
        _ => Err(stale(resource, token)),
    }
}

/// The live lease on the resource, if there is one.
pub async fn get(
    tx: &mut Tx<'_>,
    resource: &str,
    now: Timestamp,
) -> Result<Option<Lease>, StoreError> {
    let kept = find(tx, resource).await?;
    Ok(kept.filter(|kept| kept.is_live(now)).map(|kept| kept.lease))
}

/// Who claimed the resource last, whether the lease is live or not.
pub async fn last_holder(tx: &mut Tx<'_>, resource: &str) -> Result<Option<String>, StoreError> {
    let kept = find(tx, resource).await?;
    Ok(kept.map(|kept| kept.lease.holder))
}

/// Every live lease, the first to expire first.
pub async fn list(tx: &mut Tx<'_>, now: Timestamp) -> Result<Vec<Lease>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM leases WHERE released_at IS NULL AND expires_at > $1 \
         ORDER BY expires_at, resource"
    );
    leases(&tx.query(&sql, &[now.into()]).await?)
}

/// Takes the lease away from whoever holds it: its token is stale from now on.
pub(crate) async fn revoke(
    tx: &mut Tx<'_>,
    resource: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE leases SET token = token + 1, released_at = $2 \
         WHERE resource = $1 AND released_at IS NULL";
    tx.execute(sql, &[resource.into(), now.into()])
        .await
        .map(drop)
}

/// Gives the lease to another holder under a larger token, whoever has it and
/// whether it is live or not.
pub(crate) async fn seize(
    tx: &mut Tx<'_>,
    resource: &str,
    holder: &str,
    now: Timestamp,
    ttl: Duration,
) -> Result<Lease, StoreError> {
    let sql = format!(
        "UPDATE leases SET holder = $2, token = token + 1, expires_at = $3, released_at = NULL \
         WHERE resource = $1 RETURNING {COLUMNS}"
    );
    let params = [resource.into(), holder.into(), now.plus(ttl).into()];
    match tx.query_one(&sql, &params).await? {
        Some(row) => Ok(decode(&row)?.lease),
        None => Err(StoreError::not_found("lease", resource)),
    }
}

/// A resource's row, locked in a write transaction.
pub(crate) async fn find(tx: &mut Tx<'_>, resource: &str) -> Result<Option<LeaseRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM leases WHERE resource = $1{}",
        tx.for_update()
    );
    let row = tx.query_one(&sql, &[resource.into()]).await?;
    row.as_ref().map(decode).transpose()
}

/// The newest claim of a resource, live or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseRow {
    pub(crate) lease: Lease,
    released: bool,
}

impl LeaseRow {
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        !self.released && self.lease.expires_at > now
    }
}

pub(crate) fn stale(resource: &str, token: FencingToken) -> StoreError {
    StoreError::StaleLease {
        resource: resource.to_owned(),
        token,
    }
}

const COLUMNS: &str = "resource, holder, token, expires_at, released_at";

fn decode(row: &Row) -> Result<LeaseRow, StoreError> {
    Ok(LeaseRow {
        lease: Lease {
            resource: row.get(0)?,
            holder: row.get(1)?,
            token: row.get(2)?,
            expires_at: row.get(3)?,
        },
        released: row.get::<Option<i64>>(4)?.is_some(),
    })
}

fn leases(rows: &[Row]) -> Result<Vec<Lease>, StoreError> {
    rows.iter().map(|row| Ok(decode(row)?.lease)).collect()
}
