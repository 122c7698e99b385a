//! What sets workers to work: looks every so often, and units of the queue that are due.
//! Both ask the control tree at the last moment, and both keep a panic to the unit.

mod looks;
mod units;

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use missiond_core::{Clock, DaemonId, FencingToken, panic_message};
use missiond_runtime::Tasks;
use missiond_store::MissionDb;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::control::Control;
use crate::registered::Registered;
use crate::worker::{Unit, WorkError, Worked};

pub(crate) use looks::keep_looking;
pub(crate) use units::{dispatch, release_held};

/// What the loops share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) daemon: DaemonId,
    /// Names this home among those that share the database.
    pub(crate) home: String,
    pub(crate) db: MissionDb,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) control: Control,
    pub(crate) tasks: Tasks,
    pub(crate) workers: Vec<Arc<Registered>>,
    /// Units may have come, or a place become free.
    pub(crate) queued: Arc<Notify>,
    /// No unit begins any more.
    pub(crate) stopping: watch::Sender<bool>,
    /// Units this daemon holds.
    pub(crate) held: Mutex<HashMap<String, FencingToken>>,
    pub(crate) lease: Duration,
}

impl Shared {
    fn may_begin(&self, registered: &Registered) -> bool {
        !*self.stopping.borrow() && registered.may_work(&self.control.tree())
    }
}

/// Does a unit within its time; a panic in it is a failure with what it said.
async fn attempt(registered: &Registered, unit: Unit) -> Result<Worked, WorkError> {
    let longest = registered.spec().budget.longest;
    let work = AssertUnwindSafe(async { registered.worker.work(unit).await }).catch_unwind();
    match tokio::time::timeout(longest, work).await {
        Ok(Ok(worked)) => worked,
        Ok(Err(panic)) => Err(WorkError::passing(panicked(panic.as_ref()))),
        Err(_) => Err(WorkError::passing(format!(
            "it took longer than {} s",
            longest.as_secs_f32()
        ))),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    format!("it panicked: {}", panic_message(panic))
}

/// The pause after so many failures in a row: doubled by each, up to `most`, and a quarter
/// more or less, so that what failed together is not tried together.
fn pause_after(failures: u32, first: Duration, most: Duration) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    let pause = first.saturating_mul(1 << doublings).min(most);
    pause.mul_f64(0.75 + rand::random::<f64>() / 2.0)
}
