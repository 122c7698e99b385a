//! How much agents may add and change in an hour, by what they send. What they are asked to do
//! needs little of it; one that goes wild, or was told to, fills neither the board nor the
//! database. What an agent has started shares what it has.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use missiond_api::{ApiError, Effect, OperationSpec};
use missiond_config::IpcConfig;
use missiond_core::{ErrorCode, SlotId};
use missiond_runtime::Bucket;
use parking_lot::Mutex;

/// Agents that are counted; beyond it those who have all of theirs are forgotten.
const COUNTED: usize = 1024;

/// What is left to each agent, by the slot that no other agent started; whoever cannot be told
/// apart shares one.
#[derive(Debug, Default)]
pub(crate) struct Allowances(Mutex<HashMap<Option<SlotId>, Allowance>>);

/// Whose allowance it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// By the slot above all that started it.
    Agent(SlotId),
    Untold,
    /// It has no limit.
    Free,
}

#[derive(Debug)]
struct Allowance {
    /// By what it was made.
    limits: (u32, u32),
    changes: Bucket,
    kilobytes: Bucket,
}

impl Allowance {
    fn new(limits: (u32, u32), now: Instant) -> Self {
        Self {
            limits,
            changes: Bucket::per_hour(limits.0, now),
            kilobytes: Bucket::per_hour(limits.1, now),
        }
    }

    fn is_full(&mut self, now: Instant) -> bool {
        self.changes.is_full(now) && self.kilobytes.is_full(now)
    }
}

impl Allowances {
    /// Takes what a call with so many bytes of parameters uses up, or says that there is no
    /// more of it. People and programs with a token have no such limit.
    pub(crate) fn take(
        &self,
        config: &IpcConfig,
        caller: Caller,
        spec: &OperationSpec,
        bytes: usize,
        now: Instant,
    ) -> Result<(), ApiError> {
        let agent = match caller {
            _ if spec.effect == Effect::ReadOnly => return Ok(()),
            Caller::Agent(slot) => Some(slot),
            Caller::Untold => None,
            Caller::Free => return Ok(()),
        };
        let limits = (config.agent_changes_per_hour, config.agent_kb_per_hour);
        let mut allowances = self.0.lock();
        if allowances.len() >= COUNTED && !allowances.contains_key(&agent) {
            allowances.retain(|_, one| !one.is_full(now));
        }
        let allowance = allowances
            .entry(agent)
            .or_insert_with(|| Allowance::new(limits, now));
        if allowance.limits != limits {
            *allowance = Allowance::new(limits, now);
        }
        let kilobytes = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        let Allowance {
            changes,
            kilobytes: size,
            ..
        } = allowance;
        changes
            .check(1, now)
            .map_err(|wait| used_up(limits.0, "changes", "ipc.agent_changes_per_hour", wait))?;
        size.try_take_many(kilobytes, now)
            .map_err(|wait| used_up(limits.1, "KB", "ipc.agent_kb_per_hour", wait))?;
        // There is one, as was seen.
        let _ = changes.try_take(now);
        Ok(())
    }
}

fn used_up(limit: u32, what: &str, key: &str, wait: Duration) -> ApiError {
    let message = format!(
        "an agent may send {limit} {what} an hour to be stored (`{key}`), and this one has: the \
         next in {} s",
        wait.as_secs() + 1
    );
    ApiError {
        retry_after_ms: Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1)),
        ..ApiError::new(ErrorCode::RateLimited, message)
    }
}

#[cfg(test)]
mod tests {
    use missiond_api::CATALOGUE;

    use super::*;

    fn spec(name: &str) -> &'static OperationSpec {
        CATALOGUE.iter().find(|spec| spec.name == name).unwrap()
    }

    #[test]
    fn an_agent_that_has_used_up_its_hour_waits_and_nobody_else() {
        let config = IpcConfig {
            agent_changes_per_hour: 3,
            agent_kb_per_hour: 10,
            ..IpcConfig::default()
        };
        let (allowances, now) = (Allowances::default(), Instant::now());
        let agent = || Caller::Agent(SlotId::generate());
        let (one, other) = (agent(), agent());
        let add =
            |caller, bytes, now| allowances.take(&config, caller, spec("board_add"), bytes, now);
        assert!(add(one, 4096, now).is_ok());
        let refused = add(one, 9000, now).unwrap_err();
        assert_eq!(refused.code, ErrorCode::RateLimited);
        assert!(refused.message.contains("`ipc.agent_kb_per_hour`"));
        assert!(
            add(one, 100, now).is_ok(),
            "what was refused is not counted"
        );
        assert!(add(one, 100, now).is_ok());
        let refused = add(one, 100, now).unwrap_err();
        assert!(refused.message.contains("`ipc.agent_changes_per_hour`"));
        assert!(refused.retry_after_ms.unwrap() > 1000);
        for _ in 0..10 {
            assert!(
                allowances
                    .take(&config, one, spec("health"), 0, now)
                    .is_ok()
            );
            assert!(add(Caller::Free, 1 << 20, now).is_ok());
        }
        assert!(add(other, 4096, now).is_ok());
        assert!(add(Caller::Untold, 4096, now).is_ok());
        let later = now + Duration::from_secs(3600);
        assert!(add(one, 100, later).is_ok());
    }
}
