//! So many requests per second, with a burst of one second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::Principal;
use missiond_runtime::Bucket;
use parking_lot::Mutex;

/// Principals whose requests are counted; beyond it those who rested are forgotten.
const COUNTED: usize = 1024;

/// What a connection may ask a second, and every other of its principal with it.
#[derive(Debug, Clone)]
pub(crate) struct SharedRate(Arc<Mutex<Bucket>>);

impl SharedRate {
    fn new(per_second: u32, now: Instant) -> Self {
        Self(Arc::new(Mutex::new(Bucket::per_second(per_second, now))))
    }

    /// Takes one token, or says how long until there is one.
    pub(crate) fn try_acquire(&self, now: Instant) -> Result<(), Duration> {
        self.0.lock().try_take(now)
    }

    fn rests(&self, now: Instant) -> bool {
        self.0.lock().is_full(now)
    }
}

/// The rates of those who share one. Connections of a person do not, nor those of models
/// that they run: who has many of them open is not held up by it. An agent is as fast with a
/// hundred connections as with one.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<HashMap<Principal, (u32, SharedRate)>>);

impl Rates {
    pub(crate) fn of(&self, principal: Principal, per_second: u32, now: Instant) -> SharedRate {
        let key = match principal {
            Principal::Person | Principal::Commander => return SharedRate::new(per_second, now),
            // Whichever run is in it.
            Principal::Agent { slot, .. } => Principal::Agent {
                slot,
                execution: None,
            },
            other => other,
        };
        let mut rates = self.0.lock();
        if rates.len() >= COUNTED && !rates.contains_key(&key) {
            rates.retain(|_, (_, rate)| !rate.rests(now));
        }
        let fresh = || (per_second, SharedRate::new(per_second, now));
        let counted = rates.entry(key).or_insert_with(fresh);
        if counted.0 != per_second {
            *counted = fresh();
        }
        counted.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use missiond_core::SlotId;

    use super::*;

    #[test]
    fn an_agent_is_no_faster_with_more_connections_and_a_person_is() {
        let (rates, now) = (Rates::default(), Instant::now());
        let agent = Principal::Agent {
            slot: SlotId::generate(),
            execution: None,
        };
        let passed = |principal: Principal| {
            let connections = [0, 1].map(|_| rates.of(principal, 10, now));
            let all = (0..20).map(|number| connections[number % 2].try_acquire(now));
            all.filter(Result::is_ok).count()
        };
        assert_eq!(passed(agent), 10);
        // A connection that comes anew has nothing more.
        assert_eq!(passed(agent), 0);
        assert_eq!(passed(Principal::Untold), 10);
        assert_eq!(passed(Principal::Person), 20);
        let later = now + Duration::from_secs(1);
        assert!(rates.of(agent, 10, later).try_acquire(later).is_ok());
    }
}
