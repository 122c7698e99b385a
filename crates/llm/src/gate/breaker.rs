//! Leaving a provider alone that fails again and again.
//!
//! | standing | a request | what changes it |
//! |---|---|---|
//! | closed | passes | of the last requests within the window, at least [`BreakerLimits::least`], half failed: open |
//! | open | is refused | its time is over: the next request is a probe |
//! | probing | is refused, but for the one probe | the probe went well: closed; it failed: open, twice as long; it was given up: the next request is the probe |

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Health;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerLimits {
    /// Only what happened in this time counts.
    pub window: Duration,
    /// Fewer requests say nothing.
    pub least: usize,
    /// It is left alone so long at first.
    pub open: Duration,
    /// And at most so long.
    pub most: Duration,
}

/// The requests that are remembered.
const REMEMBERED: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Closed,
    Open { wait: Duration },
    Probing,
}

/// Not now, and perhaps in so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    pub wait: Duration,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed,
    Open { until: Instant, length: Duration },
    Probing { length: Duration },
}

#[derive(Debug)]
pub struct Breaker {
    recent: VecDeque<(Instant, bool)>,
    state: State,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            recent: VecDeque::new(),
            state: State::Closed,
        }
    }
}

impl Breaker {
    /// Whether a request may be sent now. One that may must be recorded.
    pub fn admit(&mut self, limits: &BreakerLimits, now: Instant) -> Result<(), Refused> {
        match self.state {
            State::Closed => Ok(()),
            State::Open { until, length } if until <= now => {
                self.state = State::Probing { length };
                Ok(())
            }
            State::Open { until, .. } => Err(Refused {
                wait: until.duration_since(now),
            }),
            State::Probing { .. } => Err(Refused { wait: limits.open }),
        }
    }

    /// How a request ended that was let pass.
    pub fn record(&mut self, limits: &BreakerLimits, health: Health, now: Instant) {
        match (self.state, health) {
            (State::Probing { .. }, Health::Well) => {
                self.recent.clear();
                self.state = State::Closed;
            }
            (State::Probing { length }, Health::Failed) => {
                self.open(now, (length * 2).min(limits.most));
            }
            // It says nothing: somebody else may try at once.
            (State::Probing { length }, Health::Neither) => {
                self.state = State::Open { until: now, length };
            }
            (_, Health::Neither) => {}
            // Sent before it was opened.
            (State::Open { .. }, _) => {}
            (State::Closed, health) => {
                self.recent.push_back((now, health == Health::Failed));
                let old = |(at, _): &(Instant, bool)| now.duration_since(*at) > limits.window;
                while self.recent.len() > REMEMBERED || self.recent.front().is_some_and(old) {
                    self.recent.pop_front();
                }
                let failed = self.recent.iter().filter(|(_, failed)| *failed).count();
                if self.recent.len() >= limits.least && failed * 2 >= self.recent.len() {
                    self.open(now, limits.open);
                }
            }
        }
    }

    #[must_use]
    pub fn standing(&self, now: Instant) -> Standing {
        match self.state {
            State::Closed => Standing::Closed,
            State::Open { until, .. } => Standing::Open {
                wait: until.saturating_duration_since(now),
            },
            State::Probing { .. } => Standing::Probing,
        }
    }

    fn open(&mut self, now: Instant, length: Duration) {
        self.recent.clear();
        self.state = State::Open {
            until: now + length,
            length,
        };
    }
}
