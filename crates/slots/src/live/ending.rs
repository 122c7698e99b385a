//! The end of a slot.

use missiond_core::Event;
use missiond_pty::TimedReading;
use missiond_pty::host::ExitStatus;

use super::Live;
use crate::SlotsError;

/// So many rows are the last words of a program that failed, in so many characters.
const LAST_WORDS: usize = 4;
const LONGEST_WORDS: usize = 400;
/// By these a program is ended on purpose: HUP, KILL and TERM.
const TOLD_TO_END: [i32; 3] = [1, 9, 15];

impl Live {
    pub(super) async fn ended(&mut self, reason: &str, status: ExitStatus) {
        let mut changes = Vec::new();
        let now = self.now();
        self.session.exited(now, &mut changes);
        self.end_typing().await;
        self.end_conversation().await;
        let closed = self.close(reason, status, &mut changes).await;
        if let Err(error) = closed {
            tracing::error!(slot = %self.slot.id, %error, "end of slot not recorded");
        }
        for (_, outcome) in &mut self.killers {
            reason.clone_into(outcome);
        }
        self.viewers.end(self.session.terminal(), reason);
    }

    pub(super) async fn close(
        &mut self,
        reason: &str,
        status: ExitStatus,
        changes: &mut Vec<TimedReading>,
    ) -> Result<(), SlotsError> {
        let id = self.slot.id;
        let stored = self
            .context
            .db
            .read(move |tx| Box::pin(missiond_store::slots::get(tx, id)))
            .await?;
        // The daemon before this one may have died after it had noted the end.
        if stored.is_some_and(|slot| slot.closed_at.is_some()) {
            return Ok(());
        }
        self.publish(changes).await;
        self.record_end(status.code).await;
        let last_words = self.last_words(status);
        self.record(Event::SessionCompleted {
            slot: id,
            conversation: None,
            exit_status: status.code,
            signal: status.signal,
            last_words,
        })
        .await;
        self.context.close(id, reason, self.trace.child()).await
    }

    /// What stood at the end of the screen of a program that failed.
    pub(super) fn last_words(&mut self, status: ExitStatus) -> Option<String> {
        let told = |signal: i32| TOLD_TO_END.contains(&signal);
        if status.code == Some(0) || status.signal.is_some_and(told) {
            return None;
        }
        let rows = self.session.screen().rows.iter().rev();
        let rows = rows
            .map(|row| row.text.trim())
            .filter(|row| !row.is_empty());
        let mut last: Vec<_> = rows.take(LAST_WORDS).collect();
        last.reverse();
        (!last.is_empty()).then(|| last.join(" / ").chars().take(LONGEST_WORDS).collect())
    }
}
