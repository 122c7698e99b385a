//! The way down: what asks for it, and who waits for whom.
//!
//! The daemon first drains (it takes nothing new and finishes what it has
//! begun), then closes. Both are states that any part can wait for.

use tokio::sync::watch;

/// How far the way down has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Running,
    /// Finish what was begun, take nothing new.
    Draining,
    /// Close now.
    Closing,
}

#[derive(Debug, Clone)]
pub(crate) struct Shutdown(watch::Sender<(Stage, String)>);

impl Default for Shutdown {
    fn default() -> Self {
        Self(watch::Sender::new((Stage::Running, String::new())))
    }
}

impl Shutdown {
    /// Begins the way down; a second request changes nothing.
    pub(crate) fn begin(&self, reason: &str) {
        self.0.send_if_modified(|(stage, why)| {
            let first = *stage == Stage::Running;
            if first {
                *stage = Stage::Draining;
                reason.clone_into(why);
            }
            first
        });
    }

    pub(crate) fn close(&self) {
        self.0.send_modify(|(stage, _)| *stage = Stage::Closing);
    }

    #[must_use]
    pub(crate) fn stage(&self) -> Stage {
        self.0.borrow().0
    }

    #[must_use]
    pub(crate) fn reason(&self) -> String {
        self.0.borrow().1.clone()
    }

    /// Returns when the stage is reached.
    pub(crate) async fn reached(&self, wanted: Stage) {
        // The sender lives in `self`, so the wait cannot fail.
        let _ = self
            .0
            .subscribe()
            .wait_for(|(stage, _)| *stage >= wanted)
            .await;
    }
}
