//! Giving a slot a text or an answer from inside the daemon.

use missiond_semantic::{Answered, Delivered};
use tokio::sync::oneshot;

use super::typing::{Answer, InputError, Job, Message};
use super::{OpenSlot, Order, Slots};

impl Slots {
    /// Types a text into a slot and returns when it is known what became of it.
    /// Dropping the future gives it up as long as nothing was typed.
    pub(crate) async fn deliver(
        &self,
        slot: &OpenSlot,
        message: Message,
    ) -> Result<Delivered, InputError> {
        let (reply, outcome) = oneshot::channel();
        give(slot, Job::Deliver(message, reply)).await?;
        outcome.await.unwrap_or(Err(InputError::Closed))
    }

    /// Answers the dialog of a slot and returns when it is known what became of
    /// it. Dropping the future gives it up as long as nothing was pressed.
    pub(crate) async fn answer(
        &self,
        slot: &OpenSlot,
        answer: Answer,
    ) -> Result<Answered, InputError> {
        let (reply, outcome) = oneshot::channel();
        give(slot, Job::Answer(answer, reply)).await?;
        outcome.await.unwrap_or(Err(InputError::Closed))
    }
}

async fn give(slot: &OpenSlot, job: Job) -> Result<(), InputError> {
    let order = Order::Input(Box::new(job));
    slot.orders
        .send(order)
        .await
        .map_err(|_| InputError::Closed)
}
