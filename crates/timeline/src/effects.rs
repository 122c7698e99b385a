//! Events that tell the effect of an execution: each stands on the timeline once,
//! however often a daemon that died left it to be told.

use missiond_core::{Event, ExecutionId, TraceContext};
use missiond_store::published_effects::{self, EffectPublication};
use missiond_store::{NewEvent, StoreError};

use super::Timeline;

impl Timeline {
    /// Tells an effect, unless it was told before. When this returns, its event
    /// is committed, by this daemon or the one before.
    pub async fn record_effect(
        &self,
        execution: ExecutionId,
        effect: String,
        event: Event,
        trace: TraceContext,
    ) -> Result<EffectPublication, StoreError> {
        let event = NewEvent::new(self.shared.clock.now(), self.shared.daemon, trace, event)?;
        self.shared
            .db
            .write(move |tx| {
                Box::pin(
                    async move { published_effects::publish(tx, execution, &effect, &event).await },
                )
            })
            .await
    }
}
