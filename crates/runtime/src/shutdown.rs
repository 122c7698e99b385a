//! The way down: what asks for it, and who waits for whom.
//!
//! The daemon first drains (it takes nothing new and finishes what it has
//! begun), then closes. Both are states that any part can wait for.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// How far the way down has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Running,
    /// Finish what was begun, take nothing new.
    Draining,
    /// Close now.
    Closing,
}

#[derive(Debug, Clone)]
pub struct Shutdown {
    stage: watch::Sender<(Stage, String)>,
    begun: Arc<OnceLock<Instant>>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self {
            stage: watch::Sender::new((Stage::Running, String::new())),
            begun: Arc::default(),
        }
    }
}

impl Shutdown {
    /// Begins the way down; a second request changes nothing.
    pub fn begin(&self, reason: &str) {
        self.stage.send_if_modified(|(stage, why)| {
            let first = *stage == Stage::Running;
            if first {
                let _ = self.begun.set(Instant::now());
                *stage = Stage::Draining;
                reason.clone_into(why);
            }
            first
        });
    }

    pub fn close(&self) {
        self.stage.send_modify(|(stage, _)| *stage = Stage::Closing);
    }

    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage.borrow().0
    }

    #[must_use]
    pub fn reason(&self) -> String {
        self.stage.borrow().1.clone()
    }

    /// How long ago the way down began; nothing while it has not.
    #[must_use]
    pub fn since(&self) -> Duration {
        self.begun.get().map(Instant::elapsed).unwrap_or_default()
    }

    /// Returns when the stage is reached.
    pub async fn reached(&self, wanted: Stage) {
        // The sender lives in `self`, so the wait cannot fail.
        let _ = self
            .stage
            .subscribe()
            .wait_for(|(stage, _)| *stage >= wanted)
            .await;
    }
}
