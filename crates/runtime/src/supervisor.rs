//! The one place where tasks are spawned.
//!
//! A task has a name, a subject it works for and a word on what a panic in it
//! means. Panics are caught where they happen, logged, and told to whoever
//! listens (the daemon makes incidents of them); then the task is started again,
//! the daemon is stopped, or the loss is accepted, as was said when it was
//! spawned.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures::FutureExt;
use missiond_core::panic_message;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::shutdown::Shutdown;

/// Failures that wait to be told. More at once are in the log alone.
const WAITING_FAILURES: usize = 64;

/// Between a panic and the next start, doubled by each panic in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A task that ran for so long did not fail in a row.
const STEADY: Duration = Duration::from_secs(60);

/// What a panic means beside a log line and an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnPanic {
    /// Only what the task worked for is lost; its owner cleans up.
    Report,
    /// It is started again, after a pause.
    Restart,
    /// Nothing can be promised without it: the daemon drains and stops.
    Shutdown,
}

impl OnPanic {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Restart => "restart",
            Self::Shutdown => "shutdown",
        }
    }
}

/// A task that panicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The name of the task.
    pub task: &'static str,
    /// What it worked for, when there are several of its kind.
    pub subject: Option<String>,
    pub panic: String,
    pub then: OnPanic,
}

/// Work that did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{task} did not come to its end; the daemon's log says why")]
pub struct Unfinished {
    task: &'static str,
}

/// A handle to the supervisor; clones share it.
#[derive(Debug, Clone)]
pub struct Supervisor {
    shutdown: Shutdown,
    failures: mpsc::Sender<Failure>,
}

impl Supervisor {
    /// A supervisor, and where it tells of failures.
    #[must_use]
    pub fn new(shutdown: Shutdown) -> (Self, mpsc::Receiver<Failure>) {
        let (failures, told) = mpsc::channel(WAITING_FAILURES);
        (Self { shutdown, failures }, told)
    }

    /// One for whoever has no daemon (a test, a bench): failures are in the log
    /// alone.
    #[must_use]
    pub fn standalone() -> Self {
        Self::new(Shutdown::default()).0
    }

    /// The way down of the daemon this belongs to.
    #[must_use]
    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    /// Runs a task that is not started again when it panics.
    pub fn spawn<F>(
        &self,
        task: &'static str,
        subject: Option<String>,
        then: OnPanic,
        future: F,
    ) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        tokio::spawn(self.watch(task, subject, then, future))
    }

    /// Runs a task that is made anew after each panic, until it returns.
    pub fn spawn_restarting<F>(
        &self,
        task: &'static str,
        make: impl FnMut() -> F + Send + 'static,
    ) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let this = self.clone();
        tokio::spawn(async move { this.watch_restarting(task, make).await })
    }

    /// Carries work to its end also when whoever asked for it goes away. A panic
    /// in it is reported, and an error for whoever still waits.
    pub async fn complete<F>(
        &self,
        task: &'static str,
        subject: Option<String>,
        work: F,
    ) -> Result<F::Output, Unfinished>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let answering = async move {
            // Nobody may be waiting any more.
            let _ = answer.send(work.await);
        };
        self.spawn(task, subject, OnPanic::Report, answering);
        answered.await.map_err(|_| Unfinished { task })
    }

    /// A future that ends where the given one ends or panics, for tasks that
    /// somebody else holds.
    pub fn watch<F>(
        &self,
        task: &'static str,
        subject: Option<String>,
        then: OnPanic,
        future: F,
    ) -> impl Future<Output = ()> + Send + use<F>
    where
        F: Future<Output = ()> + Send,
    {
        let this = self.clone();
        async move {
            if let Err(panic) = AssertUnwindSafe(future).catch_unwind().await {
                this.failed(task, subject, then, panic.as_ref());
            }
        }
    }

    /// Reports a panic that was caught by somebody who has to answer for it, and
    /// returns what it said.
    pub fn report(
        &self,
        task: &'static str,
        subject: Option<String>,
        panic: &(dyn Any + Send),
    ) -> String {
        self.failed(task, subject, OnPanic::Report, panic);
        panic_message(panic).to_owned()
    }

    /// Runs what is made, again after each panic, until it returns.
    pub(crate) async fn watch_restarting<F>(&self, task: &'static str, mut make: impl FnMut() -> F)
    where
        F: Future<Output = ()> + Send,
    {
        let mut pause = FIRST_PAUSE;
        loop {
            let began = Instant::now();
            let Err(panic) = AssertUnwindSafe(make()).catch_unwind().await else {
                return;
            };
            self.failed(task, None, OnPanic::Restart, panic.as_ref());
            if began.elapsed() > STEADY {
                pause = FIRST_PAUSE;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn failed(
        &self,
        task: &'static str,
        subject: Option<String>,
        then: OnPanic,
        panic: &(dyn Any + Send),
    ) {
        let panic = panic_message(panic).to_owned();
        tracing::error!(task, subject, panic, ?then, "task panicked");
        let failure = Failure {
            task,
            subject,
            panic,
            then,
        };
        if then == OnPanic::Shutdown {
            let reason = format!("{} panicked: {}", failure.task, failure.panic);
            self.shutdown.begin(&reason);
        }
        // A full queue means that failures are being told already.
        let _ = self.failures.try_send(failure);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::shutdown::Stage;

    #[tokio::test]
    async fn a_panic_is_reported_with_its_task_and_what_it_said() {
        let (supervisor, mut failures) = Supervisor::new(Shutdown::default());
        let subject = Some("slot-1".to_owned());
        let task = supervisor.spawn("slot", subject.clone(), OnPanic::Report, async {
            panic!("the screen is upside down");
        });
        task.await.unwrap();
        let expected = Failure {
            task: "slot",
            subject,
            panic: "the screen is upside down".to_owned(),
            then: OnPanic::Report,
        };
        assert_eq!(failures.recv().await, Some(expected));
        assert_eq!(supervisor.shutdown().stage(), Stage::Running);
    }

    #[tokio::test]
    async fn a_task_that_everything_needs_takes_the_daemon_down_with_a_reason() {
        let (supervisor, _failures) = Supervisor::new(Shutdown::default());
        let task = supervisor.spawn("writer", None, OnPanic::Shutdown, async { panic!("no") });
        task.await.unwrap();
        supervisor.shutdown().reached(Stage::Draining).await;
        assert_eq!(supervisor.shutdown().reason(), "writer panicked: no");
    }

    #[tokio::test]
    async fn work_is_completed_without_whoever_asked_for_it() {
        let (supervisor, _failures) = Supervisor::new(Shutdown::default());
        let (done, ended) = oneshot::channel();
        let mut asked = Box::pin(supervisor.complete("change", None, async move {
            tokio::task::yield_now().await;
            done.send(()).unwrap();
        }));
        assert!(futures::poll!(&mut asked).is_pending());
        drop(asked);
        ended.await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_in_work_that_is_waited_for_is_an_error_and_reported() {
        let (supervisor, mut failures) = Supervisor::new(Shutdown::default());
        let work = async { panic!("no ink") };
        let done: Result<(), _> = supervisor.complete("change", None, work).await;
        assert_eq!(done, Err(Unfinished { task: "change" }));
        let failure = failures.recv().await.map(|failure| failure.panic);
        assert_eq!(failure.as_deref(), Some("no ink"));
    }

    #[tokio::test]
    async fn a_task_is_started_again_until_it_returns() {
        let (supervisor, mut failures) = Supervisor::new(Shutdown::default());
        let starts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&starts);
        let task = supervisor.spawn_restarting("beat", move || {
            let start = counted.fetch_add(1, Ordering::Relaxed);
            async move { assert!(start >= 2, "start {start}") }
        });
        task.await.unwrap();
        assert_eq!(starts.load(Ordering::Relaxed), 3);
        for start in ["start 0", "start 1"] {
            assert_eq!(
                failures
                    .recv()
                    .await
                    .map(|failure| failure.panic)
                    .as_deref(),
                Some(start)
            );
        }
    }

    #[tokio::test]
    async fn more_failures_than_can_be_told_lose_nobody_else() {
        let (supervisor, mut failures) = Supervisor::new(Shutdown::default());
        for _ in 0..WAITING_FAILURES * 2 {
            let task = supervisor.spawn("job", None, OnPanic::Report, async { panic!() });
            task.await.unwrap();
        }
        let mut told = 0;
        while failures.try_recv().is_ok() {
            told += 1;
        }
        assert_eq!(told, WAITING_FAILURES);
    }
}
