//! What caused that a slot is there, as the database has it: asked where no event is at
//! hand that says so.

use missiond_core::{ExecutionId, SlotId, TraceContext};
use missiond_store::{causes, executions};

use crate::{Context, SlotsError};

impl Context {
    /// Where a slot began that an earlier daemon has told of.
    pub(super) async fn trace_of(&self, id: SlotId) -> Result<TraceContext, SlotsError> {
        let known = self.db.read(move |tx| Box::pin(causes::of_slot(tx, id)));
        Ok(known.await?)
    }

    /// The newest run in a slot, if it has one.
    pub(super) async fn execution_in(&self, id: SlotId) -> Option<ExecutionId> {
        let known = self
            .db
            .read(move |tx| Box::pin(executions::in_slot(tx, id)));
        let known = known.await.unwrap_or_else(|error| {
            tracing::warn!(slot = %id, %error, "run of slot not read");
            None
        });
        known.map(|run| run.id)
    }
}
