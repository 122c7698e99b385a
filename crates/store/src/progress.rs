//! What a database handle has seen happen: how far the timeline goes, how much
//! was committed, and whether a part of the store itself broke.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use missiond_core::{Seq, panic_message};
use tokio::sync::watch;

/// Counts since the handle was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStats {
    /// Transactions committed by this handle. One may hold the work of many callers.
    pub commits: u64,
    /// Timeline events appended by this handle.
    pub appended: u64,
}

#[derive(Debug)]
pub(crate) struct Progress {
    head: watch::Sender<Seq>,
    commits: AtomicU64,
    appended: AtomicU64,
    failure: watch::Sender<Option<String>>,
}

impl Progress {
    pub(crate) fn starting_at(head: Seq) -> Self {
        Self {
            head: watch::Sender::new(head),
            commits: AtomicU64::new(0),
            appended: AtomicU64::new(0),
            failure: watch::Sender::new(None),
        }
    }

    /// Runs a part of the store on this thread. A panic in it is kept for
    /// whoever waits for [`Self::failed`].
    pub(crate) fn guard(&self, part: &str, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.fail(part, panic.as_ref());
        }
    }

    /// The same for a part that is a task.
    pub(crate) async fn guard_task(&self, part: &str, work: impl Future<Output = ()>) {
        if let Err(panic) = AssertUnwindSafe(work).catch_unwind().await {
            self.fail(part, panic.as_ref());
        }
    }

    fn fail(&self, part: &str, panic: &(dyn Any + Send)) {
        let why = format!("{part} panicked: {}", panic_message(panic));
        tracing::error!(part, error = why, "store failed");
        self.failure.send_replace(Some(why));
    }

    /// Waits until a part of the store has failed; returns what it was.
    pub(crate) fn failed(&self) -> impl Future<Output = String> + Send + use<> {
        let mut failure = self.failure.subscribe();
        async move {
            let failed = failure.wait_for(Option::is_some).await;
            let why = failed.ok().and_then(|why| why.clone());
            match why {
                Some(why) => why,
                // The handle is gone, and with it whatever could fail.
                None => std::future::pending().await,
            }
        }
    }

    /// A commit of ours is durable; the timeline now ends at `head` if it moved.
    pub(crate) fn committed(&self, head: Option<Seq>) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        if let Some(head) = head {
            self.observe_head(head);
        }
    }

    pub(crate) fn appended(&self, events: usize) {
        self.appended.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// Someone said the timeline reaches `head`. Word may arrive out of order.
    pub(crate) fn observe_head(&self, head: Seq) {
        self.head.send_if_modified(|known| {
            let newer = head > *known;
            *known = head.max(*known);
            newer
        });
    }

    pub(crate) fn head_hints(&self) -> watch::Receiver<Seq> {
        self.head.subscribe()
    }

    pub(crate) fn stats(&self) -> StoreStats {
        StoreStats {
            commits: self.commits.load(Ordering::Relaxed),
            appended: self.appended.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_part_that_panics_is_told_to_whoever_waits() {
        let progress = Progress::starting_at(Seq(0));
        let failed = progress.failed();
        progress.guard("a part that is well", || ());
        progress
            .guard_task("the writer", async { panic!("no ink") })
            .await;
        assert_eq!(failed.await, "the writer panicked: no ink");
    }
}
