//! One execution that has not ended: its journal, and the one way into it.
//!
//! An observation is recorded as one group; what came of it is then told on the
//! timeline. Effects for the owner are told before they are recorded as applied,
//! and the timeline knows which it was told: a crash in between loses none and
//! tells none twice.

use std::sync::Arc;

use missiond_audit::AuditLog;
use missiond_core::{
    BoardTaskId, CliEngine, Clock, DeliveryStatus, Event, ExecutionActivity, ExecutionAttention,
    ExecutionId, ExecutionLifecycle, MessageId, Principal, PtyState, Seq, SlotId, Timestamp,
    TraceContext,
};
use missiond_journal::catalogue::{SignalType, limits};
use missiond_journal::record::{EffectStatus, OwnerEffect, OwnerEffectKind};
use missiond_journal::{
    Acknowledgement, Confidence, ExecutionState, Journal, JournalError, MessageAcknowledgement,
    NewMessage, NewObservation, ObservationKey, Observed, Outcome, OwnerEntity, OwnerRef, Source,
    Text,
};
use missiond_runtime::{Supervisor, blocking};
use missiond_timeline::Timeline;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, Notify};

use super::audited;
use super::hooked_calls::HookedCalls;
use super::repeated_calls::RepeatedCalls;
use super::startup::Startup;
use crate::error::ExecutionError;

/// Something seen of an execution, before it is recorded.
#[derive(Debug, Clone)]
pub(super) struct ObservationDraft {
    pub key: ObservationKey,
    pub source: Source,
    pub confidence: Confidence,
    pub observed: Observed,
}

/// How a program ended, as far as it was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// What happened to the slot of an execution.
#[derive(Debug)]
pub(super) enum Notice {
    Reading {
        seq: Seq,
        state: PtyState,
        confidence: f32,
        reason: String,
    },
    Exited {
        exit: Exit,
        last_words: Option<String>,
    },
    Closed {
        reason: String,
    },
}

#[derive(Debug)]
pub struct Run {
    pub id: ExecutionId,
    pub(super) slot: SlotId,
    pub(super) engine: CliEngine,
    journal: Arc<Journal>,
    timeline: Timeline,
    /// Its beginning, which causes all that it tells.
    trace: TraceContext,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
    audit: AuditLog,
    /// What the timeline knows. Held while something is recorded and told, so
    /// that both ledgers have it in the same order.
    told: Mutex<Published>,
    pub(super) notices: UnboundedSender<Notice>,
    /// There is a message to deliver.
    pub(super) message: Notify,
    /// The program has written something.
    pub(super) output: Notify,
    /// What is answered by the launch itself.
    pub(super) startup: Startup,
    /// Nothing is left of it but its records.
    pub(super) closed: Notify,
    /// Held by whoever ends its program: a second one waits for the first.
    pub(super) ending: Mutex<()>,
    pub(super) repeated_calls: RepeatedCalls,
    pub(super) hooked_calls: HookedCalls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Published {
    lifecycle: ExecutionLifecycle,
    attention: ExecutionAttention,
    activity: ExecutionActivity,
}

impl Published {
    fn of(state: &ExecutionState) -> Self {
        Self {
            lifecycle: state.lifecycle,
            attention: state.attention,
            activity: state.activity,
        }
    }
}

/// A run for a task continues the chain of the task, another one begins its own.
fn trace_of(execution: ExecutionId, owner: &OwnerRef) -> TraceContext {
    match (owner.entity, owner.id.parse::<BoardTaskId>()) {
        (OwnerEntity::Task, Ok(task)) => TraceContext::of(task).began(execution),
        _ => TraceContext::of(execution),
    }
}

impl Run {
    pub(super) fn new(
        slot: SlotId,
        journal: Journal,
        timeline: Timeline,
        clock: Arc<dyn Clock>,
        supervisor: Supervisor,
        audit: AuditLog,
    ) -> Result<(Self, UnboundedReceiver<Notice>), JournalError> {
        let (notices, received) = unbounded_channel();
        let id = journal.execution();
        let (engine, told, trace) = journal.peek(|state| {
            let trace = trace_of(id, &state.owner);
            (state.engine.clone(), Published::of(state), trace)
        })?;
        let run = Self {
            id,
            slot,
            engine,
            trace,
            journal: Arc::new(journal),
            timeline,
            clock,
            supervisor,
            audit,
            told: Mutex::new(told),
            notices,
            message: Notify::new(),
            output: Notify::new(),
            startup: Startup::default(),
            closed: Notify::new(),
            ending: Mutex::default(),
            repeated_calls: RepeatedCalls::default(),
            hooked_calls: HookedCalls::default(),
        };
        Ok((run, received))
    }

    pub(super) fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// The task it works for, if it works for one.
    pub(super) fn task(&self) -> Option<BoardTaskId> {
        let of_owner = |state: &ExecutionState| match state.owner.entity {
            OwnerEntity::Task => state.owner.id.as_str().parse().ok(),
            _ => None,
        };
        self.journal.peek(of_owner).ok().flatten()
    }

    /// Takes in what was seen: records it with what follows from it, then tells
    /// the timeline. Goes on to its end when the caller goes away.
    pub(super) async fn observe(
        self: &Arc<Self>,
        seen: ObservationDraft,
    ) -> Result<Acknowledgement, ExecutionError> {
        let run = Arc::clone(self);
        let work = async move {
            let mut told = run.told.lock().await;
            let at = run.clock.now();
            let signal = match &seen.observed {
                Observed::Signal(signal) => Some(signal.kind()),
                Observed::Fact(_) => None,
            };
            let agent = Principal::Agent {
                slot: run.slot,
                execution: Some(run.id),
            };
            let used = audited::tool_use(&agent, run.trace(), &seen.observed);
            let new = NewObservation {
                execution: run.id,
                key: seen.key,
                source: seen.source,
                confidence: seen.confidence,
                observed_at: at,
                observed: seen.observed,
            };
            let acknowledgement = run
                .blocking(move |journal| journal.observe(at, new))
                .await?;
            if let Some(used) = used
                && !matches!(acknowledgement.outcome, Outcome::Duplicate { .. })
            {
                run.audit.record_soon(used).await;
            }
            if let Some(signal) = signal {
                run.publish_signal(signal, &acknowledgement).await;
            }
            run.publish(&mut told).await;
            Ok(acknowledgement)
        };
        self.complete("observation", work).await
    }

    /// Accepts a message for the agent; a task delivers it.
    pub(super) async fn accept(
        self: &Arc<Self>,
        new: NewMessage,
    ) -> Result<MessageAcknowledgement, ExecutionError> {
        let run = Arc::clone(self);
        let work = async move {
            let mut told = run.told.lock().await;
            let at = run.clock.now();
            let accepted = run.blocking(move |journal| journal.accept(at, new)).await?;
            run.publish(&mut told).await;
            run.message.notify_one();
            Ok(accepted)
        };
        self.complete("message", work).await
    }

    /// Records how far a message has come.
    pub(super) async fn deliver(
        self: &Arc<Self>,
        message: MessageId,
        status: DeliveryStatus,
        reason: Option<&str>,
    ) -> Result<(), ExecutionError> {
        let run = Arc::clone(self);
        let reason = reason.and_then(Text::<{ limits::SIGNAL_TEXT }>::excerpt);
        let work = async move {
            let mut told = run.told.lock().await;
            let at = run.clock.now();
            let event = Event::MessageDelivery {
                execution: run.id,
                message,
                outcome: status.as_str().to_owned(),
                reason: reason.as_ref().map(|reason| reason.as_str().to_owned()),
            };
            run.blocking(move |journal| journal.deliver(at, message, status, reason))
                .await?;
            run.record(event).await;
            run.publish(&mut told).await;
            Ok(())
        };
        self.complete("delivery", work).await
    }

    /// A daemon that takes over says what it found, and tells what the one
    /// before could not tell any more.
    pub(super) async fn publish_recovered(&self) {
        let mut told = self.told.lock().await;
        self.publish_state(*told).await;
        self.publish(&mut told).await;
    }

    /// Where it began; what it causes is a child of this.
    pub fn trace(&self) -> TraceContext {
        self.trace
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) async fn record(&self, event: Event) -> bool {
        let kind = event.kind();
        let recorded = self.timeline.record(event, self.trace.child()).await;
        if let Err(error) = &recorded {
            tracing::error!(execution = %self.id, kind, %error, "event not recorded on timeline");
        }
        recorded.is_ok()
    }

    async fn complete<T: Send + 'static>(
        &self,
        task: &'static str,
        work: impl Future<Output = Result<T, ExecutionError>> + Send + 'static,
    ) -> Result<T, ExecutionError> {
        let subject = Some(self.id.to_string());
        self.supervisor.complete(task, subject, work).await?
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Journal) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, ExecutionError> {
        let journal = Arc::clone(&self.journal);
        Ok(blocking(move || work(&journal)).await?)
    }

    /// Signals that make an effect for the owner are told by that effect.
    async fn publish_signal(&self, signal: SignalType, acknowledgement: &Acknowledgement) {
        let outcome = match (&acknowledgement.outcome, signal) {
            (Outcome::Duplicate { .. } | Outcome::Promoted { .. }, _)
            | (Outcome::Accepted { .. }, SignalType::NeedsInput | SignalType::Blocked) => return,
            (Outcome::Accepted { .. }, _) => "accepted",
            (Outcome::RecordedOnly { .. }, _) => "recorded",
            (Outcome::Rejected { .. }, _) => "rejected",
        };
        self.record(Event::ExecutionSignal {
            execution: self.id,
            observation: acknowledgement.observation,
            signal: signal.name().to_owned(),
            outcome: outcome.to_owned(),
        })
        .await;
    }

    async fn publish_state(&self, told: Published) -> bool {
        self.record(Event::ExecutionStateChanged {
            execution: self.id,
            lifecycle: told.lifecycle,
            attention: told.attention,
            activity: told.activity,
        })
        .await
    }

    async fn publish(&self, told: &mut Published) {
        let now = self.journal.peek(|state| {
            let due: Vec<_> = state.due.values().cloned().collect();
            (Published::of(state), due)
        });
        let (now, due) = match now {
            Ok(now) => now,
            Err(error) => {
                tracing::error!(execution = %self.id, %error, "journal read failed");
                return;
            }
        };
        if now != *told && self.publish_state(now).await {
            *told = now;
        }
        for effect in due {
            let key = effect.key;
            let event = self.event_of(&effect);
            let told = self
                .timeline
                .record_effect(self.id, key.to_string(), event, self.trace.child())
                .await;
            if let Err(error) = &told {
                tracing::error!(execution = %self.id, %key, %error, "effect not recorded on timeline");
            }
            if told.is_ok() {
                let at = self.clock.now();
                let settled = self
                    .blocking(move |journal| journal.settle_effect(at, key, EffectStatus::Applied))
                    .await;
                if let Err(error) = settled {
                    tracing::error!(execution = %self.id, %error, "effect not settled in journal");
                }
            }
        }
    }

    fn event_of(&self, effect: &OwnerEffect) -> Event {
        let (execution, observation) = (self.id, effect.key.observation);
        let claim = |signal: SignalType| Event::ExecutionSignal {
            execution,
            observation: Some(observation),
            signal: signal.name().to_owned(),
            outcome: "promoted".to_owned(),
        };
        match effect.kind {
            OwnerEffectKind::InputRequested => Event::InputRequested {
                execution,
                request: observation,
                question: self.question(effect),
            },
            OwnerEffectKind::Blocked => claim(SignalType::Blocked),
            OwnerEffectKind::VerificationRequested => claim(SignalType::ReadyForVerification),
            OwnerEffectKind::CompletionClaimed => claim(SignalType::CompletedClaim),
            OwnerEffectKind::FailureClaimed => claim(SignalType::FailedClaim),
            OwnerEffectKind::RunEnded => Event::ExecutionEnded {
                execution,
                lifecycle: self
                    .journal
                    .peek(|state| state.lifecycle)
                    .unwrap_or(ExecutionLifecycle::Terminated),
            },
        }
    }

    fn question(&self, effect: &OwnerEffect) -> String {
        let question = self.journal.peek(|state| {
            let request = state.requests.get(&effect.key.observation);
            request.map(|request| request.question.as_str().to_owned())
        });
        question.ok().flatten().unwrap_or_default()
    }
}
