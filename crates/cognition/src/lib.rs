//! Work that goes on without being asked: background workers, each of which can be listed,
//! paused and measured.
//!
//! A worker ([`BackgroundWorker`]) says what sets it to work and what one unit of that is.
//! Events become units of a durable queue ([`worker_units`](missiond_store::worker_units));
//! other workers look every so often, at what has a durable cursor of its own. What is
//! paused ([`ControlTree`]) loses nothing: its units wait in the queue, the rest in the
//! timeline and behind those cursors.

mod consumer;
mod control;
mod registered;
mod runner;
mod status;
mod worker;
pub mod workers;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{Clock, ControlNode, DaemonId};
use missiond_runtime::{Component, OnPanic, StartError, Supervisor, Tasks};
use missiond_store::{MissionDb, StoreError, worker_units};
use missiond_timeline::{Consumer, FollowError, Timeline};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use consumer::Queuer;
use registered::Registered;
use runner::Shared;

pub use control::{Control, ControlError, ControlTree, Standing, SwitchChange};
pub use registered::{Run, RunEnd, Totals};
pub use status::{WorkerError, WorkerStatus};
pub use worker::{
    BackgroundWorker, Budget, Effect, Passes, Scope, Trigger, Unit, WorkError, Worked, WorkerSpec,
};

/// How long a unit is a dead daemon's.
const LEASE: Duration = Duration::from_secs(60);
/// How long the units at hand have when the daemon stops.
const LAST_UNITS: Duration = Duration::from_secs(3);
/// How long units that were done are kept, and those that were given up.
const KEEP_DONE: Duration = Duration::from_secs(7 * 24 * 3600);
const KEEP_DEAD: Duration = Duration::from_secs(90 * 24 * 3600);
const FORGET_EVERY: Duration = Duration::from_secs(3600);
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// What workers are run with.
#[derive(Debug)]
pub struct Parts {
    pub daemon: DaemonId,
    /// Names this home among those that share the database.
    pub home: String,
    pub db: MissionDb,
    pub timeline: Timeline,
    pub clock: Arc<dyn Clock>,
    pub supervisor: Supervisor,
}

/// The workers of a daemon.
#[derive(Debug)]
pub struct Cognition {
    shared: Arc<Shared>,
    timeline: Timeline,
}

impl Cognition {
    #[must_use]
    pub fn new(parts: Parts, workers: Vec<Arc<dyn BackgroundWorker>>) -> Self {
        Self::with_lease(parts, workers, LEASE)
    }

    /// The same where a daemon that dies is to be noticed sooner.
    #[must_use]
    pub fn with_lease(
        parts: Parts,
        workers: Vec<Arc<dyn BackgroundWorker>>,
        lease: Duration,
    ) -> Self {
        let control = Control::new(
            parts.db.clone(),
            Arc::clone(&parts.clock),
            parts.daemon,
            parts.supervisor.clone(),
        );
        let registered = workers.into_iter().map(Registered::new).map(Arc::new);
        Self {
            shared: Arc::new(Shared {
                daemon: parts.daemon,
                home: parts.home,
                db: parts.db,
                clock: parts.clock,
                control,
                tasks: Tasks::new(parts.supervisor),
                workers: registered.collect(),
                queued: Arc::new(Notify::new()),
                stopping: watch::Sender::new(false),
                held: Mutex::default(),
                lease,
            }),
            timeline: parts.timeline,
        }
    }

    /// Those that turn events into units; they run as long as the timeline's consumers do.
    #[must_use]
    pub fn consumers(&self) -> Vec<Arc<dyn Consumer>> {
        let Shared {
            home,
            clock,
            queued,
            ..
        } = &*self.shared;
        let queuers = self.shared.workers.iter();
        let queuers = queuers.filter_map(|each| Queuer::of(each, home, clock, queued));
        queuers.map(|queuer| Arc::new(queuer) as _).collect()
    }

    /// What lets workers work, and pauses them.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.shared.control
    }

    /// Returns when no worker that a switch is for has a unit at hand.
    pub async fn rested(&self, node: &ControlNode) {
        for registered in &self.shared.workers {
            if concerns(node, registered) {
                registered.rested().await;
            }
        }
    }

    async fn begin(&self) -> Result<(), StoreError> {
        self.shared.control.reload().await?;
        let holder = self.shared.home.clone();
        let released = self
            .shared
            .db
            .write(move |tx| Box::pin(async move { worker_units::release_all(tx, &holder).await }));
        let released = released.await?;
        if released > 0 {
            tracing::info!(units = released, "units of background workers recovered");
        }
        let (shared, tasks) = (&self.shared, &self.shared.tasks);
        for registered in shared.workers.iter().filter(|each| !each.is_queued()) {
            let (shared, registered) = (Arc::clone(shared), Arc::clone(registered));
            tasks.spawn_restarting(registered.spec().name, move || {
                runner::keep_looking(Arc::clone(&shared), Arc::clone(&registered))
            });
        }
        let this = Arc::clone(shared);
        tasks.spawn_restarting("worker queue", move || runner::dispatch(Arc::clone(&this)));
        let this = Arc::clone(shared);
        tasks.spawn_restarting("worker history", move || forget_old(Arc::clone(&this)));
        let (timeline, control) = (self.timeline.clone(), shared.control.clone());
        tasks.spawn("worker switches", None, OnPanic::Report, async move {
            follow_switches(&timeline, &control).await;
        });
        Ok(())
    }
}

/// Whether a switch is for a worker.
fn concerns(node: &ControlNode, registered: &Registered) -> bool {
    let spec = registered.spec();
    match node {
        ControlNode::All => true,
        ControlNode::Worker(name) => name == spec.name,
        ControlNode::Kind(kind) => *kind == spec.kind,
        ControlNode::Domain(domain) => *domain == spec.domain,
    }
}

/// Takes into force what other daemons on the database were told.
async fn follow_switches(timeline: &Timeline, control: &Control) {
    let mut follower = timeline.follow();
    loop {
        match follower.next().await {
            Ok(event) if matches!(event.event, missiond_core::Event::WorkerSwitched { .. }) => {
                if let Err(error) = control.reload().await {
                    tracing::warn!(%error, "switches of workers not read");
                }
            }
            Ok(_) => {}
            Err(FollowError::Closed) => return,
            Err(error) => {
                tracing::warn!(%error, "timeline read failed, retrying");
                tokio::time::sleep(AFTER_TROUBLE).await;
            }
        }
    }
}

async fn forget_old(shared: Arc<Shared>) {
    loop {
        let now = shared.clock.now();
        let (done, dead) = (now.minus(KEEP_DONE), now.minus(KEEP_DEAD));
        let forgotten = shared
            .db
            .write(move |tx| Box::pin(worker_units::forget(tx, done, dead)));
        if let Err(error) = forgotten.await {
            tracing::warn!(%error, "old units of workers not deleted");
        }
        tokio::time::sleep(FORGET_EVERY).await;
    }
}

impl Component for Cognition {
    fn name(&self) -> &'static str {
        "background workers"
    }

    /// Takes up what an earlier daemon had at work, and begins.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        Box::pin(async move {
            let begun = self.begin().await;
            begun.map_err(|error| StartError::new(error.code(), error))
        })
    }

    /// Lets the units at hand come to their end, for a moment; what is broken off is given
    /// back.
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.shared.stopping.send_replace(true);
            let rested = self.rested(&ControlNode::All);
            if tokio::time::timeout(LAST_UNITS, rested).await.is_err() {
                tracing::warn!("units of background workers broken off");
            }
            self.shared.tasks.stop().await;
            runner::release_held(&self.shared).await;
        })
    }
}
