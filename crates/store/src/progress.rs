//! What a database handle has seen happen: how far the timeline goes and how
//! much was committed.

use std::sync::atomic::{AtomicU64, Ordering};

use missiond_core::Seq;
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
}

impl Progress {
    pub(crate) fn starting_at(head: Seq) -> Self {
        Self {
            head: watch::Sender::new(head),
            commits: AtomicU64::new(0),
            appended: AtomicU64::new(0),
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
