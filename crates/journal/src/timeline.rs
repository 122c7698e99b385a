//! The timeline of an execution, as a person sees it: a bounded list of items,
//! each made from one record. It is a projection; nothing is decided by it.

use std::collections::VecDeque;

use missiond_core::{DeliveryStatus, ExecutionLifecycle, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Fact, MessageContent, Process, Signal, Speaker, limits};
use crate::frame::Sequence;
use crate::observation::Observed;
use crate::policy::Verdict;
use crate::record::{RecordBody, RequestChange};

/// Which part of the view an item belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    Conversation,
    Workflow,
    Runtime,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineItem {
    /// The record it was made from.
    pub sequence: Sequence,
    pub at: Timestamp,
    pub zone: Zone,
    pub title: String,
    pub text: String,
}

/// The newest items.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Timeline(VecDeque<TimelineItem>);

impl Timeline {
    /// Oldest first.
    pub fn items(&self) -> impl ExactSizeIterator<Item = &TimelineItem> + DoubleEndedIterator {
        self.0.iter()
    }

    pub(crate) fn add(&mut self, sequence: Sequence, at: Timestamp, body: &RecordBody) {
        if let RecordBody::Decision(decision) = body {
            if decision.verdict == Verdict::Refused {
                self.mark_refused(sequence);
            }
            return;
        }
        let Some((zone, title, text)) = shown(body) else {
            return;
        };
        // The oldest item makes room and lends its memory: a replay of a million
        // records would otherwise spend its time here.
        let mut item = if self.0.len() >= limits::TIMELINE_ITEMS {
            self.0.pop_front()
        } else {
            None
        }
        .unwrap_or_else(|| TimelineItem {
            sequence,
            at,
            zone,
            title: String::new(),
            text: String::new(),
        });
        item.sequence = sequence;
        item.at = at;
        item.zone = zone;
        item.title.clear();
        item.title.push_str(title);
        item.text.clear();
        push_excerpt(&mut item.text, text);
        self.0.push_back(item);
    }
}

impl Timeline {
    /// A decision follows its observation; what was refused must not look like
    /// what was believed.
    fn mark_refused(&mut self, decision: Sequence) {
        if let Some(item) = self.0.back_mut()
            && item.sequence.next() == decision
        {
            item.title.insert_str(0, "refused: ");
            item.zone = Zone::Runtime;
        }
    }
}

const SHOWN_BYTES: usize = 400;

fn push_excerpt(out: &mut String, text: &str) {
    if text.len() <= SHOWN_BYTES {
        out.push_str(text);
    } else {
        out.push_str(&text[..text.floor_char_boundary(SHOWN_BYTES)]);
        out.push('…');
    }
}

fn shown(body: &RecordBody) -> Option<(Zone, &str, &str)> {
    let shown = match body {
        RecordBody::Observation(observation) => match &observation.observed {
            Observed::Signal(signal) => of_signal(signal),
            Observed::Fact(fact) => of_fact(fact)?,
        },
        RecordBody::MessageAccepted(message) => match &message.content {
            MessageContent::Prompt(prompt) => (Zone::Conversation, "prompt", prompt.text.as_str()),
            MessageContent::Answer(answer) => (Zone::Conversation, "answer", answer.text.as_str()),
            MessageContent::Nudge(nudge) => (Zone::Conversation, "nudge", nudge.text.as_str()),
            MessageContent::Review(review) => (Zone::Conversation, "review", review.text.as_str()),
            MessageContent::Checkpoint(asked) => {
                (Zone::Conversation, "checkpoint", asked.text.as_str())
            }
            MessageContent::Interrupt(_) => (Zone::Runtime, "interrupt", ""),
        },
        RecordBody::MessageDelivery(delivery) => {
            let reason = delivery
                .reason
                .as_ref()
                .map_or("", |reason| reason.as_str());
            match delivery.status {
                DeliveryStatus::Held => (Zone::Runtime, "message held", reason),
                DeliveryStatus::Failed => (Zone::Runtime, "message failed", reason),
                _ => return None,
            }
        }
        RecordBody::StateChanged(change) => match (change.lifecycle, change.requests.first()) {
            (Some(lifecycle), _) => (Zone::Runtime, lifecycle_title(lifecycle), ""),
            (None, Some(RequestChange::Withdrawn { .. })) => {
                (Zone::Workflow, "question withdrawn", "")
            }
            _ => return None,
        },
        RecordBody::Projection(item) => (
            item.zone,
            item.title.as_str(),
            item.text.as_ref().map_or("", |text| text.as_str()),
        ),
        RecordBody::Header(_)
        | RecordBody::Decision(_)
        | RecordBody::ActivityUpdated(_)
        | RecordBody::OwnerEffect(_) => return None,
    };
    Some(shown)
}

fn of_signal(signal: &Signal) -> (Zone, &str, &str) {
    match signal {
        Signal::Progress(progress) => (Zone::Conversation, "progress", &progress.summary),
        Signal::NeedsInput(asked) => (Zone::Workflow, "question", &asked.question),
        Signal::Blocked(blocked) => (Zone::Workflow, "blocked", &blocked.reason),
        Signal::ReadyForVerification(ready) => {
            (Zone::Workflow, "ready for verification", &ready.summary)
        }
        Signal::CompletedClaim(claim) => (Zone::Workflow, "claims completion", &claim.summary),
        Signal::FailedClaim(claim) => (Zone::Workflow, "claims failure", &claim.reason),
        Signal::Message(message) => (Zone::Conversation, "message", &message.text),
    }
}

fn of_fact(fact: &Fact) -> Option<(Zone, &str, &str)> {
    Some(match fact {
        Fact::Speech(said) => {
            let title = match said.by {
                Speaker::Agent => "agent",
                Speaker::Operator => "operator",
                Speaker::Program => "program",
            };
            (Zone::Conversation, title, &said.text)
        }
        Fact::Diagnostic(diagnostic) => (Zone::Runtime, "diagnostic", &diagnostic.detail),
        Fact::RateLimits(limits) => (Zone::Runtime, "limit reached", limits.reached.as_deref()?),
        Fact::Process(Process::Lost { reason }) => (Zone::Runtime, "process lost", reason),
        _ => return None,
    })
}

const fn lifecycle_title(lifecycle: ExecutionLifecycle) -> &'static str {
    match lifecycle {
        ExecutionLifecycle::Starting => "starting",
        ExecutionLifecycle::Running => "running",
        ExecutionLifecycle::Paused => "paused",
        ExecutionLifecycle::Completed => "ended in order",
        ExecutionLifecycle::Failed => "ended with a failure",
        ExecutionLifecycle::Cancelled => "cancelled",
        ExecutionLifecycle::Terminated => "terminated",
    }
}
