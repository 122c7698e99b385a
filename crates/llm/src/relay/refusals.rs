//! Agents that get no answer because a quota or the money is used up: on record for
//! whoever gives them work, until a later request is answered.

use missiond_core::{ExecutionId, Timestamp};
use missiond_store::llm::{self, Refusal};

use crate::Llm;
use crate::error::LlmError;

impl Llm {
    /// A request was refused; what of the reasons passes by itself or needs a person is
    /// put on record.
    pub(super) async fn refused(&self, execution: ExecutionId, error: &LlmError) {
        if let Some(until) = error.used_up() {
            self.record_refusal(execution, until, error.to_string())
                .await;
        }
    }

    /// Nothing is left for this agent until then, or until a person sees to it.
    pub(super) async fn record_refusal(
        &self,
        execution: ExecutionId,
        until: Option<Timestamp>,
        reason: String,
    ) {
        let refusal = Refusal {
            execution,
            refused_at: self.clock.now(),
            until,
            reason,
        };
        let written = self
            .ledger
            .db
            .write(move |tx| Box::pin(async move { llm::record_refusal(tx, &refusal).await }));
        match written.await {
            Ok(()) => {
                self.refused.lock().insert(execution);
            }
            Err(error) => tracing::error!(%execution, %error, "refusal of request not recorded"),
        }
    }

    /// A request of this agent was answered.
    pub(super) async fn forget_refusal(&self, execution: ExecutionId) {
        if !self.refused.lock().remove(&execution) {
            return;
        }
        let forgotten = self
            .ledger
            .db
            .write(move |tx| Box::pin(llm::forget_refusal(tx, execution)));
        if let Err(error) = forgotten.await {
            tracing::error!(%execution, %error, "refusal of request not forgotten");
        }
    }
}
