//! Effects of executions that the timeline has been told. An effect becomes due
//! in a journal, is told as an event, and is then settled in the journal. The
//! event and the note that it was told are one transaction, so a crash between
//! telling and settling tells it once.

use missiond_core::ExecutionId;

use crate::{NewEvent, StoreError, Tx, Value, timeline};

/// Whether an effect was new to the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectPublication {
    New,
    /// Its event is on the timeline already; none was added.
    Repeated,
}

/// Tells an effect by its event, unless that was done before. `effect` is its
/// key within the execution.
pub async fn publish(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
    effect: &str,
    event: &NewEvent,
) -> Result<EffectPublication, StoreError> {
    let sql = "INSERT INTO told_effects (execution, effect, told_at) VALUES ($1, $2, $3) \
         ON CONFLICT (execution, effect) DO NOTHING";
    let params = [Value::written(execution), effect.into(), event.at.into()];
    if tx.execute(sql, &params).await? == 0 {
        return Ok(EffectPublication::Repeated);
    }
    timeline::append(tx, std::slice::from_ref(event)).await?;
    Ok(EffectPublication::New)
}

/// The execution has ended: its journal is never told from again.
pub async fn forget(tx: &mut Tx<'_>, execution: ExecutionId) -> Result<u64, StoreError> {
    let sql = "DELETE FROM told_effects WHERE execution = $1";
    tx.execute(sql, &[Value::written(execution)]).await
}
