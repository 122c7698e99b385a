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
//! [`arbitrate`] is pure: same signals, same time, same answer, in any order.
//! [`Arbiter`] is what a live terminal uses: its screen against what the hooks of
//! its program said last. A hook is heard for a few seconds; a screen is there
//! all the time. So a hook speaks where the screen has not caught up (a prompt
//! was taken and nothing is drawn yet, a turn ended behind a sign that no longer
//! turns) and is silent where both agree or where the screen knows more.
//! Whatever is typed ends its word: nothing said before a key holds after it.
//! Where the program reaches its model through this daemon, its requests are a third
//! voice, and the best: while one is under way it thinks or answers, whatever was drawn,
//! and when an answer ends that calls for nothing the turn is over at once.
//! Which of them decides is decided here and nowhere else: this is the file that
//! says which state a slot is in. `slots` calls it with what the reader takes the
//! screen to mean (`reader.rs`) and what hooks claim (`slots/hook_claims.rs`). The
//! foreground slot has no terminal of ours: its state is what its hooks or its
//! connection tell (`slots/foreground.rs`).

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
    let exits = signals.iter().filter(|s| s.claim == Claim::Exited);
    // The first word of it; of two at the same moment the one that ranks higher.
    let first = exits.min_by(|a, b| a.at.cmp(&b.at).then_with(|| by_rank(a, b)));
    if let Some(exit) = first {
        return reading(exit, PtyState::Exited, signals);
    }
    let mut ranked: Vec<&Signal> = signals
        .iter()
        .filter(|signal| signal.claim.state().is_some())
        .collect();
    ranked.sort_by(|a, b| by_rank(a, b));
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

/// How long a hook's word stands without another. A turn can end in ways no hook
/// tells of, and then the screen must be believed soon.
const HOOK_STANDS: Duration = Duration::from_secs(3);
/// How long a screen that shows work has to go on drawing it before a hook that
/// says the turn is over is believed instead.
const SCREEN_CATCHES_UP: Duration = Duration::from_secs(1);
/// A hook is the program's own word; it may be late, never mistaken.
const HOOK_CONFIDENCE: f32 = 0.95;

/// What the requests of a program to its model say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelActivity {
    /// A request is under way.
    Asked,
    /// Its answer comes.
    Answering,
    /// A tool was called for; it will run.
    ToolAnnounced,
    /// The answer is there, and calls for nothing more.
    TurnEnded,
    /// The request failed: what the program does then is its own.
    Failed,
}

/// The wire is never mistaken about itself.
const MODEL_CONFIDENCE: f32 = 0.99;

/// The state of one terminal: its screen, what hooks said last, and what its requests to
/// the model say.
#[derive(Debug, Default)]
pub struct Arbiter {
    hook: Option<Signal>,
    /// The hook's word is of the wire: no screen has to catch up first.
    at_once: bool,
    /// A request to the model is under way.
    model: Option<Signal>,
    /// When the screen was drawn on last.
    drawn_at: Duration,
    /// When a key was sent last.
    input_at: Option<Duration>,
}

impl Arbiter {
    /// The screen was drawn on.
    pub fn screen_drawn(&mut self, at: Duration) {
        self.drawn_at = at;
    }

    /// A key was sent. Whether that took a hook's word away.
    pub fn input_sent(&mut self, at: Duration) -> bool {
        self.input_at = Some(at);
        self.hook.take().is_some()
    }

    /// A request of the program to its model tells this.
    pub fn model_observed(&mut self, activity: ModelActivity, at: Duration) {
        let signal = |state, reason: &str| Signal {
            authority: Authority::Protocol,
            claim: Claim::State(state),
            confidence: MODEL_CONFIDENCE,
            at,
            reason: reason.to_owned(),
        };
        let (under_way, word) = match activity {
            ModelActivity::Asked => (
                Some(signal(
                    PtyState::Thinking,
                    "a request to its model is under way",
                )),
                None,
            ),
            ModelActivity::Answering => (
                Some(signal(PtyState::Responding, "its model answers")),
                None,
            ),
            ModelActivity::ToolAnnounced => (
                None,
                Some(signal(PtyState::ToolRunning, "its model called for a tool")),
            ),
            ModelActivity::TurnEnded => (
                None,
                Some(signal(
                    PtyState::Idle,
                    "its model has answered and calls for nothing",
                )),
            ),
            ModelActivity::Failed => (None, None),
        };
        self.at_once = word.is_some();
        self.model = under_way;
        self.hook = word;
    }

    /// A hook of the program said this.
    pub fn hook_claims(&mut self, claim: Claim, reason: &str, at: Duration) {
        let repeats = self.hook.as_ref().is_some_and(|known| known.claim == claim);
        // A hook that says the same later takes nothing back.
        self.at_once = self.at_once && repeats;
        self.hook = Some(Signal {
            authority: Authority::Protocol,
            claim,
            confidence: HOOK_CONFIDENCE,
            at,
            reason: reason.to_owned(),
        });
    }

    /// What a hook said before no longer holds.
    pub fn hook_retracts(&mut self) {
        self.hook = None;
    }

    #[must_use]
    pub fn has_hook_claim(&self) -> bool {
        self.hook.is_some() || self.model.is_some()
    }

    /// When the reading may change though nothing happens.
    #[must_use]
    pub fn deadline(&self, now: Duration) -> Option<Duration> {
        let hook = self.hook.as_ref()?;
        let moments = [hook.at + SCREEN_CATCHES_UP, hook.at + HOOK_STANDS];
        moments
            .into_iter()
            .find(|moment| *moment > now)
            .or(Some(now))
    }

    /// Ends a hook's word that stood for too long. Whether it did.
    pub fn expire(&mut self, now: Duration) -> bool {
        let over = |hook: &Signal| now > hook.at + HOOK_STANDS;
        self.hook.take_if(|hook| over(hook)).is_some()
    }

    /// What is so, all in all.
    #[must_use]
    pub fn reading(&self, screen: &Reading, now: Duration) -> Reading {
        if let Some(model) = &self.model
            && let Some(told) = self.told_by_model(model, screen)
        {
            return told;
        }
        let Some(hook) = &self.hook else {
            return screen.clone();
        };
        let catches_up = if self.at_once {
            Duration::ZERO
        } else {
            SCREEN_CATCHES_UP
        };
        if !hook_knows_better(hook, screen.state, catches_up, now) {
            return screen.clone();
        }
        let shown_at = if self.at_once && screen.state.is_working() {
            // What is still drawn was said before the wire fell silent.
            self.shown_at(screen, now).min(hook.at)
        } else {
            self.shown_at(screen, now)
        };
        let shown = Signal::from_reading(screen, shown_at);
        let freshness = Freshness {
            protocol: HOOK_STANDS,
            ..Freshness::default()
        };
        let fused = arbitrate(&[hook.clone(), shown], now, freshness);
        if fused.authority == Authority::Protocol {
            fused
        } else {
            // The screen's own words say more than the arbiter's.
            screen.clone()
        }
    }

    /// While a request is under way the program waits for its model: over a screen that
    /// rests or does not know, and where both see work the wire knows which. A dialog, a
    /// tool that still runs beside it, an error and an end are the screen's.
    fn told_by_model(&self, model: &Signal, screen: &Reading) -> Option<Reading> {
        let knows = matches!(
            screen.state,
            PtyState::Idle | PtyState::Unknown | PtyState::Thinking | PtyState::Responding
        );
        let asked = matches!(&self.hook, Some(hook) if matches!(hook.claim, Claim::Blocked(_)));
        if !knows || asked || model.claim.state() == Some(screen.state) {
            return None;
        }
        let shown = Signal::from_reading(screen, screen.since);
        let state = model.claim.state()?;
        Some(reading(model, state, &[model.clone(), shown]))
    }

    /// A dialog nobody has answered stands there now, however long ago it was
    /// drawn; everything else is as old as the last thing drawn.
    fn shown_at(&self, screen: &Reading, now: Duration) -> Duration {
        let untouched = self.input_at.is_none_or(|input| input < screen.since);
        if screen.state == PtyState::Confirming && untouched {
            now
        } else {
            self.drawn_at
        }
    }
}

/// Whether a hook can know better than a screen in this state:
///
/// | a hook says | over a screen that shows |
/// |---|---|
/// | idle | unknown; work, once it had time to draw more |
/// | work | idle, unknown |
/// | blocked | work, idle, unknown |
fn hook_knows_better(hook: &Signal, screen: PtyState, catches_up: Duration, now: Duration) -> bool {
    match hook.claim {
        Claim::State(PtyState::Idle) => {
            screen == PtyState::Unknown || (screen.is_working() && now >= hook.at + catches_up)
        }
        Claim::State(_) => matches!(screen, PtyState::Idle | PtyState::Unknown),
        Claim::Blocked(_) => {
            screen.is_working() || matches!(screen, PtyState::Idle | PtyState::Unknown)
        }
        Claim::Alive | Claim::Exited => false,
    }
}

/// The higher rank first.
fn by_rank(a: &Signal, b: &Signal) -> std::cmp::Ordering {
    rank(b)
        .partial_cmp(&rank(a))
        .unwrap_or(std::cmp::Ordering::Equal)
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
    ordered.sort_by(|a, b| by_rank(a, b));
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
