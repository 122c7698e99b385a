//! Giving a slot a text, an answer or an interrupt from inside the daemon.

use std::time::Duration;

use missiond_semantic::{AnswerRefusal, Answered, Delivered};
use tokio::sync::oneshot;

use super::typing::{Answer, InputError, Job, Message};
use super::{CommandError, OpenSlot, SlotCommand, SlotView, Slots};

/// Two presses that come at once are one key to some programs.
const BETWEEN_PRESSES: Duration = Duration::from_millis(300);

/// A program may say in its title that it asks before it has drawn its options; a text
/// typed by then would go into the prompt that is still there.
const DIALOG_IS_DRAWN: Duration = Duration::from_millis(1500);

impl OpenSlot {
    /// What it shows now; nothing when it has just been closed.
    pub async fn inspect(&self) -> Option<SlotView> {
        let (done, look) = oneshot::channel();
        self.commands.send(SlotCommand::Inspect(done)).await.ok()?;
        look.await.ok()
    }
}

impl Slots {
    /// Types a text into a slot and returns when it is known what became of it.
    /// Dropping the future gives it up as long as nothing was typed.
    pub async fn deliver(
        &self,
        slot: &OpenSlot,
        message: Message,
    ) -> Result<Delivered, InputError> {
        let (reply, outcome) = oneshot::channel();
        send_job(slot, Job::Deliver(message, reply)).await?;
        outcome.await.unwrap_or(Err(InputError::Closed))
    }

    /// Answers the dialog of a slot and returns when it is known what became of
    /// it. Dropping the future gives it up as long as nothing was pressed.
    pub async fn answer(&self, slot: &OpenSlot, answer: Answer) -> Result<Answered, InputError> {
        if let Some(look) = still_wants_words(slot).await {
            return self.answer_in_words(slot, &look, answer).await;
        }
        let (reply, outcome) = oneshot::channel();
        send_job(slot, Job::Answer(answer.clone(), reply)).await?;
        let answered = outcome.await.unwrap_or(Err(InputError::Closed));
        // It came up meanwhile, and has no options.
        if let Err(InputError::Unanswered(AnswerRefusal::Unreadable)) = answered
            && let Some(look) = still_wants_words(slot).await
        {
            return self.answer_in_words(slot, &look, answer).await;
        }
        answered
    }

    /// Presses what stops the work of the agent in a slot, as its manifest says.
    /// Whether it stopped is for the caller to see.
    pub async fn interrupt(&self, slot: &OpenSlot) -> Result<(), CommandError> {
        let manifest = self.context.manifest(&slot.slot.engine);
        // Its controller cancels by any of the keys that stop an agent.
        let manifest = manifest.filter(|_| slot.record.handover.is_none());
        let presses = manifest.map_or(&[b"\x03" as &[u8]] as &[_], |manifest| manifest.interrupt());
        for (index, &bytes) in presses.iter().enumerate() {
            if index > 0 {
                tokio::time::sleep(BETWEEN_PRESSES).await;
            }
            let (done, pressed) = oneshot::channel();
            // A slot that has just been closed has no work to stop.
            if slot
                .commands
                .send(SlotCommand::Key { bytes, done })
                .await
                .is_err()
            {
                return Ok(());
            }
            if let Ok(pressed) = pressed.await {
                pressed?;
            }
        }
        Ok(())
    }
}

/// What is asked in words, if that is still so when a dialog would have been drawn.
async fn still_wants_words(slot: &OpenSlot) -> Option<SlotView> {
    slot.inspect().await.filter(SlotView::wants_words)?;
    tokio::time::sleep(DIALOG_IS_DRAWN).await;
    slot.inspect().await.filter(SlotView::wants_words)
}

async fn send_job(slot: &OpenSlot, job: Job) -> Result<(), InputError> {
    let command = SlotCommand::Input(Box::new(job));
    slot.commands
        .send(command)
        .await
        .map_err(|_| InputError::Closed)
}
