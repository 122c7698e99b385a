//! Where runs and slots began, for whoever continues their chain: it follows from their
//! ids and from what they were made for, so nobody keeps it.

use missiond_core::{ExecutionId, SlotId, TraceContext};

use crate::{StoreError, Tx, board, executions};

/// In the chain of the task the run works for, or of a chain of its own.
pub async fn of_run(tx: &mut Tx<'_>, id: ExecutionId) -> Result<TraceContext, StoreError> {
    let attempt = board::attempt_of_execution(tx, id).await?;
    Ok(TraceContext::of_run(
        id,
        attempt.map(|attempt| attempt.task),
    ))
}

/// In the chain of the run the slot was made for, or of a chain of its own.
pub async fn of_slot(tx: &mut Tx<'_>, id: SlotId) -> Result<TraceContext, StoreError> {
    Ok(match executions::in_slot(tx, id).await? {
        Some(run) => of_run(tx, run.id).await?.began(id),
        None => TraceContext::of(id),
    })
}
