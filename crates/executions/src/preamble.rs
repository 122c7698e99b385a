//! What an agent is told behind its first prompt. It is made above this crate,
//! where knowledge and conversations are at hand; an execution types it and puts
//! it on record in the transaction that makes its own row.

use futures::future::BoxFuture;
use missiond_core::{ExecutionId, SlotId};
use missiond_store::{StoreError, Tx};

/// A text for one agent, and how it is put on record.
pub trait Preamble: std::fmt::Debug + Send + Sync {
    /// As it is typed behind the prompt; empty when nothing is told.
    fn text(&self) -> &str;

    /// Records what the execution was told.
    fn record<'a>(
        &'a self,
        tx: &'a mut Tx<'_>,
        execution: ExecutionId,
        slot: SlotId,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// The prompt with a preamble behind it.
#[must_use]
pub fn append_preamble(prompt: String, preamble: &str) -> String {
    if preamble.is_empty() {
        prompt
    } else {
        format!("{}\n\n{preamble}", prompt.trim_end())
    }
}
