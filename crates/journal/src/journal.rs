//! The one way to write a journal. Whoever has something to record calls the
//! [`Journal`] of the execution, from as many threads as it likes; callers that
//! come together share one commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use missiond_core::machines::Machine;
use missiond_core::{
    DeliveryStatus, ErrorCode, ExecutionAttention, ExecutionId, IllegalMove, MessageId,
    ObservationId, Timestamp,
};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::catalogue::{MessageContent, limits};
use crate::compaction;
use crate::frame::{BadGroup, Head, Sequence, encode_group};
use crate::observation::{Confidence, MessageKey, Observation, ObservationKey, Observed, Source};
use crate::policy::{
    Acknowledgement, MessageAcknowledgement, MessageOutcome, Policy, Reason, Verdict, decide,
};
use crate::record::{
    ActivityUpdated, Compacted, DecisionRecorded, EffectKey, EffectStatus, JournalHeader,
    MessageAccepted, MessageDelivery, OwnerEffect, Projection, Record, RecordBody, RequestChange,
    Sender, StateChanged,
};
use crate::replay::{ReplayError, Replayed, replay};
use crate::state::{ExecutionState, Inconsistent};
use crate::store::{
    Batch, JournalStore, JournalWriter, ReadLimit, Recovery, StoreError, Window, window,
};
use missiond_core::Text;

/// An observation as its source hands it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewObservation {
    /// The execution it says it is about.
    pub execution: ExecutionId,
    pub key: ObservationKey,
    pub source: Source,
    pub confidence: Confidence,
    pub observed_at: Timestamp,
    pub observed: Observed,
}

/// A message as its sender hands it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    pub key: MessageKey,
    pub from: Sender,
    pub content: MessageContent,
}

/// The journal of one execution, open for writing.
///
/// Every method that records returns after the commit. When a commit fails, the
/// state in memory may be ahead of the disk, so the journal answers
/// [`JournalError::Broken`] from then on; open it again to go on from what the
/// disk holds.
#[derive(Debug)]
pub struct Journal {
    execution: ExecutionId,
    store: Arc<dyn JournalStore>,
    policy: Arc<Policy>,
    /// A panic while it is held cannot leave it half changed: `apply` and
    /// `encode_group` do not panic, and nothing else happens under it.
    live: Mutex<Live>,
    /// Held while committing. Never taken while `live` is held.
    committer: Mutex<Committer>,
    turn: CommitTurn,
    durable: AtomicU64,
}

#[derive(Debug)]
struct Live {
    state: ExecutionState,
    head: Head,
    /// Lines that were decided on and wait for the next commit.
    pending: Vec<u8>,
    broken: Option<String>,
}

#[derive(Debug)]
struct Committer {
    writer: Box<dyn JournalWriter>,
    /// The buffer of the last commit, to be used again.
    spare: Vec<u8>,
}

/// Whose turn it is to commit. Those who wait are all woken when a commit is
/// done: queueing for the committer's lock instead would wake them one by one,
/// and hold up behind the next sync those whom this one has already served.
#[derive(Debug, Default)]
struct CommitTurn {
    held: Mutex<bool>,
    released: Condvar,
}

struct TurnGuard<'t>(&'t CommitTurn);

impl CommitTurn {
    /// Waits until it is the caller's turn, or `None` when that is not needed any
    /// more.
    fn acquire_unless(&self, served: impl Fn() -> bool) -> Option<TurnGuard<'_>> {
        if served() {
            return None;
        }
        let mut held = self.held.lock();
        while *held && !served() {
            self.released.wait(&mut held);
        }
        if served() {
            return None;
        }
        *held = true;
        Some(TurnGuard(self))
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        *self.0.held.lock() = false;
        self.0.released.notify_all();
    }
}

/// Why something was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Group(#[from] BadGroup),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("{execution} cannot be recorded any more until its journal is opened again: {detail}")]
    Broken {
        execution: ExecutionId,
        detail: String,
    },
    #[error("there is no message {message} in {execution}")]
    UnknownMessage {
        execution: ExecutionId,
        message: MessageId,
    },
    #[error("the effect {key} of {execution} is not due")]
    NotDue {
        execution: ExecutionId,
        key: EffectKey,
    },
    #[error(transparent)]
    IllegalMove(#[from] IllegalMove),
    #[error("the update says nothing")]
    EmptyUpdate,
    #[error("a defect in missiond's journal: {reason}")]
    Defect { reason: Inconsistent },
}

impl JournalError {
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Store(error) | Self::Replay(ReplayError::Store(error)) => error.code(),
            Self::Group(BadGroup::TooLarge { .. }) => ErrorCode::TooLarge,
            Self::Group(_) | Self::EmptyUpdate => ErrorCode::InvalidParams,
            Self::Replay(_) => ErrorCode::StorageCorrupt,
            Self::Broken { .. } => ErrorCode::StorageUnavailable,
            Self::UnknownMessage { .. } => ErrorCode::NotFound,
            Self::NotDue { .. } | Self::IllegalMove(_) => ErrorCode::Conflict,
            Self::Defect { .. } => ErrorCode::Internal,
        }
    }
}

impl Journal {
    /// Makes the journal of a new execution. The execution is `Starting` when
    /// this returns; do it before its program is started.
    pub fn create(
        store: Arc<dyn JournalStore>,
        policy: Arc<Policy>,
        at: Timestamp,
        header: JournalHeader,
    ) -> Result<Self, JournalError> {
        let execution = header.execution;
        let mut lines = Vec::new();
        let head = encode_group(Head::EMPTY, at, &[header.clone().into()], &mut lines)?;
        let state = ExecutionState::begin(head.sequence, at, header)
            .map_err(|reason| JournalError::Defect { reason })?;
        let lines = &lines;
        let writer = store.create(execution, Batch { lines, head })?;
        Ok(Self::assemble(store, policy, writer, state, head))
    }

    /// Opens the journal of an execution and tells its state again.
    pub fn open(
        store: Arc<dyn JournalStore>,
        policy: Arc<Policy>,
        execution: ExecutionId,
    ) -> Result<(Self, Recovery), JournalError> {
        let opened = store.open(execution)?;
        let Replayed { state, head } = replay(&*store, execution)?;
        if head != opened.writer.head() {
            return Err(StoreError::damaged(
                execution,
                head.sequence,
                "its records do not lead to its head",
            )
            .into());
        }
        let journal = Self::assemble(store, policy, opened.writer, state, head);
        Ok((journal, opened.recovery))
    }

    fn assemble(
        store: Arc<dyn JournalStore>,
        policy: Arc<Policy>,
        writer: Box<dyn JournalWriter>,
        state: ExecutionState,
        head: Head,
    ) -> Self {
        Self {
            execution: state.execution,
            store,
            policy,
            live: Mutex::new(Live {
                state,
                head,
                pending: Vec::new(),
                broken: None,
            }),
            committer: Mutex::new(Committer {
                writer,
                spare: Vec::new(),
            }),
            turn: CommitTurn::default(),
            durable: AtomicU64::new(head.sequence.0),
        }
    }

    #[must_use]
    pub const fn execution(&self) -> ExecutionId {
        self.execution
    }

    /// Takes in an observation, whatever its source: decides whether it was seen
    /// before, then what follows from it, and records all of that as one group.
    pub fn observe(
        &self,
        at: Timestamp,
        new: NewObservation,
    ) -> Result<Acknowledgement, JournalError> {
        let execution = self.execution;
        let key = self.own_key(&new);
        let (acknowledgement, until) = {
            let mut live = self.live()?;
            if let Some(before) = live.state.processed(&key) {
                let acknowledgement = Acknowledgement::duplicate(
                    execution,
                    before.observation,
                    before.sequence,
                    before.reason,
                );
                // The first may not be durable yet, and this says that it is.
                (acknowledgement, live.head.sequence)
            } else {
                let observation = Observation {
                    id: ObservationId::generate(),
                    execution: new.execution,
                    key,
                    source: new.source,
                    confidence: new.confidence,
                    observed_at: new.observed_at,
                    observed: new.observed,
                };
                let decision = decide(&self.policy, &live.state, &observation);
                let (verdict, reason) = (decision.verdict, decision.reason);
                if verdict == Verdict::Refused && live.state.refusals >= limits::RECORDED_REFUSALS {
                    return Ok(Acknowledgement::rejected(
                        execution,
                        reason,
                        format!("{}; not recorded, there were too many", reason.sentence()),
                    ));
                }
                let id = observation.id;
                let mut group = Vec::with_capacity(2 + decision.effects.len());
                group.push(observation.into());
                group.push(
                    DecisionRecorded {
                        observation: id,
                        verdict,
                        reason,
                    }
                    .into(),
                );
                group.extend(decision.effects);
                let first = live.add(execution, at, group)?;
                let acknowledgement =
                    Acknowledgement::decided(execution, id, first, verdict, reason);
                (acknowledgement, live.head.sequence)
            }
        };
        self.commit(until)?;
        Ok(acknowledgement)
    }

    /// What is said of another execution has its keys apart: it must not use up
    /// one that this execution's agent is going to use.
    fn own_key(&self, new: &NewObservation) -> ObservationKey {
        if new.execution == self.execution {
            return new.key.clone();
        }
        let foreign = format!("foreign:{}:{}", new.execution, new.key.as_str());
        let foreign = Text::<{ limits::KEY }>::excerpt(&foreign).map(Text::into_string);
        foreign
            .and_then(|key| ObservationKey::new(key).ok())
            .unwrap_or_else(|| new.key.clone())
    }

    /// Accepts a message for the agent, to be delivered by somebody else. An
    /// answer closes its question.
    pub fn accept(
        &self,
        at: Timestamp,
        new: NewMessage,
    ) -> Result<MessageAcknowledgement, JournalError> {
        let execution = self.execution;
        let rejected = |reason| {
            Ok(MessageAcknowledgement {
                execution,
                outcome: MessageOutcome::Rejected { reason },
            })
        };
        let (outcome, until) = {
            let mut live = self.live()?;
            if let Some((message, before)) = live.state.message_of(&new.key) {
                let original = before.accepted;
                (
                    MessageOutcome::Duplicate { message, original },
                    live.head.sequence,
                )
            } else {
                if live.state.lifecycle.is_final() {
                    return rejected(Reason::Stopped);
                }
                if is_chatter(&live.state, &new.from, at) {
                    return rejected(Reason::TooMuchChatter);
                }
                let id = MessageId::generate();
                let Some(change) = answer_change(&live.state, id, &new.content) else {
                    return rejected(Reason::NoSuchRequest);
                };
                let mut group = vec![RecordBody::from(MessageAccepted {
                    id,
                    key: new.key,
                    from: new.from,
                    content: new.content,
                })];
                if !change.is_empty() {
                    group.push(change.into());
                }
                let sequence = live.add(execution, at, group)?;
                (
                    MessageOutcome::Accepted {
                        message: id,
                        sequence,
                    },
                    live.head.sequence,
                )
            }
        };
        self.commit(until)?;
        Ok(MessageAcknowledgement { execution, outcome })
    }

    /// Records how far a message has come.
    pub fn deliver(
        &self,
        at: Timestamp,
        message: MessageId,
        status: DeliveryStatus,
        reason: Option<Text<{ limits::SIGNAL_TEXT }>>,
    ) -> Result<Sequence, JournalError> {
        let until = {
            let mut live = self.live()?;
            let known = live.state.messages.get(&message);
            let known = known.ok_or(JournalError::UnknownMessage {
                execution: self.execution,
                message,
            })?;
            known.status.transition(status)?;
            // The agent has its answer: it goes on by itself.
            let resumes = status == DeliveryStatus::Delivered
                && known.answers.is_some()
                && live.state.attention == ExecutionAttention::AwaitingSystem;
            let mut group = vec![RecordBody::from(MessageDelivery {
                message,
                status,
                reason,
            })];
            if resumes {
                group.push(
                    StateChanged {
                        attention: Some(ExecutionAttention::Autonomous),
                        ..StateChanged::default()
                    }
                    .into(),
                );
            }
            live.add(self.execution, at, group)?;
            live.head.sequence
        };
        self.commit(until)?;
        Ok(until)
    }

    /// Records telemetry the daemon gathered itself.
    pub fn update_activity(
        &self,
        at: Timestamp,
        update: ActivityUpdated,
    ) -> Result<Sequence, JournalError> {
        if update.is_empty() {
            return Err(JournalError::EmptyUpdate);
        }
        self.add_and_commit(at, update.into())
    }

    /// Records that the owner has taken an effect, or would not.
    pub fn settle_effect(
        &self,
        at: Timestamp,
        key: EffectKey,
        status: EffectStatus,
    ) -> Result<Sequence, JournalError> {
        let execution = self.execution;
        let until = {
            let mut live = self.live()?;
            let due = live
                .state
                .due
                .get(&key)
                .filter(|_| status != EffectStatus::Due);
            let due = due.ok_or(JournalError::NotDue { execution, key })?;
            let settled = OwnerEffect {
                status,
                ..due.clone()
            };
            live.add(execution, at, vec![settled.into()])?;
            live.head.sequence
        };
        self.commit(until)?;
        Ok(until)
    }

    /// Records something for the timeline that no other record says.
    pub fn project(&self, at: Timestamp, item: Projection) -> Result<Sequence, JournalError> {
        self.add_and_commit(at, item.into())
    }

    /// The state, of which everything is committed.
    pub fn state(&self) -> Result<ExecutionState, JournalError> {
        let state = self.live()?.state.clone();
        self.commit(state.head)?;
        Ok(state)
    }

    /// Looks at the state without copying it. It may be ahead of the disk by
    /// what is being committed at this moment.
    pub fn peek<R>(&self, read: impl FnOnce(&ExecutionState) -> R) -> Result<R, JournalError> {
        Ok(read(&self.live()?.state))
    }

    /// The records after `after`, within the limit.
    pub fn window(&self, after: Sequence, limit: ReadLimit) -> Result<Window, JournalError> {
        Ok(window(&*self.store, self.execution, after, limit)?)
    }

    /// Leaves out the activity records that later ones have made void. Replay
    /// gives the same state before and after; places stay as they were. The
    /// journal is held still meanwhile.
    pub fn compact(&self) -> Result<Compacted, JournalError> {
        let mut committer = self.committer.lock();
        self.flush(&mut committer)?;
        let mut live = self.live()?;
        if !live.pending.is_empty() {
            // Added between the two locks; a commit must not overtake the rewrite.
            let lines = std::mem::take(&mut live.pending);
            let head = live.head;
            let lines = &lines;
            let done = committer.writer.commit(Batch { lines, head });
            self.settle(&mut live, done, head)?;
        }
        let compaction = compaction::compact(&*self.store, self.execution, live.head)?;
        let segment = Batch {
            lines: &compaction.lines,
            head: compaction.head,
        };
        let done = committer.writer.replace(segment);
        self.settle(&mut live, done, compaction.head)?;
        live.head = compaction.head;
        Ok(compaction.compacted)
    }

    fn add_and_commit(&self, at: Timestamp, body: RecordBody) -> Result<Sequence, JournalError> {
        let until = {
            let mut live = self.live()?;
            live.add(self.execution, at, vec![body])?;
            live.head.sequence
        };
        self.commit(until)?;
        Ok(until)
    }

    /// Returns when everything up to `until` is durable. One caller commits for
    /// all who have added something by then; the others find it done.
    fn commit(&self, until: Sequence) -> Result<(), JournalError> {
        let durable = || self.durable.load(Ordering::Acquire) >= until.0;
        match self.turn.acquire_unless(durable) {
            None => Ok(()),
            Some(_turn) => self.flush(&mut self.committer.lock()),
        }
    }

    fn flush(&self, committer: &mut Committer) -> Result<(), JournalError> {
        let (lines, head) = {
            let mut live = self.live()?;
            let spare = std::mem::take(&mut committer.spare);
            (std::mem::replace(&mut live.pending, spare), live.head)
        };
        if lines.is_empty() {
            return Ok(());
        }
        let done = committer.writer.commit(Batch {
            lines: &lines,
            head,
        });
        self.settle(&mut self.live.lock(), done, head)?;
        committer.spare = lines;
        committer.spare.clear();
        Ok(())
    }

    fn settle(
        &self,
        live: &mut Live,
        done: Result<(), StoreError>,
        head: Head,
    ) -> Result<(), JournalError> {
        match done {
            Ok(()) => {
                self.durable.store(head.sequence.0, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                live.broken.get_or_insert_with(|| error.to_string());
                Err(error.into())
            }
        }
    }

    fn live(&self) -> Result<MutexGuard<'_, Live>, JournalError> {
        let live = self.live.lock();
        match &live.broken {
            None => Ok(live),
            Some(detail) => Err(JournalError::Broken {
                execution: self.execution,
                detail: detail.clone(),
            }),
        }
    }
}

impl Live {
    /// Adds a group to what the next commit writes and to the state, and returns
    /// the place of its first record.
    fn add(
        &mut self,
        execution: ExecutionId,
        at: Timestamp,
        group: Vec<RecordBody>,
    ) -> Result<Sequence, JournalError> {
        let first = self.head.sequence.next();
        let before = self.pending.len();
        let head = encode_group(self.head, at, &group, &mut self.pending)?;
        let mut sequence = self.head.sequence;
        for body in group {
            sequence = sequence.next();
            let applied = self.state.apply(Record { sequence, at, body });
            if let Err(reason) = applied {
                self.pending.truncate(before);
                self.broken = Some(format!("{execution}: {reason}"));
                return Err(JournalError::Defect { reason });
            }
        }
        self.head = head;
        Ok(first)
    }
}

/// Whether an agent has sent this one as much as an agent may. People and the
/// system send what they like.
fn is_chatter(state: &ExecutionState, from: &Sender, at: Timestamp) -> bool {
    if !from.is_agent() {
        return false;
    }
    let since = at.minus(limits::CHATTER_WINDOW);
    state.messages_from(from, since) >= limits::CHATTER
}

/// What accepting the message changes; `None` when it answers nothing that is
/// open.
fn answer_change(
    state: &ExecutionState,
    message: MessageId,
    content: &MessageContent,
) -> Option<StateChanged> {
    let MessageContent::Answer(answer) = content else {
        return Some(StateChanged::default());
    };
    let request = state.requests.get(&answer.request)?.id;
    let last = state.requests.len() == 1;
    let waiting = state.attention == ExecutionAttention::AwaitingOperator;
    Some(StateChanged {
        attention: (last && waiting).then_some(ExecutionAttention::AwaitingSystem),
        requests: vec![RequestChange::Answered { request, message }],
        ..StateChanged::default()
    })
}
