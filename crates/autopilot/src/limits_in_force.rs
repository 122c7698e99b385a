//! What beside dependencies and paths is in the way of a task: places, limits of
//! vendors and budgets. The one who claims and the one who explains ask here.

use std::collections::BTreeMap;

use missiond_config::AutopilotConfig;
use missiond_core::{BudgetScope, Timestamp, Wait};
use missiond_store::board::ReadyLimits;
use missiond_store::{StoreError, Tx, autopilot, token_usage};

use crate::shared::Shared;

impl Shared {
    /// The limits in force now, for whoever asks what is ready.
    pub(crate) async fn limits_in_force(&self) -> Result<ReadyLimits, StoreError> {
        let (config, now) = (self.config().autopilot.clone(), self.clock.now());
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let mut limits = in_force(tx, &config, now).await?;
                    limits.capacity = Some(config.max_agents);
                    if day_is_spent(tx, &config, now).await? {
                        limits.all_wait.push(Wait::Budget {
                            scope: BudgetScope::Day,
                            until: Some(token_usage::end_of_day(now)),
                        });
                    }
                    if config.quiet().include(jiff::Zoned::now().time()) {
                        let hours = config.quiet_hours.join(", ");
                        limits.all_wait.push(Wait::QuietHours { hours });
                    }
                    Ok(limits)
                })
            })
            .await
    }
}

/// Whether the budget of the day is used up.
pub(super) async fn day_is_spent(
    tx: &mut Tx<'_>,
    config: &AutopilotConfig,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let budget = config.tokens_per_day;
    Ok(budget > 0 && token_usage::of_day(tx, now).await? >= budget)
}

/// Everything but the places, which each daemon has of its own.
pub(super) async fn in_force(
    tx: &mut Tx<'_>,
    config: &AutopilotConfig,
    now: Timestamp,
) -> Result<ReadyLimits, StoreError> {
    let mut quotas = BTreeMap::new();
    for parked in autopilot::parked(tx).await? {
        if parked.until > now {
            let known = quotas.entry(parked.engine).or_insert(Some(parked.until));
            *known = (*known).max(Some(parked.until));
        }
    }
    let mut spent = BTreeMap::new();
    let budget = config.engine_tokens_per_day;
    if budget > 0 {
        let used = token_usage::engines_of_day(tx, now).await?;
        let over = used.into_iter().filter(|(_, used)| *used >= budget);
        spent.extend(over.map(|(engine, _)| (engine, Some(token_usage::end_of_day(now)))));
    }
    Ok(ReadyLimits {
        default_engine: Some(config.engine.clone()),
        quotas,
        per_engine: config.per_engine(),
        spent,
        ..ReadyLimits::default()
    })
}
