//! Consumers: parts of the daemon that react to stored events, each exactly
//! once.
//!
//! A consumer's effect and the advance of its cursor are one transaction, so a
//! crash in between leaves neither. Events are gathered until the consumer's
//! [`Pace`] says so: after a quiet moment (trailing edge), or when enough have
//! come. A failing consumer is tried again with the same events, later and
//! later, while everything else goes on.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{Event, Seq, TimelineEvent, TraceContext};
use missiond_runtime::Supervisor;
use missiond_store::watermarks::{self, Advance};
use missiond_store::{StoreError, Tx};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::follower::FollowError;
use super::{Backoff, Follower, Timeline};

/// When gathered events are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// After no wanted event has come for this long.
    pub quiet: Duration,
    /// Or when this many have come.
    pub count: usize,
}

/// Passing over this many unwanted events is worth a cursor of its own.
const IDLE_ADVANCE: i64 = 1000;

/// After this many failures in a row the timeline is told.
const FAILURES_TOLD: u32 = 3;

pub trait Consumer: Send + Sync + 'static {
    /// Names the durable cursor: once shipped it never changes.
    fn name(&self) -> &'static str;

    fn wants(&self, event: &Event) -> bool;

    fn pace(&self) -> Pace;

    /// The effect of these events, within the transaction that also advances
    /// the cursor.
    fn apply<'t>(
        &self,
        tx: &'t mut Tx<'_>,
        events: Arc<[Arc<TimelineEvent>]>,
    ) -> BoxFuture<'t, Result<(), StoreError>>;
}

/// One running consumer.
#[derive(Debug)]
pub struct ConsumerHandle {
    name: &'static str,
    progress: Arc<Mutex<Progress>>,
    task: JoinHandle<()>,
}

/// How far a consumer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerStatus {
    pub name: &'static str,
    pub cursor: Seq,
    /// Stored events it has not seen.
    pub behind: i64,
    /// How often in a row it has failed; 0 when it is well.
    pub failures: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    cursor: Seq,
    failures: u32,
}

/// All of a daemon's consumers.
#[derive(Debug)]
pub struct Consumers {
    handles: Vec<ConsumerHandle>,
    stop: watch::Sender<bool>,
}

impl Consumers {
    /// Starts each at its durable cursor.
    pub async fn start(
        timeline: &Timeline,
        consumers: Vec<Arc<dyn Consumer>>,
        supervisor: &Supervisor,
    ) -> Result<Self, StoreError> {
        let (stop, _) = watch::channel(false);
        let mut handles = Vec::new();
        for consumer in consumers {
            let name = consumer.name();
            let cursor = timeline
                .shared
                .db
                .read(move |tx| Box::pin(watermarks::get(tx, name)))
                .await?
                .unwrap_or_default();
            let progress = Arc::new(Mutex::new(Progress {
                cursor,
                failures: 0,
            }));
            let task = supervisor.spawn_restarting(name, {
                let (timeline, progress, stop) =
                    (timeline.clone(), Arc::clone(&progress), stop.clone());
                move || {
                    // What was gathered before a panic is read again.
                    let cursor = progress.lock().cursor;
                    let runner = Runner {
                        consumer: Arc::clone(&consumer),
                        follower: timeline.follow_after(cursor),
                        timeline: timeline.clone(),
                        progress: Arc::clone(&progress),
                        cursor,
                        gathered: Vec::new(),
                        backoff: Backoff::default(),
                    };
                    runner.run(stop.subscribe())
                }
            });
            handles.push(ConsumerHandle {
                name,
                progress,
                task,
            });
        }
        Ok(Self { handles, stop })
    }

    #[must_use]
    pub fn status(&self, head: Seq) -> Vec<ConsumerStatus> {
        self.handles
            .iter()
            .map(|handle| {
                let progress = *handle.progress.lock();
                ConsumerStatus {
                    name: handle.name,
                    cursor: progress.cursor,
                    behind: (head.0 - progress.cursor.0).max(0),
                    failures: progress.failures,
                }
            })
            .collect()
    }

    /// Asks each to hand over what it has gathered, and waits for that.
    pub async fn stop(&mut self) {
        self.stop.send_replace(true);
        for handle in &mut self.handles {
            let _ = (&mut handle.task).await;
        }
    }
}

enum Step {
    Gather,
    HandOver,
    Stop,
}

struct Runner {
    consumer: Arc<dyn Consumer>,
    follower: Follower,
    timeline: Timeline,
    progress: Arc<Mutex<Progress>>,
    /// As it stands in the database.
    cursor: Seq,
    gathered: Vec<Arc<TimelineEvent>>,
    backoff: Backoff,
}

impl Runner {
    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let pace = self.consumer.pace();
        let quiet = tokio::time::sleep(pace.quiet);
        tokio::pin!(quiet);
        loop {
            let step = tokio::select! {
                next = self.follower.next() => {
                    match next {
                        Ok(event) if event.seq > Some(self.cursor) && self.consumer.wants(&event.event) => {
                            self.gathered.push(event);
                            quiet.as_mut().reset(Instant::now() + pace.quiet);
                        }
                        Ok(_) => {}
                        Err(FollowError::Closed) => break,
                        Err(FollowError::Store(error)) => {
                            self.failed(&error);
                            tokio::time::sleep(self.backoff.next_delay()).await;
                        }
                    }
                    self.set_progress();
                    let passed = self.follower.position().0 - self.cursor.0;
                    let due = self.gathered.len() >= pace.count
                        || (self.gathered.is_empty() && passed >= IDLE_ADVANCE);
                    if due { Step::HandOver } else { Step::Gather }
                }
                () = &mut quiet, if !self.gathered.is_empty() => Step::HandOver,
                () = asked(&mut stop) => Step::Stop,
            };
            match step {
                Step::Gather => {}
                Step::HandOver => self.hand_over(&mut stop).await,
                Step::Stop => break,
            }
        }
        if self.follower.position() > self.cursor {
            self.hand_over(&mut stop).await;
        }
    }

    /// Applies what was gathered and advances the cursor, in one transaction;
    /// again and again until it works or the daemon stops.
    async fn hand_over(&mut self, stop: &mut watch::Receiver<bool>) {
        let to = self.follower.position();
        let events: Arc<[_]> = std::mem::take(&mut self.gathered).into();
        loop {
            match self.transact(Arc::clone(&events), to).await {
                Ok(cursor) => {
                    self.cursor = cursor;
                    self.backoff.reset();
                    self.set_progress();
                    // Another daemon was ahead of us up to there; what lies
                    // beyond is still ours to apply.
                    self.gathered.extend(
                        events
                            .iter()
                            .filter(|event| event.seq > Some(cursor))
                            .map(Arc::clone),
                    );
                    return;
                }
                Err(error) => {
                    let delay = self.backoff.next_delay();
                    self.failed(&error);
                    self.report_failure(&error);
                    tokio::select! {
                        () = tokio::time::sleep(delay) => {}
                        // The cursor stays: the next start begins with these events.
                        () = asked(stop) => return,
                    }
                }
            }
        }
    }

    async fn transact(
        &self,
        events: Arc<[Arc<TimelineEvent>]>,
        to: Seq,
    ) -> Result<Seq, StoreError> {
        let consumer = Arc::clone(&self.consumer);
        let from = self.cursor;
        self.timeline
            .shared
            .db
            .write(move |tx| {
                Box::pin(async move {
                    // The cursor first: its row is what daemons that share a
                    // database wait for, so that only one applies the effect.
                    match watermarks::advance_from(tx, consumer.name(), from, to).await? {
                        Advance::Ours => {}
                        Advance::Theirs(at) => return Ok(at),
                    }
                    if !events.is_empty() {
                        consumer.apply(tx, events).await?;
                    }
                    Ok(to)
                })
            })
            .await
    }

    fn failed(&self, error: &StoreError) {
        let (consumer, failures) = (self.consumer.name(), self.backoff.failures());
        tracing::warn!(consumer, failures, %error, "consumer failed, retrying");
        self.set_progress();
    }

    /// Once per series of failures, and without waiting: the store that fails
    /// here may be the one that would have to take the event.
    fn report_failure(&self, error: &StoreError) {
        if self.backoff.failures() != FAILURES_TOLD {
            return;
        }
        let event = Event::ConsumerFailed {
            consumer: self.consumer.name().to_owned(),
            error: error.to_string(),
            attempt: self.backoff.failures(),
        };
        self.timeline.record_soon(event, TraceContext::root());
    }

    /// What it has looked at and does not want is behind it, though the cursor
    /// in the database moves only now and then.
    fn set_progress(&self) {
        let cursor = if self.gathered.is_empty() {
            self.cursor.max(self.follower.position())
        } else {
            self.cursor
        };
        *self.progress.lock() = Progress {
            cursor,
            failures: self.backoff.failures(),
        };
    }
}

/// Returns when the daemon stops.
async fn asked(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
