//! Stopping what an agent is doing, without ending its program. The keys are
//! pressed only while the agent is seen to work: at rest they mean something
//! else to most programs, and in a dialog they are an answer. An agent that is driven
//! by a protocol is told to cancel its turn, whatever it asks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::{DeliveryStatus, MessageId, PtyState};

use super::run::Run;
use crate::context::Context;
use crate::error::ExecutionError;

/// How long an agent may take to wind down.
const STOPS_WITHIN: Duration = Duration::from_secs(8);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Presses the keys and says whether the work has stopped.
pub(super) async fn deliver(
    context: &Context,
    run: &Arc<Run>,
    message: MessageId,
) -> Result<(), ExecutionError> {
    let failed = |reason: &'static str| async move {
        let status = DeliveryStatus::Failed;
        run.deliver(message, status, Some(reason)).await
    };
    let Some(open) = context.slots.find(&run.slot.to_string()) else {
        return failed("the program has ended").await;
    };
    // A protocol has a word for it that no dialog takes for an answer.
    let is_structured = open.record.handover.is_some();
    let goes_on =
        |state: PtyState| state.is_working() || (is_structured && state == PtyState::Confirming);
    match open.inspect().await.map(|look| look.reading.state) {
        Some(state) if goes_on(state) => {}
        Some(PtyState::Confirming) => {
            return failed("the program asks something: an answer says what is to be done").await;
        }
        Some(_) => return failed("the agent is not working").await,
        None => return failed("the program has ended").await,
    }
    run.deliver(message, DeliveryStatus::Delivering, None)
        .await?;
    if let Err(error) = context.slots.interrupt(&open).await {
        let (status, reason) = (DeliveryStatus::Failed, error.to_string());
        return run.deliver(message, status, Some(&reason)).await;
    }
    let until = Instant::now() + STOPS_WITHIN;
    while Instant::now() < until {
        match open.inspect().await {
            Some(look) if goes_on(look.reading.state) => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            _ => return run.deliver(message, DeliveryStatus::Delivered, None).await,
        }
    }
    failed("the agent works on, although it was told to stop").await
}
