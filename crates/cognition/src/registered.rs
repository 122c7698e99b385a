//! A worker with what this daemon knows of it: what it has at hand, what it has done since
//! the start, and the last of that in words.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use missiond_core::{Timestamp, WorkerSwitch};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::control::ControlTree;
use crate::worker::{BackgroundWorker, Trigger, WorkerSpec};

/// Runs that are remembered.
const REMEMBERED: usize = 200;

#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) worker: Arc<dyn BackgroundWorker>,
    /// Told to look now.
    pub(crate) wanted: Notify,
    at_hand: watch::Sender<u32>,
    done: Mutex<Done>,
}

#[derive(Debug, Default)]
struct Done {
    totals: Totals,
    runs: VecDeque<Run>,
}

/// What a worker has done in this daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Units that did something.
    pub done: u64,
    /// Looks that found nothing to do.
    pub idle: u64,
    pub failed: u64,
    /// How often in a row it has failed; 0 when it is well.
    pub failing: u32,
    /// Time at work.
    pub busy: Duration,
}

/// One unit that did something, or failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub began_at: Timestamp,
    pub took: Duration,
    /// Empty for a look.
    pub subject: String,
    pub ended: RunEnd,
    /// What it did, or why it failed.
    pub said: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    Done,
    /// It is tried again.
    Failed,
    /// It was given up.
    Dead,
}

impl RunEnd {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Dead => "dead",
        }
    }
}

/// A unit that is at hand until this is dropped.
#[derive(Debug)]
pub(crate) struct AtHand(Arc<Registered>);

impl Drop for AtHand {
    fn drop(&mut self) {
        self.0.at_hand.send_modify(|count| *count -= 1);
    }
}

impl Registered {
    pub(crate) fn new(worker: Arc<dyn BackgroundWorker>) -> Self {
        Self {
            worker,
            wanted: Notify::new(),
            at_hand: watch::Sender::new(0),
            done: Mutex::default(),
        }
    }

    pub(crate) fn spec(&self) -> &WorkerSpec {
        self.worker.spec()
    }

    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.spec().trigger, Trigger::Events { .. })
    }

    pub(crate) fn may_work(&self, tree: &ControlTree) -> bool {
        let spec = self.spec();
        tree.standing(spec.name, spec.kind, spec.domain).switch == WorkerSwitch::Running
    }

    pub(crate) fn begin(self: &Arc<Self>) -> AtHand {
        self.at_hand.send_modify(|count| *count += 1);
        AtHand(Arc::clone(self))
    }

    pub(crate) fn at_hand(&self) -> u32 {
        *self.at_hand.borrow()
    }

    /// Returns when it has nothing at hand.
    pub(crate) async fn rested(&self) {
        let mut at_hand = self.at_hand.subscribe();
        // The sender is in `self`.
        let _ = at_hand.wait_for(|count| *count == 0).await;
    }

    pub(crate) fn record_idle(&self, took: Duration) {
        let mut done = self.done.lock();
        done.totals.idle += 1;
        done.totals.busy += took;
        done.totals.failing = 0;
    }

    pub(crate) fn record(&self, run: Run) {
        let mut done = self.done.lock();
        done.totals.busy += run.took;
        if run.ended == RunEnd::Done {
            done.totals.done += 1;
            done.totals.failing = 0;
        } else {
            done.totals.failed += 1;
            done.totals.failing += 1;
        }
        // A failure that goes on is one line, not two hundred.
        let again = |last: &Run| {
            run.ended != RunEnd::Done && (&last.said, &last.subject) == (&run.said, &run.subject)
        };
        if done.runs.back().is_some_and(again) {
            done.runs.pop_back();
        }
        if done.runs.len() == REMEMBERED {
            done.runs.pop_front();
        }
        done.runs.push_back(run);
    }

    pub(crate) fn totals(&self) -> Totals {
        self.done.lock().totals.clone()
    }

    /// The newest first.
    pub(crate) fn runs(&self, limit: usize) -> Vec<Run> {
        let done = self.done.lock();
        done.runs.iter().rev().take(limit).cloned().collect()
    }

    pub(crate) fn last_run(&self) -> Option<Run> {
        self.done.lock().runs.back().cloned()
    }
}
