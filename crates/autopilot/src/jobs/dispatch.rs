//! Claiming what is ready. The ids of the execution and its slot are chosen with
//! the claim and stored with it, so a task is never started twice.

use std::sync::Arc;

use missiond_core::{ExecutionId, SlotId};
use missiond_store::StoreError;
use missiond_store::board::{self, Claimant};

use super::work::{Report, act};
use crate::limits_in_force;
use crate::shared::Shared;

/// Claims at most `places` tasks.
pub(crate) async fn dispatch(shared: Arc<Shared>, holder: Arc<str>, places: u32) -> Report {
    for _ in 0..places {
        match claim(&shared, &holder).await {
            Ok(true) => shared.wake(),
            Ok(false) => break,
            Err(error) => {
                tracing::error!(%error, "task claim failed");
                break;
            }
        }
    }
    Report::Dispatched
}

async fn claim(shared: &Shared, holder: &str) -> Result<bool, StoreError> {
    let now = shared.clock.now();
    // Looked at first, because a board at rest need not be locked.
    let ready = shared
        .db
        .read(move |tx| Box::pin(board::count_ready(tx, now)))
        .await?;
    if ready == 0 {
        return Ok(false);
    }
    let config = shared.config().autopilot.clone();
    let act = act(shared);
    let claimant = Claimant {
        holder: holder.to_owned(),
        ttl: config.lease(),
        execution: Some(ExecutionId::generate()),
        slot: Some(SlotId::generate()),
    };
    shared
        .db
        .write(move |tx| {
            Box::pin(async move {
                // Read in the transaction that claims: what others used or ran
                // into until now counts.
                if limits_in_force::day_is_spent(tx, &config, act.now).await? {
                    return Ok(false);
                }
                let limits = limits_in_force::in_force(tx, &config, act.now).await?;
                let claimed = board::claim_next(tx, &claimant, &limits, &act).await?;
                Ok(claimed.is_some())
            })
        })
        .await
}
