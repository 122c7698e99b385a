//! The gate every request passes: how much at once, how fast, whether at all.
//!
//! What is decided is decided by plain functions over plain data, with the time
//! passed in: a breaker ([`Breaker`]), a pace ([`Pace`]), what follows a failure
//! ([`after_failure`]). [`Gate`] holds them for each provider and waits.

mod after_failure;
mod breaker;
mod pace;
mod queue;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::Timestamp;
use missiond_net::http::HeaderMap;
use parking_lot::Mutex;

pub use after_failure::{Attempts, Next, after_failure};
pub use breaker::{Breaker, BreakerLimits, Refused, Standing};
pub use pace::{Pace, PaceLimits};
pub use queue::{Class, Permit, Queue};

/// What a provider may be asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    pub at_once: u32,
    pub pace: PaceLimits,
    pub breaker: BreakerLimits,
}

/// Why a request does not pass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    #[error("{provider} has nothing left of its quota until {}: {why}", .until.in_utc())]
    Parked {
        provider: String,
        until: Timestamp,
        why: String,
    },
    #[error("{provider} failed again and again and is left alone for {} s", .wait.as_secs_f32().ceil())]
    Broken { provider: String, wait: Duration },
    #[error("{provider} has too much to do: its turn did not come in time")]
    Deadline { provider: String },
}

/// A provider that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parking {
    pub until: Timestamp,
    pub why: String,
}

#[derive(Debug)]
struct Provider {
    limits: Limits,
    pace: Pace,
    breaker: Breaker,
    parked: Option<Parking>,
    queue: Arc<Queue>,
}

/// All providers.
#[derive(Debug, Default)]
pub struct Gate {
    providers: Mutex<BTreeMap<String, Provider>>,
}

/// How a provider stands.
#[derive(Debug, Clone, PartialEq)]
pub struct GateState {
    pub breaker: Standing,
    pub parked: Option<Parking>,
    pub running: u32,
    pub waiting: u32,
}

/// A request that passed. Its outcome is told with [`Passed::tell`]; one that is
/// dropped without was given up by us, and says nothing of the provider.
#[derive(Debug)]
pub struct Passed {
    gate: Arc<Gate>,
    provider: String,
    told: bool,
    _permit: Permit,
}

/// How a request ended, as far as the provider's health goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Well,
    Failed,
    /// Given up by us, or wrong by itself.
    Neither,
}

impl Gate {
    /// Takes over limits; what is under way goes on.
    pub fn configure(&self, limits: &BTreeMap<String, Limits>) {
        let mut providers = self.providers.lock();
        providers.retain(|name, _| limits.contains_key(name));
        for (name, limits) in limits {
            match providers.get_mut(name) {
                Some(known) if known.limits == *limits => {}
                Some(known) => {
                    known.queue.resize(limits.at_once);
                    known.pace = Pace::new(limits.pace, Instant::now());
                    known.limits = *limits;
                }
                None => {
                    let provider = Provider {
                        limits: *limits,
                        pace: Pace::new(limits.pace, Instant::now()),
                        breaker: Breaker::default(),
                        parked: None,
                        queue: Queue::new(limits.at_once),
                    };
                    providers.insert(name.clone(), provider);
                }
            }
        }
    }

    /// Leaves a provider alone until then.
    pub fn park(&self, provider: &str, parking: Parking) {
        if let Some(known) = self.providers.lock().get_mut(provider) {
            known.parked = Some(parking);
        }
    }

    pub fn unpark(&self, provider: &str) {
        if let Some(known) = self.providers.lock().get_mut(provider) {
            known.parked = None;
        }
    }

    /// How a provider stands; none for one that is not configured.
    #[must_use]
    pub fn state(&self, provider: &str, now: Timestamp) -> Option<GateState> {
        let mut providers = self.providers.lock();
        let known = providers.get_mut(provider)?;
        known.parked.take_if(|parked| parked.until <= now);
        let (running, waiting) = known.queue.counts();
        Some(GateState {
            breaker: known.breaker.standing(Instant::now()),
            parked: known.parked.clone(),
            running,
            waiting,
        })
    }

    /// What the provider said of its limits with an answer.
    pub fn heed(&self, provider: &str, headers: &HeaderMap) {
        if let Some(known) = self.providers.lock().get_mut(provider) {
            known.pace.heed(headers, Instant::now());
        }
    }

    /// A provider that wants to be left alone for a while.
    pub fn pause(&self, provider: &str, wait: Duration) {
        if let Some(known) = self.providers.lock().get_mut(provider) {
            known.pace.pause(Instant::now() + wait);
        }
    }

    /// Waits until a request of about so many tokens may go, or says why it may not.
    pub async fn pass(
        self: &Arc<Self>,
        provider: &str,
        class: Class,
        tokens: u64,
        now: Timestamp,
        deadline: Instant,
    ) -> Result<Passed, Closed> {
        let late = || Closed::Deadline {
            provider: provider.to_owned(),
        };
        let queue = {
            let providers = self.providers.lock();
            let known = providers.get(provider).ok_or_else(late)?;
            check_parked(known, provider, now)?;
            Arc::clone(&known.queue)
        };
        let waited = tokio::time::timeout_at(deadline.into(), queue.enter(class)).await;
        let permit = waited.map_err(|_| late())?;
        loop {
            let wait = {
                let mut providers = self.providers.lock();
                let known = providers.get_mut(provider).ok_or_else(late)?;
                check_parked(known, provider, now)?;
                let at = Instant::now();
                if let Some(wait) = known.pace.wait(tokens, at) {
                    wait
                } else {
                    // The breaker last: a probe that it lets pass is really sent.
                    known
                        .breaker
                        .admit(&known.limits.breaker, at)
                        .map_err(|refused| Closed::Broken {
                            provider: provider.to_owned(),
                            wait: refused.wait,
                        })?;
                    known.pace.take(tokens, at);
                    return Ok(Passed {
                        gate: Arc::clone(self),
                        provider: provider.to_owned(),
                        told: false,
                        _permit: permit,
                    });
                }
            };
            if Instant::now() + wait > deadline {
                return Err(late());
            }
            tokio::time::sleep(wait).await;
        }
    }

    fn record(&self, provider: &str, health: Health) {
        if let Some(known) = self.providers.lock().get_mut(provider) {
            let at = Instant::now();
            known.breaker.record(&known.limits.breaker, health, at);
        }
    }
}

impl Passed {
    pub fn tell(mut self, health: Health) {
        self.told = true;
        self.gate.record(&self.provider, health);
    }
}

impl Drop for Passed {
    fn drop(&mut self) {
        if !self.told {
            self.gate.record(&self.provider, Health::Neither);
        }
    }
}

fn check_parked(known: &Provider, provider: &str, now: Timestamp) -> Result<(), Closed> {
    match &known.parked {
        Some(parked) if parked.until > now => Err(Closed::Parked {
            provider: provider.to_owned(),
            until: parked.until,
            why: parked.why.clone(),
        }),
        _ => Ok(()),
    }
}
