//! A token bucket: so many requests per second, with a burst of one second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::Principal;
use parking_lot::Mutex;

/// Principals whose requests are counted; beyond it those who rested are forgotten.
const COUNTED: usize = 1024;

#[derive(Debug)]
pub(crate) struct RateLimit {
    per_second: f64,
    tokens: f64,
    filled_at: Instant,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32, now: Instant) -> Self {
        let per_second = f64::from(per_second);
        Self {
            per_second,
            tokens: per_second,
            filled_at: now,
        }
    }

    /// Whether nothing was taken for a second.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.filled_at) >= Duration::from_secs(1)
    }

    /// Takes one token, or says how long until there is one.
    pub(crate) fn try_acquire(&mut self, now: Instant) -> Result<(), Duration> {
        let elapsed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.per_second);
        self.filled_at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            Ok(())
        } else {
            Err(Duration::from_secs_f64(
                (1.0 - self.tokens) / self.per_second,
            ))
        }
    }
}

/// What a connection may ask a second, and every other of its principal with it.
#[derive(Debug, Clone)]
pub(crate) struct SharedRate(Arc<Mutex<RateLimit>>);

impl SharedRate {
    fn new(per_second: u32, now: Instant) -> Self {
        Self(Arc::new(Mutex::new(RateLimit::new(per_second, now))))
    }

    /// Takes one token, or says how long until there is one.
    pub(crate) fn try_acquire(&self, now: Instant) -> Result<(), Duration> {
        self.0.lock().try_acquire(now)
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
    use missiond_core::SlotId;

    use super::*;

    #[test]
    fn a_burst_of_a_second_passes_and_then_the_rate_holds() {
        let start = Instant::now();
        let mut limit = RateLimit::new(10, start);
        assert!((0..10).all(|_| limit.try_acquire(start).is_ok()));
        assert!(limit.try_acquire(start).unwrap_err() <= Duration::from_millis(100));
        let later = start + Duration::from_millis(250);
        assert!(limit.try_acquire(later).is_ok());
        assert!(limit.try_acquire(later).is_ok());
        assert!(limit.try_acquire(later).is_err());
    }

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
