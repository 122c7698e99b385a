//! The decisions about permissions, remembered by the log: each record of one names its row in
//! the database with the digest of it, so a row that is taken out or changed is found.

use missiond_core::AuditedDecision;
use missiond_store::{MissionDb, StoreError, permissions};

use crate::verify::{Finding, Verification};

/// Rows that are read together.
const TOGETHER: usize = 500;

/// Holds the database against what the log remembers of its decisions.
pub async fn check(db: &MissionDb, found: &mut Verification) -> Result<(), StoreError> {
    let mut known = found.decisions.clone();
    known.sort_by_key(|decision| decision.number);
    for some in known.chunks(TOGETHER) {
        let (Some(first), Some(last)) = (some.first(), some.last()) else {
            continue;
        };
        let (first, last) = (first.number, last.number);
        let rows = db
            .read(move |tx| Box::pin(permissions::decision_digests(tx, first, last)))
            .await?;
        for AuditedDecision { number, hash } in some {
            let number = *number;
            match rows.get(&number) {
                None => found.report(Finding::DecisionGone { number }),
                Some(now) if now != hash => found.report(Finding::DecisionChanged { number }),
                Some(_) => {}
            }
        }
    }
    Ok(())
}
