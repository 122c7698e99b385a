//! One repository: its map, and the passes that keep it current.
//!
//! A question asked at a moment is answered from a pass that began after it. When
//! one is under way already, the next begins as soon as it ends, and serves
//! everyone who asked meanwhile.

use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures::FutureExt;
use missiond_codemap::{Checkout, CodeIndex, FORMAT, FileChange, Limits, Progress, scan};
use missiond_core::{Event, Timestamp, TraceContext};
use missiond_runtime::{OnPanic, blocking};
use missiond_store::code;
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use tokio::sync::{mpsc, watch};

use super::meaning::{MeaningStatus, Meanings};
use super::{CodeMapError, Shared, beacons, number_of, persistence};

/// Batches between the threads that read and the one that keeps.
const WAITING_BATCHES: usize = 4;

#[derive(Debug)]
pub struct Repository {
    pub checkout: Checkout,
    pub id: i64,
    pub family: i64,
    pub shared: Arc<Shared>,
    index: RwLock<CodeIndex>,
    pub(super) meanings: Meanings,
    passes: Mutex<Passes>,
    /// How many passes have ended.
    ended: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Passes {
    begun: u64,
    running: Option<Arc<Progress>>,
    /// Another one was asked for while one runs.
    again: bool,
    stopped: bool,
    /// A model reads what was found.
    understanding: bool,
    loaded: bool,
    /// A whole pass has ended, of this daemon or an earlier one.
    complete: bool,
    checked_at: Option<Timestamp>,
    last: Option<Result<Pass, String>>,
}

/// What a pass came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pass {
    pub changed: u32,
    pub gone: u32,
    pub beyond: u32,
    pub took: Duration,
}

/// How current a map is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fresh {
    Current,
    Updating {
        read: u32,
        to_read: u32,
    },
    Failed(String),
    /// Nobody looked.
    Unchecked,
}

/// What is known without looking at the files.
#[derive(Debug, Clone)]
pub struct Status {
    pub fresh: Fresh,
    pub checked_at: Option<Timestamp>,
    pub last: Option<Pass>,
    pub meaning: MeaningStatus,
}

impl Repository {
    pub(super) fn new(
        checkout: Checkout,
        checked_at: Option<Timestamp>,
        shared: Arc<Shared>,
    ) -> Self {
        let passes = Passes {
            checked_at,
            complete: checked_at.is_some(),
            ..Passes::default()
        };
        Self {
            id: number_of(&shared.host, &checkout.root),
            family: number_of(&shared.host, &checkout.family),
            checkout,
            shared,
            index: RwLock::default(),
            meanings: Meanings::default(),
            passes: Mutex::new(passes),
            ended: watch::Sender::new(0),
        }
    }

    /// For threads that may wait.
    pub fn index(&self) -> RwLockReadGuard<'_, CodeIndex> {
        self.index.read()
    }

    pub fn root(&self) -> String {
        self.checkout.root.display().to_string()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.lock().complete
    }

    /// Whether something is still being done for it.
    pub(super) fn is_busy(&self) -> bool {
        let passes = self.lock();
        passes.running.is_some() || passes.understanding
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    pub fn status(&self) -> Status {
        let passes = self.lock();
        let fresh = match (&passes.running, &passes.last) {
            (Some(progress), _) => updating(progress),
            (None, Some(Err(reason))) => Fresh::Failed(reason.clone()),
            (None, _) => Fresh::Unchecked,
        };
        Status {
            fresh,
            checked_at: passes.checked_at,
            last: passes
                .last
                .as_ref()
                .and_then(|last| last.as_ref().ok())
                .copied(),
            meaning: self.meanings.status(),
        }
    }

    /// Has a pass made that begins now or later, and waits for its end, for so
    /// long at most.
    pub async fn refresh(self: &Arc<Self>, patience: Duration) -> Result<Fresh, CodeMapError> {
        let mut ended = self.ended.subscribe();
        let wanted = self.begin();
        let waiting = ended.wait_for(|ended| *ended >= wanted);
        let in_time = tokio::time::timeout(patience, waiting).await.is_ok();
        // The map of an earlier daemon is read first of all; without it there is
        // nothing to answer from.
        let passes = self.lock();
        Ok(match (&passes.running, &passes.last) {
            (Some(progress), _) if !in_time => updating(progress),
            (_, Some(Err(reason))) => Fresh::Failed(reason.clone()),
            _ => Fresh::Current,
        })
    }

    /// Reads what an earlier daemon kept, once.
    pub async fn load(self: &Arc<Self>) -> Result<(), CodeMapError> {
        if self.lock().loaded {
            return Ok(());
        }
        let id = self.id;
        let (host, root) = (self.shared.host.clone(), self.root());
        self.shared
            .db
            .write(move |tx| {
                Box::pin(async move { code::begin(tx, id, &host, &root, FORMAT).await })
            })
            .await?;
        let mut after: Option<String> = None;
        loop {
            let from = after.clone();
            let page = self.shared.db.read(move |tx| {
                Box::pin(async move { code::files(tx, id, from.as_deref()).await })
            });
            let page = page.await?;
            let Some(last) = page.last() else { break };
            after = Some(last.path.clone());
            let this = Arc::clone(self);
            blocking(move || {
                let mut index = this.index.write();
                for row in page {
                    if index.has_file(&row.path) {
                        continue;
                    }
                    // A row of another build is as good as none.
                    if let Some(file) = persistence::from_row(row) {
                        index.apply(FileChange::Changed(Box::new(file)));
                    }
                }
            })
            .await;
        }
        self.lock().loaded = true;
        Ok(())
    }

    /// Forgets the map, in memory and in the store.
    pub async fn forget(self: &Arc<Self>) -> Result<(), CodeMapError> {
        // A model may go on reading: it looks again after the next pass.
        if self.lock().running.is_some() {
            return Err(CodeMapError::Busy(self.root()));
        }
        let id = self.id;
        let forget = self
            .shared
            .db
            .write(move |tx| Box::pin(code::forget(tx, id)));
        forget.await?;
        *self.index.write() = CodeIndex::default();
        let mut passes = self.lock();
        (passes.loaded, passes.complete, passes.checked_at) = (false, false, None);
        Ok(())
    }

    pub(super) async fn stop(self: &Arc<Self>) {
        let mut ended = self.ended.subscribe();
        let wanted = {
            let mut passes = self.lock();
            passes.stopped = true;
            if let Some(progress) = &passes.running {
                progress.stop();
            }
            passes.begun
        };
        let _ = ended.wait_for(|ended| *ended >= wanted).await;
    }

    /// The number of the pass that will have seen everything as it is now.
    fn begin(self: &Arc<Self>) -> u64 {
        let mut passes = self.lock();
        if passes.stopped {
            return 0;
        }
        if passes.running.is_some() {
            passes.again = true;
            return passes.begun + 1;
        }
        passes.begun += 1;
        passes.running = Some(Arc::default());
        let (subject, pass) = (Some(self.root()), Arc::clone(self).run());
        let supervisor = &self.shared.supervisor;
        supervisor.spawn("code map", subject, OnPanic::Report, pass);
        passes.begun
    }

    async fn run(self: Arc<Self>) {
        loop {
            let progress = self.lock().running.clone().unwrap_or_default();
            let began = Instant::now();
            // Whoever waits for this pass is told of a panic, and the next may begin.
            let result = AssertUnwindSafe(self.pass(&progress, began))
                .catch_unwind()
                .await;
            let result = result.unwrap_or_else(|panic| {
                let supervisor = &self.shared.supervisor;
                supervisor.report("code map pass", Some(self.root()), panic.as_ref());
                Err(CodeMapError::Panicked)
            });
            if let Err(error) = &result {
                tracing::warn!(root = %self.root(), %error, "code map pass failed");
            }
            let now = self.shared.clock.now();
            let again = {
                let mut passes = self.lock();
                if result.is_ok() {
                    (passes.complete, passes.checked_at) = (true, Some(now));
                }
                passes.last = Some(result.map_err(|error| error.to_string()));
                let again = std::mem::take(&mut passes.again) && !passes.stopped;
                passes.running = again.then(Arc::default);
                passes.begun += u64::from(again);
                again
            };
            self.ended.send_modify(|ended| *ended += 1);
            if !again {
                return self.understand_beside();
            }
        }
    }

    /// Has a model read what passes found, unless one is at it: then it looks
    /// again when it is done.
    fn understand_beside(self: &Arc<Self>) {
        if std::mem::replace(&mut self.lock().understanding, true) {
            return;
        }
        let this = Arc::clone(self);
        let reading = async move {
            let mut seen = None;
            loop {
                let ended = *this.ended.borrow();
                if seen == Some(ended) || this.is_stopped() {
                    break;
                }
                seen = Some(ended);
                let understood = AssertUnwindSafe(this.understand()).catch_unwind().await;
                let understood = understood.unwrap_or_else(|panic| {
                    let supervisor = &this.shared.supervisor;
                    supervisor.report("code reading", Some(this.root()), panic.as_ref());
                    Err(CodeMapError::Panicked)
                });
                if let Err(error) = understood {
                    tracing::warn!(root = %this.root(), %error, "code embedding unavailable, searching by words alone");
                    break;
                }
            }
            this.lock().understanding = false;
        };
        let subject = Some(self.root());
        let supervisor = &self.shared.supervisor;
        supervisor.spawn("code reading", subject, OnPanic::Report, reading);
    }

    async fn pass(
        self: &Arc<Self>,
        progress: &Arc<Progress>,
        began: Instant,
    ) -> Result<Pass, CodeMapError> {
        let _one = self.shared.passes.acquire().await;
        self.load().await?;
        let (tell, mut told) = mpsc::channel::<Vec<FileChange>>(WAITING_BATCHES);
        let (this, seen) = (Arc::clone(self), Arc::clone(progress));
        let reading = tokio::task::spawn_blocking(move || {
            let known = this.index().known_files();
            scan(
                &this.checkout.root,
                &known,
                &Limits::default(),
                &seen,
                &mut |batch| match tell.blocking_send(batch) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                },
            )
        });
        let mut pass = Pass::default();
        while let Some(batch) = told.recv().await {
            self.apply_batch(batch, &mut pass).await?;
            self.shared.timeline.publish(
                Event::WorkerProgress {
                    worker: format!("code map of {}", self.root()),
                    done: progress.read.load(Ordering::Relaxed).into(),
                    total: Some(progress.to_read.load(Ordering::Relaxed).into()),
                },
                TraceContext::root(),
            );
        }
        match reading.await {
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            read => read.map_err(|_| CodeMapError::Panicked)??,
        };
        pass.beyond = progress.beyond.load(Ordering::Relaxed);
        pass.took = began.elapsed();
        let (id, now) = (self.id, self.shared.clock.now());
        let checked = self
            .shared
            .db
            .write(move |tx| Box::pin(code::checked(tx, id, now)));
        checked.await?;
        if pass.changed + pass.gone > 0 {
            self.publish(&pass).await;
        }
        beacons::follow_all(self).await?;
        Ok(pass)
    }

    /// Keeps what was read: in memory, and in the store for the next daemon.
    async fn apply_batch(
        self: &Arc<Self>,
        batch: Vec<FileChange>,
        pass: &mut Pass,
    ) -> Result<(), CodeMapError> {
        let this = Arc::clone(self);
        let (changes, changed, gone) = blocking(move || {
            let mut index = this.index.write();
            let (mut changes, mut changed, mut gone) = (Vec::new(), 0, 0);
            for news in batch {
                if !index.is_new(&news) {
                    continue;
                }
                changed += u32::from(matches!(news, FileChange::Changed(_)));
                gone += u32::from(matches!(news, FileChange::Gone { .. }));
                changes.push(persistence::change(&news));
                index.apply(news);
            }
            (changes, changed, gone)
        })
        .await;
        pass.changed += changed;
        pass.gone += gone;
        let id = self.id;
        let kept = self.shared.db.write(move |tx| {
            Box::pin(async move {
                for change in &changes {
                    change.store(tx, id).await?;
                }
                Ok(())
            })
        });
        Ok(kept.await?)
    }

    async fn publish(self: &Arc<Self>, pass: &Pass) {
        let this = Arc::clone(self);
        let counts = blocking(move || this.index().counts()).await;
        let event = Event::CodeIndexed {
            root: self.root(),
            changed: pass.changed,
            gone: pass.gone,
            files: counts.files,
            symbols: counts.symbols,
            millis: u64::try_from(pass.took.as_millis()).unwrap_or(u64::MAX),
        };
        let stored = self
            .shared
            .timeline
            .record(event, TraceContext::root())
            .await;
        if let Err(error) = stored {
            tracing::warn!(%error, "code map pass not recorded on timeline");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Passes> {
        self.passes.lock()
    }
}

fn updating(progress: &Progress) -> Fresh {
    Fresh::Updating {
        read: progress.read.load(Ordering::Relaxed),
        to_read: progress.to_read.load(Ordering::Relaxed),
    }
}
