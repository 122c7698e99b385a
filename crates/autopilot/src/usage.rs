//! What agents use: on record as soon as it is known, and checked against the
//! budgets in the same transaction.

use missiond_config::Config;
use missiond_core::{Attempt, BoardTask, BudgetScope};
use missiond_store::StoreError;
use missiond_store::token_usage::{self, Account, Budgets};

use super::gather::ExecutionFacts;
use super::watch::Watches;
use crate::shared::Shared;

/// As many calls of the same tool with the same arguments, one after the other,
/// are a circle.
pub(super) const IDENTICAL_CALLS: u32 = 3;

/// Records what the agent of an attempt used since; whose budget is used up.
pub(super) async fn settle(
    shared: &Shared,
    watches: &mut Watches,
    task: &BoardTask,
    attempt: &Attempt,
    facts: &ExecutionFacts,
) -> Result<Option<BudgetScope>, StoreError> {
    let Some(execution) = attempt.execution else {
        return Ok(None);
    };
    let now = shared.clock.now();
    let config = shared.config();
    // The first look after a start makes the watch: what the agent does must be true then,
    // because one that goes on doing it is not told of again.
    let watch = watches.of(execution, attempt.slot, facts.activity, now);
    if watch.requests == facts.model_requests {
        return Ok(watch.spent.clone());
    }
    let slot_name = attempt
        .slot
        .and_then(|slot| shared.slots.find(&slot.to_string()))
        .map_or_else(|| task.number.to_string(), |open| open.slot.name);
    let account = Account {
        execution,
        task: task.id,
        engine: task
            .engine
            .clone()
            .unwrap_or_else(|| config.autopilot.engine.clone()),
        slot_name,
    };
    let (budgets, tokens) = (budgets(&config, task, &account), facts.tokens);
    let spent = shared
        .db
        .write(move |tx| {
            Box::pin(async move { token_usage::record(tx, &account, tokens, &budgets, now).await })
        })
        .await?;
    watch.requests = facts.model_requests;
    watch.spent.clone_from(&spent);
    Ok(spent)
}

/// The budgets that hold for what this account uses.
pub(super) fn budgets(config: &Config, task: &BoardTask, account: &Account) -> Budgets {
    let some = |tokens: u64| (tokens > 0).then_some(tokens);
    let slot = config
        .slots
        .iter()
        .find(|slot| slot.name.as_str() == account.slot_name);
    Budgets {
        task: task.budget.and_then(|budget| budget.tokens),
        slot: slot.and_then(|slot| some(slot.tokens_per_day)),
        engine: some(config.autopilot.engine_tokens_per_day),
        day: some(config.autopilot.tokens_per_day),
    }
}
