//! The gate every request passes: how much at once, how fast, whether at all.
//!
//! What is decided is decided by plain functions over plain data, with the time
//! passed in: a breaker ([`Breaker`]), a pace ([`Pace`]), what follows a failure
//! ([`after_failure`]). [`Gate`] holds them for each provider and waits.

mod after_failure;
mod breaker;
mod lane;
mod pace;
mod queue;
#[cfg(test)]
mod tests;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::Timestamp;
use missiond_net::http::HeaderMap;
use parking_lot::Mutex;

pub use after_failure::{Attempts, Next, after_failure};
pub use breaker::{Breaker, BreakerLimits, Refused, Standing};
pub use lane::ModelLimits;
pub use pace::{Pace, PaceLimits};
pub use queue::{Class, Permit, Queue};
pub use waits::{LimitKind, WaitCause, Waited};

use lane::{Lane, lane_named, lane_of};
use waits::Waits;

/// What a provider may be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    pub at_once: u32,
    pub pace: PaceLimits,
    pub breaker: BreakerLimits,
    /// Of some of its models, beside these.
    pub models: Vec<ModelLimits>,
}

/// A request that wants to pass.
#[derive(Debug, Clone, Copy)]
pub struct PassRequest<'a> {
    pub provider: &'a str,
    /// As it is sent.
    pub model: &'a str,
    pub class: Class,
    /// What its prompt has, about.
    pub tokens: u64,
    pub now: Timestamp,
    pub deadline: Instant,
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
    #[error("the turn of a request to {provider} did not come in time: it waited for {cause}")]
    Deadline { provider: String, cause: WaitCause },
    #[error("there is no provider `{provider}` any more")]
    Gone { provider: String },
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
    lanes: Vec<Lane>,
    waits: Arc<Waits>,
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
    /// What those that wait are waiting for.
    pub waits: Vec<(WaitCause, u32)>,
}

/// A request that passed. Its outcome is told with [`Passed::tell`]; one that is
/// dropped without was given up by us, and says nothing of the provider.
#[derive(Debug)]
pub struct Passed {
    gate: Arc<Gate>,
    provider: String,
    told: bool,
    waited: Waited,
    _permit: Permit,
    of_models: Option<PassedModels>,
}

/// A place among those who ask some models. What it took of their pace is given back,
/// unless the request is sent.
#[derive(Debug)]
struct PassedModels {
    gate: Arc<Gate>,
    provider: String,
    models: String,
    tokens: u64,
    sent: bool,
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
                    if known.limits.pace != limits.pace {
                        known.pace = Pace::new(limits.pace, Instant::now());
                    }
                    lane::configure(&mut known.lanes, &limits.models);
                    known.limits = limits.clone();
                }
                None => {
                    let mut lanes = Vec::new();
                    lane::configure(&mut lanes, &limits.models);
                    let provider = Provider {
                        limits: limits.clone(),
                        pace: Pace::new(limits.pace, Instant::now()),
                        breaker: Breaker::default(),
                        parked: None,
                        queue: Queue::new(limits.at_once),
                        lanes,
                        waits: Arc::default(),
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
        let (running, _) = known.queue.counts();
        let waits = known.waits.counts();
        Some(GateState {
            breaker: known.breaker.standing(Instant::now()),
            parked: known.parked.clone(),
            running,
            waiting: waits.iter().map(|(_, count)| count).sum(),
            waits,
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

    /// Waits until a request may go, or says why it may not.
    pub async fn pass(self: &Arc<Self>, request: &PassRequest<'_>) -> Result<Passed, Closed> {
        let provider = request.provider;
        let gone = || Closed::Gone {
            provider: provider.to_owned(),
        };
        let (mut line, queue, lane) = {
            let providers = self.providers.lock();
            let known = providers.get(provider).ok_or_else(gone)?;
            check_parked(known, provider, request.now)?;
            let line = Line {
                request: *request,
                waits: Arc::clone(&known.waits),
                waited: Waited::default(),
            };
            let lane = lane_of(&known.lanes, request.model);
            let lane = lane.map(|lane| (lane.limits.models.clone(), Arc::clone(&lane.queue)));
            (line, Arc::clone(&known.queue), lane)
        };
        // The narrower first: who waits for a model holds no place of the provider.
        let mut of_models = None;
        if let Some((models, queue)) = lane {
            let permit = line.enter(&queue, Some(&models)).await?;
            of_models = Some(self.pass_models(&mut line, models, permit).await?);
        }
        let permit = line.enter(&queue, None).await?;
        loop {
            let (wait, limit) = {
                let mut providers = self.providers.lock();
                let known = providers.get_mut(provider).ok_or_else(gone)?;
                check_parked(known, provider, request.now)?;
                let at = Instant::now();
                if let Some(wait) = known.pace.wait(request.tokens, at) {
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
                    known.pace.take(request.tokens, at);
                    if let Some(passed) = &mut of_models {
                        passed.sent = true;
                    }
                    return Ok(Passed {
                        gate: Arc::clone(self),
                        provider: provider.to_owned(),
                        told: false,
                        waited: line.waited,
                        _permit: permit,
                        of_models,
                    });
                }
            };
            line.sleep(
                wait,
                WaitCause {
                    limit,
                    models: None,
                },
            )
            .await?;
        }
    }

    /// Waits for the pace of some models, and takes of it.
    async fn pass_models(
        self: &Arc<Self>,
        line: &mut Line<'_>,
        models: String,
        permit: Permit,
    ) -> Result<PassedModels, Closed> {
        let (provider, tokens) = (line.request.provider, line.request.tokens);
        loop {
            let wait = {
                let mut providers = self.providers.lock();
                let known = providers.get_mut(provider);
                let lane = known.and_then(|known| lane_named(&mut known.lanes, &models));
                let at = Instant::now();
                // Limits that were taken away hold nobody.
                lane.and_then(|lane| {
                    let wait = lane.pace.wait(tokens, at);
                    if wait.is_none() {
                        lane.pace.take(tokens, at);
                    }
                    wait
                })
            };
            let Some((wait, limit)) = wait else {
                return Ok(PassedModels {
                    gate: Arc::clone(self),
                    provider: provider.to_owned(),
                    models,
                    tokens,
                    sent: false,
                    _permit: permit,
                });
            };
            let cause = WaitCause {
                limit,
                models: Some(models.clone()),
            };
            line.sleep(wait, cause).await?;
        }
    }

    /// Does something with the pace of some models, if they are limited.
    fn with_models(&self, provider: &str, models: &str, act: impl FnOnce(&mut Pace)) {
        if let Some(known) = self.providers.lock().get_mut(provider)
            && let Some(lane) = lane_named(&mut known.lanes, models)
        {
            act(&mut lane.pace);
        }
    }

    fn record(&self, provider: &str, health: Health) {
        if let Some(known) = self.providers.lock().get_mut(provider) {
            let at = Instant::now();
            known.breaker.record(&known.limits.breaker, health, at);
        }
    }
}

/// A request on its way through the gate.
struct Line<'a> {
    request: PassRequest<'a>,
    waits: Arc<Waits>,
    waited: Waited,
}

impl Line<'_> {
    async fn enter(&mut self, queue: &Arc<Queue>, models: Option<&str>) -> Result<Permit, Closed> {
        let cause = WaitCause {
            limit: LimitKind::AtOnce,
            models: models.map(str::to_owned),
        };
        if let Some(permit) = queue.enter_now() {
            return Ok(permit);
        }
        let late = self.late(cause.clone());
        let entered = queue.enter(self.request.class);
        let entered = tokio::time::timeout_at(self.request.deadline.into(), entered);
        let entered = self.waits.count(cause, &mut self.waited, entered).await;
        entered.map_err(|_| late)
    }

    async fn sleep(&mut self, wait: Duration, cause: WaitCause) -> Result<(), Closed> {
        if Instant::now() + wait > self.request.deadline {
            return Err(self.late(cause));
        }
        let sleep = tokio::time::sleep(wait);
        self.waits.count(cause, &mut self.waited, sleep).await;
        Ok(())
    }

    fn late(&self, cause: WaitCause) -> Closed {
        Closed::Deadline {
            provider: self.request.provider.to_owned(),
            cause,
        }
    }
}

impl Passed {
    /// How long it had to wait.
    #[must_use]
    pub const fn waited(&self) -> &Waited {
        &self.waited
    }

    pub fn tell(mut self, health: Health) {
        self.told = true;
        self.gate.record(&self.provider, health);
    }

    /// The answer had so many tokens, as far as that is known: they count for whoever
    /// comes next.
    pub fn answered(&self, output_tokens: Option<u64>) {
        let Some(tokens) = output_tokens else { return };
        let at = Instant::now();
        if let Some(known) = self.gate.providers.lock().get_mut(&self.provider) {
            known.pace.answered(tokens, at);
        }
        if let Some(passed) = &self.of_models {
            let count = |pace: &mut Pace| pace.answered(tokens, at);
            self.gate.with_models(&self.provider, &passed.models, count);
        }
    }
}

impl Drop for PassedModels {
    fn drop(&mut self) {
        if !self.sent {
            let at = Instant::now();
            let give_back = |pace: &mut Pace| pace.give_back(self.tokens, at);
            self.gate
                .with_models(&self.provider, &self.models, give_back);
        }
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
