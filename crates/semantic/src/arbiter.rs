//! Fuses signals of different authority into one reading.
//!
//! Each source says what it takes the state to be, with its own authority and
//! time. The highest authority that is still fresh decides, with three
//! exceptions that protect people from acting on a wrong calm:
//!
//! - a lower source may raise "blocked" (a dialog on the screen counts even if
//!   no hook announced it), never the reverse;
//! - a lower source that sees work may veto a higher one that says idle and has
//!   been silent for longer;
//! - idle is never invented: without a source that says idle, the result is not
//!   idle, and what only the process tree says is never idle.
//!
//! The function is pure: same signals, same time, same answer, in any order.

use std::time::Duration;

use missiond_core::PtyState;
use serde::{Deserialize, Serialize};

use crate::reading::{Authority, Evidence, Reading, WaitingFor};

/// What one source last said.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    pub authority: Authority,
    pub claim: Claim,
    pub confidence: f32,
    /// When it was said, on the clock of the session.
    pub at: Duration,
    /// One sentence for people.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    State(PtyState),
    Blocked(WaitingFor),
    /// The process lives and has running children; says nothing more.
    Alive,
    Exited,
}

impl Claim {
    fn state(self) -> Option<PtyState> {
        match self {
            Self::State(state) => Some(state),
            Self::Blocked(_) => Some(PtyState::Confirming),
            Self::Exited => Some(PtyState::Exited),
            Self::Alive => None,
        }
    }

    fn waiting_for(self) -> Option<WaitingFor> {
        match self {
            Self::Blocked(waiting_for) => Some(waiting_for),
            _ => None,
        }
    }
}

impl Signal {
    /// A reading of the screen as one signal among others.
    #[must_use]
    pub fn from_reading(reading: &Reading, at: Duration) -> Self {
        let claim = match (reading.state, reading.waiting_for) {
            (PtyState::Confirming, Some(waiting_for)) => Claim::Blocked(waiting_for),
            (state, _) => Claim::State(state),
        };
        Self {
            authority: reading.authority,
            claim,
            confidence: reading.confidence,
            at,
            reason: reading.reason.clone(),
        }
    }
}

/// How long each authority is believed without saying anything new. Screens and
/// control strings describe the present and do not age; hooks and files do,
/// because a missed event leaves them saying the last thing for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    pub protocol: Duration,
    pub state_file: Duration,
}

impl Default for Freshness {
    fn default() -> Self {
        Self {
            protocol: Duration::from_secs(120),
            state_file: Duration::from_secs(120),
        }
    }
}

impl Freshness {
    fn is_stale(self, signal: &Signal, now: Duration) -> bool {
        let limit = match signal.authority {
            Authority::Protocol => self.protocol,
            Authority::StateFile => self.state_file,
            Authority::Osc | Authority::Screen | Authority::Process => return false,
        };
        now.saturating_sub(signal.at) > limit
    }
}

/// One reading from what all sources said.
#[must_use]
pub fn arbitrate(signals: &[Signal], now: Duration, freshness: Freshness) -> Reading {
    if let Some(exit) = signals
        .iter()
        .filter(|s| s.claim == Claim::Exited)
        .min_by_key(|s| s.at)
    {
        return reading(exit, PtyState::Exited, signals);
    }
    let mut ranked: Vec<&Signal> = signals
        .iter()
        .filter(|signal| signal.claim.state().is_some())
        .collect();
    ranked.sort_by(|a, b| {
        rank(b)
            .partial_cmp(&rank(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let knowing = |signal: &&&Signal| signal.claim.state() != Some(PtyState::Unknown);
    let fresh = ranked
        .iter()
        .filter(knowing)
        .find(|signal| !freshness.is_stale(signal, now));
    let Some(leader) = fresh.or_else(|| ranked.iter().find(knowing)) else {
        return unknown(signals);
    };
    let lower = || {
        ranked
            .iter()
            .filter(|signal| signal.authority < leader.authority)
    };

    // A dialog anyone sees waits for someone, whatever the others say.
    let blocked = |signal: &&&Signal| signal.claim.state() == Some(PtyState::Confirming);
    if let Some(blocked) = lower().find(|signal| blocked(signal) && signal.at >= leader.at) {
        return reading(blocked, PtyState::Confirming, signals);
    }
    let state = leader.claim.state().unwrap_or(PtyState::Unknown);
    let stale = freshness.is_stale(leader, now);
    if state == PtyState::Idle {
        let working = |signal: &&&&Signal| {
            signal.claim.state().is_some_and(PtyState::is_working)
                && (stale || signal.at > leader.at)
        };
        if let Some(working) = lower().find(|signal| working(&signal)) {
            let state = working.claim.state().unwrap_or(PtyState::Unknown);
            return reading(working, state, signals);
        }
    }
    if stale {
        // Too old to decide alone: what the screen shows now decides, and where
        // nothing is shown the old word is only a guess.
        let mut guess = reading(leader, state, signals);
        guess.confidence = guess.confidence.min(0.3);
        if state == PtyState::Idle {
            return Reading {
                state: PtyState::Unknown,
                ..guess
            };
        }
        return guess;
    }
    reading(leader, state, signals)
}

/// Authority first, then time, then a fixed order of claims, so that the order
/// in which signals are given never matters.
fn rank(signal: &Signal) -> (Authority, Duration, f32, String) {
    let tie = format!("{:?}{}", signal.claim, signal.reason);
    (signal.authority, signal.at, signal.confidence, tie)
}

fn reading(decider: &Signal, state: PtyState, signals: &[Signal]) -> Reading {
    // A source that says the opposite makes the answer less certain.
    let doubted = signals.iter().any(|signal| {
        signal
            .claim
            .state()
            .is_some_and(|other| other != PtyState::Unknown && class(other) != class(state))
    });
    Reading {
        state,
        reason: decider.reason.clone(),
        waiting_for: decider.claim.waiting_for(),
        confidence: if doubted {
            decider.confidence * 0.8
        } else {
            decider.confidence
        },
        authority: decider.authority,
        evidence: evidence(signals),
        since: decider.at,
        dialog: None,
        tool: None,
    }
}

fn unknown(signals: &[Signal]) -> Reading {
    Reading {
        state: PtyState::Unknown,
        reason: "no source says what the agent is doing".to_owned(),
        waiting_for: None,
        confidence: 0.1,
        authority: Authority::Process,
        evidence: evidence(signals),
        since: signals
            .iter()
            .map(|signal| signal.at)
            .max()
            .unwrap_or_default(),
        dialog: None,
        tool: None,
    }
}

fn evidence(signals: &[Signal]) -> Vec<Evidence> {
    let mut ordered: Vec<&Signal> = signals.iter().collect();
    ordered.sort_by(|a, b| {
        rank(b)
            .partial_cmp(&rank(a))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    ordered
        .into_iter()
        .map(|signal| Evidence {
            rule: "arbiter".to_owned(),
            source: signal.authority.name().to_owned(),
            row: None,
            text: match signal.claim.state() {
                Some(state) => format!("{}: {}", state.as_str(), signal.reason),
                None => signal.reason.clone(),
            },
        })
        .collect()
}

fn class(state: PtyState) -> PtyState {
    if state.is_working() {
        PtyState::Thinking
    } else {
        state
    }
}

#[cfg(test)]
mod tests;
