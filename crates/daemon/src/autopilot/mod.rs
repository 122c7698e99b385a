//! The autopilot: tasks of the board are claimed, worked on by agents in slots,
//! checked, brought back and done, without anybody watching.
//!
//! A pass gathers what is known ([`view`]), decides what comes next
//! ([`decide`]) and begins it as a job ([`jobs`]); it never waits for an agent.
//! Passes follow events, reports of jobs and a tick. Everything a pass needs is
//! in the database, the journals and the worktrees, so a daemon that takes over
//! goes on where the one before it died.

mod decide;
mod extract;
mod gather;
mod holds;
mod jobs;
mod limits;
mod memory;
mod mode;
mod places;
mod prompts;
mod runner;
mod usage;
pub(crate) mod view;
mod watch;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::state::Daemon;

pub(crate) use memory::Remembered;
pub(crate) use mode::ModeError;
pub(crate) use view::Mode;

/// The way to the autopilot of this daemon.
#[derive(Debug, Default)]
pub(crate) struct Autopilot {
    wake: Notify,
    /// Held from when the work was seen to stand on its target until the target
    /// has it: nobody else of this daemon moves a target in between.
    integrating: tokio::sync::Mutex<()>,
    /// Names of slots that agents are being started in.
    names: Mutex<HashSet<String>>,
    runner: Mutex<Option<JoinHandle<()>>>,
    remembered: Mutex<Option<Remembered>>,
}

impl Autopilot {
    /// Has a look at the board soon: something has changed.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// What the memory stage found last.
    pub(crate) fn remembered(&self) -> MutexGuard<'_, Option<Remembered>> {
        let remembered = self.remembered.lock();
        remembered.unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> MutexGuard<'_, HashSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up what an earlier daemon left and goes on from there.
    pub(crate) fn start(&self, daemon: &Daemon) {
        let runner = tokio::spawn(runner::run(Arc::clone(daemon)));
        *self.runner.lock().unwrap_or_else(PoisonError::into_inner) = Some(runner);
    }

    /// Lets go of everything. Agents go on; jobs that are cut off are begun again
    /// by the next daemon.
    pub(crate) async fn let_go(&self) {
        let runner = self
            .runner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(runner) = runner {
            runner.abort();
            let _ = runner.await;
        }
    }
}
