//! Switching the autopilot on and off. The mode is in the database and on the
//! timeline: it holds for every daemon that shares them, and after a crash.

use missiond_core::{Event, TraceContext};
use missiond_store::{StoreError, autopilot};
use missiond_timeline::TimelineError;

use crate::shared::Shared;
use crate::view::Mode;

#[derive(Debug, thiserror::Error)]
pub enum ModeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Timeline(#[from] TimelineError),
}

impl Shared {
    /// Whether this changed anything.
    pub(crate) async fn set_mode(
        &self,
        mode: Mode,
        reason: &str,
        by: &str,
        trace: TraceContext,
    ) -> Result<bool, ModeError> {
        let now = self.clock.now();
        let (why, who) = (reason.to_owned(), by.to_owned());
        let changed = self
            .db
            .write(move |tx| {
                Box::pin(
                    async move { autopilot::set_mode(tx, mode.as_str(), &why, &who, now).await },
                )
            })
            .await?;
        if changed {
            let changed = Event::AutopilotChanged {
                mode: mode.as_str().to_owned(),
                by: by.to_owned(),
                reason: reason.to_owned(),
            };
            self.timeline.record(changed, trace).await?;
            self.wake();
        }
        Ok(changed)
    }
}
