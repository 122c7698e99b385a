//! The autopilot: tasks of the board are claimed, worked on by agents in slots,
//! checked, brought back and done, without anybody watching.
//!
//! A pass gathers what is known ([`view`]), decides what comes next
//! ([`decide`]) and begins it as a job ([`jobs`]); it never waits for an agent.
//! Passes follow events, reports of jobs and a tick. Everything a pass needs is
//! in the database, the journals and the worktrees, so a daemon that takes over
//! goes on where the one before it died.

pub mod board;
mod decide;
mod extract;
mod gather;
mod jobs;
mod limits_in_force;
mod memory;
mod mode;
mod prompts;
pub mod pull_requests;
mod runner;
mod shared;
mod slot_names;
mod trusted;
mod usage;
mod vendor_limits;
pub mod view;
mod watch;
pub mod worktrees;

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use missiond_core::{AttemptId, TraceContext};
use missiond_runtime::{Component, StartError, Supervisor, Tasks};
use missiond_store::StoreError;
use missiond_store::board::ReadyLimits;
use missiond_workspace::FoundPullRequest;
use parking_lot::MutexGuard;

use pull_requests::{HandOver, PullRequestError};
use shared::Shared;

pub use mode::ModeError;
pub use shared::{Doing, Parts, Remembered, StepUnderWay};
pub use view::Mode;

/// The way to the autopilot of this daemon.
#[derive(Debug)]
pub struct Autopilot {
    shared: Arc<Shared>,
    tasks: Tasks,
}

impl Autopilot {
    #[must_use]
    pub fn new(parts: Parts, supervisor: Supervisor) -> Self {
        Self {
            shared: Arc::new(Shared::new(parts, supervisor.clone())),
            tasks: Tasks::new(supervisor),
        }
    }

    /// Has a look at the board soon: something has changed.
    pub fn wake(&self) {
        self.shared.wake();
    }

    /// Switches it on, off or over; whether this changed anything.
    pub async fn set_mode(
        &self,
        mode: Mode,
        reason: &str,
        by: &str,
        trace: TraceContext,
    ) -> Result<bool, ModeError> {
        self.shared.set_mode(mode, reason, by, trace).await
    }

    /// The limits in force now, for whoever asks what is ready.
    pub async fn limits_in_force(&self) -> Result<ReadyLimits, StoreError> {
        self.shared.limits_in_force().await
    }

    /// What this daemon does for attempts at the moment, beside waiting for agents.
    pub fn steps_under_way(&self) -> HashMap<AttemptId, StepUnderWay> {
        self.shared.steps().clone()
    }

    /// Pushes work and opens a pull request for it, or asks how the one stands that it
    /// has.
    pub async fn hand_over(&self, work: &HandOver) -> Result<FoundPullRequest, PullRequestError> {
        pull_requests::hand_over(&self.shared, work).await
    }

    /// What the memory stage found last.
    pub fn remembered(&self) -> MutexGuard<'_, Option<Remembered>> {
        self.shared.remembered()
    }
}

impl Component for Autopilot {
    fn name(&self) -> &'static str {
        "autopilot"
    }

    /// Takes up what an earlier daemon left and goes on from there.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        let shared = Arc::clone(&self.shared);
        self.tasks
            .spawn_restarting("autopilot", move || runner::run(Arc::clone(&shared)));
        let config = self.shared.config.clone();
        self.tasks
            .spawn_restarting("trusted repositories", move || {
                trusted::follow(config.clone())
            });
        let shared = Arc::clone(&self.shared);
        self.tasks.spawn_restarting("pull requests", move || {
            pull_requests::watch(Arc::clone(&shared))
        });
        Box::pin(async { Ok(()) })
    }

    /// Agents go on; jobs that are cut off are begun again by the next daemon.
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.tasks.stop())
    }
}
