//! Whether a turn is over, from the records of the journal: the message has reached the
//! agent, the agent has worked, and it rests.
//!
//! An agent's screen says that it rests before its transcript has its last words, so a
//! turn is over a moment later. A turn so short that nobody saw it, and an error that
//! stands, are known by the screen alone.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use missiond_core::{
    DeliveryStatus, ExecutionActivity, ExecutionAttention, ExecutionLifecycle, MessageId, PtyState,
};
use missiond_journal::catalogue::{Edge, Fact, MessageContent, Speaker};
use missiond_journal::{Observed, RecordBody, Source};

/// An error that stands so long is the end of the turn: some programs try again.
const ERROR_STANDS: Duration = Duration::from_secs(5);
/// Who took the prompt and rests so long has done its turn, too fast to be seen.
const REST_STANDS: Duration = Duration::from_secs(10);
/// The transcript is read twice in this time.
const QUIET: Duration = Duration::from_millis(1_500);
/// What is not there by then does not come: not every program writes a transcript.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The prompt did not reach the agent.
    NotDelivered(String),
    /// The agent's program shows an error.
    Error,
    /// The run is over.
    RunEnded(ExecutionLifecycle),
}

#[derive(Debug)]
pub(crate) struct Turn {
    /// The message that began it is on record.
    begun: bool,
    /// The first message on record is the one that began it.
    own: Option<MessageId>,
    /// Messages the agent has not got yet.
    waiting: BTreeSet<MessageId>,
    /// Something was done after the last message was typed. Until then an idle agent is
    /// one that has not begun.
    worked: bool,
    activity: Option<ExecutionActivity>,
    attention: Option<ExecutionAttention>,
    failure: Option<Outcome>,
    /// The transcript has the end of the turn, and so all of it.
    read_to_end: bool,
    last_record: Instant,
    rests_since: Option<Instant>,
    stands: Option<(PtyState, Instant)>,
}

impl Turn {
    /// The turn that a message begins.
    pub(crate) fn of_message(now: Instant) -> Self {
        Self {
            begun: false,
            own: None,
            waiting: BTreeSet::new(),
            worked: false,
            activity: None,
            attention: None,
            failure: None,
            read_to_end: false,
            last_record: now,
            rests_since: None,
            stands: None,
        }
    }

    /// What goes on when a question is answered.
    pub(crate) fn of_answer(now: Instant) -> Self {
        Self {
            begun: true,
            ..Self::of_message(now)
        }
    }

    /// The turn of an agent that works on what somebody else began.
    pub(crate) fn under_way(
        activity: ExecutionActivity,
        attention: ExecutionAttention,
        now: Instant,
    ) -> Self {
        Self {
            worked: true,
            activity: Some(activity),
            attention: Some(attention),
            ..Self::of_answer(now)
        }
    }

    /// Somebody is waited for.
    pub(crate) fn awaits_operator(&self) -> bool {
        self.attention == Some(ExecutionAttention::AwaitingOperator)
    }

    /// The records alone do not tell whether it is over.
    pub(crate) fn is_unclear(&self) -> bool {
        self.delivered() && self.activity.is_none_or(rests)
    }

    pub(crate) fn record(&mut self, body: &RecordBody, now: Instant) {
        self.last_record = now;
        match body {
            RecordBody::MessageAccepted(message) => {
                if matches!(message.content, MessageContent::Interrupt(_)) {
                    return;
                }
                if !self.begun {
                    self.begun = true;
                    self.own = Some(message.id);
                }
                self.waiting.insert(message.id);
            }
            RecordBody::MessageDelivery(delivery) => match delivery.status {
                DeliveryStatus::Queued | DeliveryStatus::Held => {}
                DeliveryStatus::Delivering => {
                    if self.waiting.contains(&delivery.message) {
                        self.worked = false;
                        self.read_to_end = false;
                    }
                }
                DeliveryStatus::Delivered => {
                    self.waiting.remove(&delivery.message);
                }
                DeliveryStatus::Failed => {
                    self.waiting.remove(&delivery.message);
                    if self.own == Some(delivery.message) {
                        let why = delivery.reason.as_ref().map(|why| why.to_string());
                        self.failure = Some(Outcome::NotDelivered(why.unwrap_or_default()));
                    }
                }
            },
            RecordBody::StateChanged(change) => {
                if let Some(lifecycle) = change.lifecycle.filter(|to| is_end(*to)) {
                    self.failure = Some(Outcome::RunEnded(lifecycle));
                }
                self.attention = change.attention.or(self.attention);
            }
            RecordBody::ActivityUpdated(update) => {
                if let Some(activity) = update.activity {
                    self.worked |= !rests(activity);
                    self.activity = Some(activity);
                }
            }
            RecordBody::Observation(observation) => {
                let spoke = matches!(
                    &observation.observed,
                    Observed::Fact(Fact::Speech(speech)) if speech.by == Speaker::Agent
                );
                self.worked |= spoke && self.delivered();
                self.read_to_end |= observation.source == Source::Transcript
                    && matches!(
                        &observation.observed,
                        Observed::Fact(Fact::Turn(turn)) if turn.edge == Edge::Ended
                    );
            }
            _ => {}
        }
    }

    /// Whether it is over now; `screen` is what the terminal was last read as, where
    /// somebody has looked, `spoke` whether the agent has said anything in it.
    pub(crate) fn outcome(
        &mut self,
        screen: Option<PtyState>,
        spoke: bool,
        now: Instant,
    ) -> Option<Outcome> {
        if self.failure.is_some() {
            return self.failure.clone();
        }
        let done = self.delivered() && self.worked && self.is_idle();
        self.rests_since = if done {
            self.rests_since.or(Some(now))
        } else {
            None
        };
        if let Some(since) = self.rests_since {
            let quiet = now.duration_since(self.last_record.max(since)) >= QUIET;
            if self.read_to_end || (spoke && quiet) || now.duration_since(since) >= LAST_WORDS {
                return Some(Outcome::Done);
            }
            return None;
        }
        let (screen, long, outcome) = match screen.filter(|_| self.is_unclear()) {
            Some(PtyState::Error) => (PtyState::Error, ERROR_STANDS, Outcome::Error),
            Some(PtyState::Idle) => (PtyState::Idle, REST_STANDS, Outcome::Done),
            _ => {
                self.stands = None;
                return None;
            }
        };
        let since = match self.stands {
            Some((same, since)) if same == screen => since,
            _ => now,
        };
        self.stands = Some((screen, since));
        (now.duration_since(since) >= long).then_some(outcome)
    }

    /// Whether an agent that was told to stop has stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        self.failure.is_some() || (self.delivered() && self.is_idle())
    }

    fn delivered(&self) -> bool {
        self.begun && self.waiting.is_empty()
    }

    fn is_idle(&self) -> bool {
        self.activity == Some(ExecutionActivity::Idle)
    }
}

const fn rests(activity: ExecutionActivity) -> bool {
    matches!(
        activity,
        ExecutionActivity::Idle | ExecutionActivity::Unknown
    )
}

const fn is_end(lifecycle: ExecutionLifecycle) -> bool {
    matches!(
        lifecycle,
        ExecutionLifecycle::Completed
            | ExecutionLifecycle::Failed
            | ExecutionLifecycle::Cancelled
            | ExecutionLifecycle::Terminated
    )
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
