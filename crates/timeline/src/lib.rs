//! The timeline: everything that happens, in one order, for everyone.
//!
//! Producers put events into a bounded queue. One writer stores the persistent
//! ones in batches, the database gives each its `seq`, and only then are they
//! broadcast and acknowledged. Ephemeral events are broadcast without being
//! stored, and coalesce when they come faster than they can be told. Whoever
//! listens through a [`Follower`] sees every stored event once and in order,
//! whatever it missed live.

pub mod activity;
mod backoff;
mod consumer;
mod effects;
mod ephemeral;
mod follower;
pub mod incidents;
pub mod metrics;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use missiond_config::TimelineConfig;
use missiond_core::{Clock, DaemonId, ErrorCode, Event, Seq, TimelineEvent, TraceContext};
use missiond_runtime::{OnPanic, Supervisor};
use missiond_store::{MissionDb, NewEvent, StoreError};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::metrics::Metrics;

pub use backoff::Backoff;
pub use consumer::{Consumer, ConsumerHandle, ConsumerStatus, Consumers, Pace};
pub use ephemeral::subject;
pub use follower::{FollowError, Follower};
use writer::{Done, Pending, Writer};

/// Live events kept for listeners that are a little behind. One further behind
/// reads from the database instead.
const BROADCAST_CAPACITY: usize = 4096;

#[derive(Debug, Clone, thiserror::Error)]
pub enum TimelineError {
    #[error("{}", not_stored(.0))]
    Store(Arc<StoreError>),
    #[error("the timeline is closed: the daemon is stopping")]
    Closed,
    #[error("too many events wait for the database")]
    Full,
    /// It would fail the whole batch it was stored with.
    #[error("{0} events are told, not stored")]
    NotPersistent(&'static str),
}

impl TimelineError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Store(error) => error.code(),
            Self::Closed => ErrorCode::ShuttingDown,
            Self::Full => ErrorCode::StorageUnavailable,
            Self::NotPersistent(_) => ErrorCode::Internal,
        }
    }
}

fn not_stored(error: &StoreError) -> String {
    match error {
        // It says itself that the event may have been stored.
        StoreError::OutcomeUnknown { .. } => error.to_string(),
        _ => format!("the event was not stored: {error}"),
    }
}

/// A handle to the timeline; clones share it.
#[derive(Debug, Clone)]
pub struct Timeline {
    shared: Arc<Shared>,
    queue: mpsc::Sender<Pending>,
}

#[derive(Debug)]
struct Shared {
    db: MissionDb,
    daemon: DaemonId,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    ephemeral: ephemeral::Queue,
    live: broadcast::Sender<Arc<TimelineEvent>>,
    /// The newest stored event that was broadcast.
    head: AtomicI64,
}

impl Shared {
    fn head(&self) -> Seq {
        Seq(self.head.load(Ordering::Acquire))
    }

    /// To everyone who listens now. Nobody listening is fine.
    fn broadcast(&self, event: Arc<TimelineEvent>) {
        if let Some(seq) = event.seq {
            self.head.store(seq.0, Ordering::Release);
        }
        let _ = self.live.send(event);
    }
}

impl Timeline {
    /// Starts the writer on the database's timeline. It ends when every handle
    /// is gone and what was queued is stored.
    pub async fn start(
        db: MissionDb,
        daemon: DaemonId,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        config: &TimelineConfig,
        supervisor: &Supervisor,
    ) -> Result<Self, StoreError> {
        let head = db
            .read(|tx| Box::pin(missiond_store::timeline::head(tx)))
            .await?;
        let (live, _) = broadcast::channel(BROADCAST_CAPACITY);
        let shared = Arc::new(Shared {
            db,
            daemon,
            clock,
            metrics,
            ephemeral: ephemeral::Queue::default(),
            live,
            head: AtomicI64::new(head.0),
        });
        let (queue, pending) = mpsc::channel(config.queue as usize);
        let writer = Writer::new(Arc::clone(&shared), pending, config.batch as usize);
        // Without it nothing can be acknowledged any more.
        supervisor.spawn("timeline writer", None, OnPanic::Shutdown, writer.run());
        Ok(Self { shared, queue })
    }

    /// Stores a persistent event. When this returns, the event is committed,
    /// has its `seq` and has been broadcast. Waits while the queue is full.
    pub async fn record(
        &self,
        event: Event,
        trace: TraceContext,
    ) -> Result<Arc<TimelineEvent>, TimelineError> {
        if !event.is_persistent() {
            return Err(TimelineError::NotPersistent(event.kind()));
        }
        let (done, stored) = oneshot::channel();
        let pending = self
            .pending(event, trace, Some(done))
            .map_err(|error| TimelineError::Store(Arc::new(error)))?;
        self.queue
            .send(pending)
            .await
            .map_err(|_| TimelineError::Closed)?;
        stored.await.map_err(|_| TimelineError::Closed)?
    }

    /// Stores a persistent event that nobody waits for, with others that come
    /// within a moment: a commit of its own would cost more than what it tells
    /// of. Never waits; what cannot be stored is in the log.
    pub fn record_soon(&self, event: Event, trace: TraceContext) {
        if !event.is_persistent() {
            let error = TimelineError::NotPersistent(event.kind());
            tracing::error!(%error, "event not recorded on timeline");
            return;
        }
        let kind = event.kind();
        let pending = match self.pending(event, trace, None) {
            Ok(pending) => pending,
            Err(error) => {
                tracing::error!(%error, "event not stored");
                return;
            }
        };
        if let Err(error) = self.queue.try_send(pending) {
            let error = match error {
                // The database stands still, and others wait for their commits.
                TrySendError::Full(_) => TimelineError::Full,
                TrySendError::Closed(_) => TimelineError::Closed,
            };
            tracing::warn!(kind, %error, "event not stored");
        }
    }

    fn pending(
        &self,
        event: Event,
        trace: TraceContext,
        done: Option<Done>,
    ) -> Result<Pending, StoreError> {
        let event = NewEvent::new(self.shared.clock.now(), self.shared.daemon, trace, event)?;
        Ok(Pending { event, done })
    }

    /// Tells an ephemeral event to whoever listens. Never waits and never
    /// fails: what cannot be told in time is replaced by what is newer.
    pub fn publish(&self, event: Event, trace: TraceContext) {
        debug_assert!(
            !event.is_persistent(),
            "{} is recorded, not told",
            event.kind()
        );
        let event = match missiond_store::timeline::masked(event) {
            Ok(event) => event,
            Err(error) => {
                tracing::error!(%error, "event not told");
                return;
            }
        };
        let event = TimelineEvent {
            seq: None,
            at: self.shared.clock.now(),
            daemon: self.shared.daemon,
            trace,
            event,
        };
        self.shared.metrics.events_ephemeral.add(1);
        if self.shared.ephemeral.put(event) == ephemeral::QueueOutcome::Coalesced {
            self.shared.metrics.events_coalesced.add(1);
        }
    }

    /// Everything from now on.
    #[must_use]
    pub fn follow(&self) -> Follower {
        // Subscribed before the head is read: an event in between is older than
        // the head and skipped, never one that is missed.
        let live = self.shared.live.subscribe();
        Follower::live_from(Arc::clone(&self.shared), live, self.head())
    }

    /// Everything stored after `seq`, then everything from now on.
    #[must_use]
    pub fn follow_after(&self, seq: Seq) -> Follower {
        Follower::catching_up_from(Arc::clone(&self.shared), self.shared.live.subscribe(), seq)
    }

    /// The newest stored event that was broadcast.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.shared.head()
    }
}
