//! The one writer of a daemon's timeline.
//!
//! Broadcast order is `seq` order and has no holes. On a shared database other
//! daemons' events lie between ours, and an append whose outcome was lost may
//! have succeeded after all: whenever the next `seq` is not the one after the
//! last broadcast, the writer reads what lies between from the database first.
//!
//! A commit costs a flush of the disk however many events it holds. Producers
//! that wait for their acknowledgement come back in a crowd when a commit is
//! done; a writer that began the next one with the first of them would leave
//! the rest to the commit after it, and run at half the rate for ever. So it
//! waits for as many as were there before, for a moment that is short beside a
//! commit.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use missiond_core::{Seq, TimelineEvent};
use missiond_store::timeline::{self, NewEvent, Page};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::{Backoff, Shared, TimelineError};

/// Ephemeral events are told at most this often.
const EPHEMERAL_PAUSE: Duration = Duration::from_millis(25);

/// The share of a commit's time that is worth waiting for a fuller one, and the
/// most it may be.
const GATHER_SHARE: u32 = 8;
const GATHER_LIMIT: Duration = Duration::from_millis(1);

/// How long events that nobody waits for are kept for others to come along.
const COMPANY: Duration = Duration::from_millis(25);

/// Events read at a time while closing a gap.
const GAP_PAGE: u32 = 1000;

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) event: NewEvent,
    /// Absent when nobody waits.
    pub(super) done: Option<Done>,
}

pub(super) type Done = oneshot::Sender<Result<Arc<TimelineEvent>, TimelineError>>;

pub(super) struct Writer {
    shared: Arc<Shared>,
    queue: mpsc::Receiver<Pending>,
    batch: usize,
    /// How many were acknowledged by the last commit or had queued up during
    /// it: as many may come at once again.
    crowd: usize,
    last_commit: Duration,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, queue: mpsc::Receiver<Pending>, batch: usize) -> Self {
        Self {
            shared,
            queue,
            batch,
            crowd: 0,
            last_commit: Duration::ZERO,
        }
    }

    pub(super) async fn run(mut self) {
        let mut batch = Vec::with_capacity(self.batch);
        let mut hints = self.shared.db.head_hints();
        let mut hints_open = true;
        let mut heard_of = self.shared.head();
        let mut trouble = Backoff::default();
        let retry = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(retry);
        let ephemeral_due = tokio::time::sleep_until(Instant::now());
        tokio::pin!(ephemeral_due);
        let mut ephemeral_waiting = false;
        let shared = Arc::clone(&self.shared);
        loop {
            tokio::select! {
                received = self.queue.recv_many(&mut batch, self.batch) => {
                    if received == 0 {
                        break;
                    }
                    self.await_company(&mut batch).await;
                    self.gather(&mut batch).await;
                    let began = Instant::now();
                    let waiting = batch.iter().filter(|pending| pending.done.is_some());
                    let acknowledged = waiting.count();
                    self.store(&mut batch).await;
                    self.last_commit = began.elapsed();
                    self.crowd = acknowledged + self.queue.len();
                }
                () = shared.ephemeral.arrived(), if !ephemeral_waiting => {
                    ephemeral_waiting = true;
                }
                () = &mut ephemeral_due, if ephemeral_waiting => {
                    ephemeral_waiting = false;
                    self.broadcast_ephemeral();
                    ephemeral_due.as_mut().reset(Instant::now() + EPHEMERAL_PAUSE);
                }
                changed = hints.changed(), if hints_open => {
                    hints_open = changed.is_ok();
                    heard_of = heard_of.max(*hints.borrow_and_update());
                    self.close_gap(heard_of).await;
                    retry.as_mut().reset(Instant::now() + trouble.next_delay());
                }
                // What could not be read then: on a quiet database no other
                // event would bring it to mind again.
                () = &mut retry, if self.shared.head() < heard_of => {
                    self.close_gap(heard_of).await;
                    retry.as_mut().reset(Instant::now() + trouble.next_delay());
                }
            }
        }
        self.broadcast_ephemeral();
    }

    /// Keeps events that nobody waits for until one comes that somebody does
    /// wait for, or for a moment.
    async fn await_company(&mut self, batch: &mut Vec<Pending>) {
        let until = Instant::now() + COMPANY;
        let mut is_waited_for = batch.iter().any(|pending| pending.done.is_some());
        while batch.len() < self.batch && !is_waited_for {
            match tokio::time::timeout_at(until, self.queue.recv()).await {
                Ok(Some(pending)) => {
                    is_waited_for = pending.done.is_some();
                    batch.push(pending);
                }
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Waits for the rest of the crowd. Yielding lets the producers that were
    /// just acknowledged run first; a timer would be coarser than the wait.
    async fn gather(&mut self, batch: &mut Vec<Pending>) {
        let target = self.crowd.min(self.batch);
        let patience = (self.last_commit / GATHER_SHARE).min(GATHER_LIMIT);
        let began = Instant::now();
        while batch.len() < target && began.elapsed() < patience {
            tokio::task::yield_now().await;
            while batch.len() < self.batch
                && let Ok(pending) = self.queue.try_recv()
            {
                batch.push(pending);
            }
        }
    }

    async fn store(&self, batch: &mut Vec<Pending>) {
        let (events, waiting): (Vec<_>, Vec<Option<Done>>) = batch
            .drain(..)
            .map(|pending| (pending.event, pending.done))
            .unzip();
        match self.shared.db.append(&events).await {
            Ok(places) => {
                self.shared.metrics.events_stored.add(places.len() as u64);
                if let Some(first) = places.first() {
                    self.close_gap(Seq(first.0 - 1)).await;
                }
                for ((event, seq), done) in events.into_iter().zip(places).zip(waiting) {
                    let event = Arc::new(event.at_seq(seq));
                    if seq > self.shared.head() {
                        self.shared.broadcast(Arc::clone(&event));
                    }
                    // The producer may have gone; the event is stored all the same.
                    if let Some(done) = done {
                        let _ = done.send(Ok(event));
                    }
                }
            }
            Err(error) => {
                tracing::error!(%error, events = waiting.len(), "events not stored");
                let error = TimelineError::Store(Arc::new(error));
                for done in waiting.into_iter().flatten() {
                    let _ = done.send(Err(error.clone()));
                }
            }
        }
    }

    /// Broadcasts what is stored between the last broadcast and `to`.
    async fn close_gap(&self, to: Seq) {
        while self.shared.head() < to {
            let after = self.shared.head();
            let page = self
                .shared
                .db
                .read(move |tx| Box::pin(timeline::read_after(tx, after, GAP_PAGE)))
                .await;
            match page {
                Ok(Page {
                    events,
                    reached: Some(reached),
                    ..
                }) => {
                    for event in events {
                        self.shared.broadcast(Arc::new(event));
                    }
                    // Past what this version cannot read.
                    self.shared.head.fetch_max(reached.0, Ordering::AcqRel);
                }
                Ok(Page { reached: None, .. }) => return,
                Err(error) => {
                    // Listeners notice the hole by the next `seq` and read it
                    // for themselves.
                    tracing::warn!(%error, "events of other daemons not read");
                    return;
                }
            }
        }
    }

    fn broadcast_ephemeral(&self) {
        for event in self.shared.ephemeral.drain() {
            self.shared.broadcast(Arc::new(event));
        }
    }
}
