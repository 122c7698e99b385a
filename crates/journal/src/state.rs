//! What the records of an execution add up to. [`ExecutionState::apply`] is the
//! only way it changes, live and in replay alike, so the two cannot differ.

use std::collections::{BTreeMap, HashMap};

use missiond_core::machines::Machine;
use missiond_core::{
    CliEngine, DeliveryStatus, ExecutionActivity, ExecutionAttention, ExecutionId,
    ExecutionLifecycle, IllegalMove, MessageId, ObservationId, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{MessageContent, Session, SignalType};
use crate::frame::Sequence;
use crate::last_known::LastKnown;
use crate::marker::MarkerKeyHash;
use crate::observation::{MessageKey, ObservationKey};
use crate::owner::{OwnerEntity, OwnerRef};
use crate::policy::{Reason, Verdict};
use crate::record::{
    ActivityUpdated, CapabilitySnapshot, CurrentTarget, EffectKey, EffectStatus, InputRequest,
    JournalHeader, OwnerEffect, ProgressSnapshot, Record, RecordBody, RequestChange, Sender,
    StateChanged, Telemetry, Transport,
};
use crate::timeline::Timeline;

/// An execution, as far as its journal tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionState {
    pub execution: ExecutionId,
    pub owner: OwnerRef,
    pub engine: CliEngine,
    pub transport: Transport,
    pub marker_key: Option<MarkerKeyHash>,
    /// The signals its agent may send.
    pub signals: Vec<SignalType>,
    /// The newest record.
    pub head: Sequence,
    pub updated_at: Timestamp,

    pub lifecycle: ExecutionLifecycle,
    pub attention: ExecutionAttention,
    pub activity: ExecutionActivity,

    pub capabilities: CapabilitySnapshot,
    pub progress: Option<ProgressSnapshot>,
    pub telemetry: Telemetry,
    pub target: CurrentTarget,

    pub session: Option<Session>,
    /// Open input requests, oldest first.
    pub requests: BTreeMap<ObservationId, InputRequest>,
    pub messages: BTreeMap<MessageId, MessageState>,
    /// Owner effects that are due, oldest first.
    pub due: BTreeMap<EffectKey, OwnerEffect>,
    pub timeline: Timeline,
    /// What the agent said of its work, and how its program ended.
    #[serde(rename = "said")]
    pub last_known: LastKnown,
    /// Refused observations that were recorded.
    pub refusals: u32,

    pub(crate) observations: HashMap<ObservationKey, Processed>,
    pub(crate) message_keys: HashMap<MessageKey, MessageId>,
    /// Recorded and not decided: not processed.
    pub(crate) undecided: BTreeMap<ObservationId, (ObservationKey, Sequence)>,
}

/// A message and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageState {
    pub accepted: Sequence,
    pub accepted_at: Timestamp,
    pub from: Sender,
    pub status: DeliveryStatus,
    /// Why it is held or failed.
    pub reason: Option<String>,
    /// How often its keys were sent.
    pub attempts: u32,
    /// What it says, for as long as it may still have to be delivered.
    pub content: Option<MessageContent>,
    /// The question it answers.
    pub answers: Option<ObservationId>,
}

/// An observation that was decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processed {
    pub observation: ObservationId,
    /// Where the observation was recorded.
    pub sequence: Sequence,
    pub verdict: Verdict,
    pub reason: Reason,
}

/// What is true of the running process and dies with it: never recorded, and
/// laid over the state only when both are shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProcessOverlay {
    pub attached_terminal: Option<missiond_core::SlotId>,
    pub connections: Vec<String>,
    pub tool_calls: Vec<ActiveToolCall>,
    pub deliveries: Vec<ActiveDelivery>,
    pub last_heartbeat_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveToolCall {
    pub id: String,
    pub tool: String,
    pub started_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveDelivery {
    pub message: MessageId,
    pub attempted_at: Timestamp,
}

/// A header can narrow what an owner takes, and never widen it.
fn offered(owner: OwnerEntity, signals: Option<Vec<SignalType>>) -> Vec<SignalType> {
    let taken = owner.signals();
    match signals {
        Some(signals) => taken
            .into_iter()
            .filter(|one| signals.contains(one))
            .collect(),
        None => taken,
    }
}

/// A record that cannot follow the ones before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    #[error("the first record is not a journal.header")]
    NoHeader,
    #[error("a second journal.header")]
    SecondHeader,
    #[error("it has place {found} after {after}")]
    OutOfOrder { after: Sequence, found: Sequence },
    #[error("it decides on {observation}, which is not waiting for a decision")]
    NothingToDecide { observation: ObservationId },
    #[error("it names the message {message}, which was never accepted")]
    UnknownMessage { message: MessageId },
    #[error("it closes the request {request}, which is not open")]
    UnknownRequest { request: ObservationId },
    #[error("it settles the effect {key}, which is not due")]
    UnknownEffect { key: EffectKey },
    #[error(transparent)]
    IllegalMove(#[from] IllegalMove),
    #[error("the format {found} is newer than the {known} this missiond knows")]
    NewerFormat { found: u32, known: u32 },
}

impl ExecutionState {
    /// The state after nothing but the header.
    pub fn begin(
        sequence: Sequence,
        at: Timestamp,
        header: JournalHeader,
    ) -> Result<Self, Inconsistent> {
        if header.format > crate::record::FORMAT_VERSION {
            return Err(Inconsistent::NewerFormat {
                found: header.format,
                known: crate::record::FORMAT_VERSION,
            });
        }
        Ok(Self {
            signals: offered(header.owner.entity, header.signals),
            execution: header.execution,
            owner: header.owner,
            engine: header.engine,
            transport: header.transport,
            marker_key: header.marker_key,
            head: sequence,
            updated_at: at,
            lifecycle: ExecutionLifecycle::Starting,
            attention: ExecutionAttention::None,
            activity: ExecutionActivity::Unknown,
            capabilities: CapabilitySnapshot::default(),
            progress: None,
            telemetry: Telemetry::default(),
            target: CurrentTarget::Nothing,
            session: None,
            requests: BTreeMap::new(),
            messages: BTreeMap::new(),
            due: BTreeMap::new(),
            timeline: Timeline::default(),
            last_known: LastKnown::default(),
            refusals: 0,
            observations: HashMap::new(),
            message_keys: HashMap::new(),
            undecided: BTreeMap::new(),
        })
    }

    /// The newest open input request.
    #[must_use]
    pub fn current_request(&self) -> Option<&InputRequest> {
        self.requests.values().next_back()
    }

    /// What was decided on an observation with this key, if one was processed.
    #[must_use]
    pub fn processed(&self, key: &ObservationKey) -> Option<Processed> {
        self.observations.get(key).copied()
    }

    /// The message that was accepted under this key.
    #[must_use]
    pub fn message_of(&self, key: &MessageKey) -> Option<(MessageId, &MessageState)> {
        let id = *self.message_keys.get(key)?;
        Some((id, self.messages.get(&id)?))
    }

    /// Observations processed so far.
    #[must_use]
    pub fn processed_count(&self) -> usize {
        self.observations.len()
    }

    /// Messages still to be delivered, oldest first.
    pub fn undelivered(&self) -> impl Iterator<Item = (MessageId, &MessageState)> {
        let open = self
            .messages
            .iter()
            .filter(|(_, message)| !message.status.is_final());
        open.map(|(&id, message)| (id, message))
    }

    /// How many messages of this sender were accepted since this moment.
    #[must_use]
    pub fn messages_from(&self, sender: &Sender, since: Timestamp) -> usize {
        let recent =
            |message: &&MessageState| message.accepted_at >= since && message.from == *sender;
        self.messages.values().filter(recent).count()
    }

    /// Takes one record in. After an error the state is as it was or worse:
    /// whoever gets one stops using it.
    pub fn apply(&mut self, record: Record) -> Result<(), Inconsistent> {
        let Record { sequence, at, body } = record;
        if sequence <= self.head {
            return Err(Inconsistent::OutOfOrder {
                after: self.head,
                found: sequence,
            });
        }
        self.timeline.add(sequence, at, &body);
        match body {
            RecordBody::Header(_) => return Err(Inconsistent::SecondHeader),
            RecordBody::MessageAccepted(accepted) => self.accept(sequence, at, accepted),
            RecordBody::MessageDelivery(delivery) => self.deliver(delivery)?,
            RecordBody::Observation(observation) => {
                self.last_known.observe(&observation, at);
                self.undecided
                    .insert(observation.id, (observation.key, sequence));
            }
            RecordBody::Decision(decision) => {
                self.last_known.decide(&decision);
                self.settle(&decision)?;
            }
            RecordBody::StateChanged(change) => self.change(change)?,
            RecordBody::ActivityUpdated(update) => self.update(update),
            RecordBody::OwnerEffect(effect) => self.effect(effect)?,
            RecordBody::Projection(_) => {}
        }
        self.head = sequence;
        self.updated_at = at;
        Ok(())
    }

    fn accept(
        &mut self,
        sequence: Sequence,
        at: Timestamp,
        accepted: crate::record::MessageAccepted,
    ) {
        let answers = match &accepted.content {
            MessageContent::Answer(answer) => Some(answer.request),
            _ => None,
        };
        self.message_keys.insert(accepted.key, accepted.id);
        self.messages.insert(
            accepted.id,
            MessageState {
                accepted: sequence,
                accepted_at: at,
                from: accepted.from,
                status: DeliveryStatus::Queued,
                reason: None,
                attempts: 0,
                content: Some(accepted.content),
                answers,
            },
        );
    }

    fn deliver(&mut self, delivery: crate::record::MessageDelivery) -> Result<(), Inconsistent> {
        let message = self.messages.get_mut(&delivery.message).ok_or({
            Inconsistent::UnknownMessage {
                message: delivery.message,
            }
        })?;
        message.status = message.status.transition(delivery.status)?;
        message.reason = delivery.reason.map(missiond_core::Text::into_string);
        if message.status == DeliveryStatus::Delivering {
            message.attempts += 1;
        }
        if message.status.is_final() {
            message.content = None;
        }
        Ok(())
    }

    fn settle(&mut self, decision: &crate::record::DecisionRecorded) -> Result<(), Inconsistent> {
        let (key, sequence) =
            self.undecided
                .remove(&decision.observation)
                .ok_or(Inconsistent::NothingToDecide {
                    observation: decision.observation,
                })?;
        if decision.verdict == Verdict::Refused {
            self.refusals += 1;
        }
        self.observations.insert(
            key,
            Processed {
                observation: decision.observation,
                sequence,
                verdict: decision.verdict,
                reason: decision.reason,
            },
        );
        Ok(())
    }

    fn change(&mut self, change: StateChanged) -> Result<(), Inconsistent> {
        if let Some(to) = change.lifecycle {
            self.lifecycle = self.lifecycle.transition(to)?;
        }
        if let Some(to) = change.attention {
            self.attention = self.attention.transition(to)?;
        }
        if change.session.is_some() {
            self.session = change.session;
        }
        for change in change.requests {
            match change {
                RequestChange::Opened(request) => {
                    self.requests.insert(request.id, request);
                }
                RequestChange::Answered { request, .. } | RequestChange::Withdrawn { request } => {
                    self.requests
                        .remove(&request)
                        .ok_or(Inconsistent::UnknownRequest { request })?;
                }
            }
        }
        Ok(())
    }

    /// Last wins, and repeating what is already so is no error: a compaction may
    /// have removed what lay between.
    fn update(&mut self, update: ActivityUpdated) {
        if let Some(to) = update.activity {
            self.activity = to;
        }
        if update.progress.is_some() {
            self.progress = update.progress;
        }
        if let Some(telemetry) = update.telemetry {
            self.telemetry = telemetry;
        }
        if let Some(capabilities) = update.capabilities {
            self.capabilities = capabilities;
        }
        if let Some(target) = update.target {
            self.target = target;
        }
    }

    fn effect(&mut self, effect: OwnerEffect) -> Result<(), Inconsistent> {
        match effect.status {
            EffectStatus::Due => {
                self.due.insert(effect.key, effect);
            }
            EffectStatus::Applied | EffectStatus::Refused { .. } => {
                let key = effect.key;
                self.due
                    .remove(&key)
                    .ok_or(Inconsistent::UnknownEffect { key })?;
            }
        }
        Ok(())
    }
}
