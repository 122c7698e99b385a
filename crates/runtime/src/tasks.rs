//! The tasks of one owner: spawned through the supervisor, ended together.

use std::future::Future;

use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::supervisor::{OnPanic, Supervisor};

/// Supervised tasks that end when their owner stops.
#[derive(Debug)]
pub struct Tasks {
    supervisor: Supervisor,
    running: Mutex<JoinSet<()>>,
}

impl Tasks {
    #[must_use]
    pub fn new(supervisor: Supervisor) -> Self {
        Self {
            supervisor,
            running: Mutex::default(),
        }
    }

    /// Runs a task of this owner.
    pub fn spawn<F>(&self, task: &'static str, subject: Option<String>, then: OnPanic, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let watched = self.supervisor.watch(task, subject, then, future);
        let mut running = self.running.lock();
        // Those that have ended were reported when they did.
        while running.try_join_next().is_some() {}
        running.spawn(watched);
    }

    /// Runs a task of this owner that is made anew after each panic, until it
    /// returns.
    pub fn spawn_restarting<F>(&self, task: &'static str, make: impl FnMut() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let supervisor = self.supervisor.clone();
        let watched = async move { supervisor.watch_restarting(task, make).await };
        self.running.lock().spawn(watched);
    }

    /// Ends every task; returns when none runs any more.
    pub async fn stop(&self) {
        let mut running = std::mem::take(&mut *self.running.lock());
        running.shutdown().await;
    }

    /// The supervisor behind them.
    #[must_use]
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shutdown::Shutdown;

    #[tokio::test]
    async fn a_panic_in_one_leaves_the_others_and_all_end_together() {
        let (supervisor, mut failures) = Supervisor::new(Shutdown::default());
        let tasks = Tasks::new(supervisor);
        let (alive, ended) = tokio::sync::oneshot::channel::<()>();
        tasks.spawn("steady", None, OnPanic::Report, async move {
            std::future::pending::<()>().await;
            drop(alive);
        });
        tasks.spawn("frail", None, OnPanic::Report, async { panic!("broke") });
        assert_eq!(
            failures.recv().await.map(|failure| failure.task),
            Some("frail")
        );
        tasks.stop().await;
        assert!(ended.await.is_err(), "the steady one was dropped");
    }
}
