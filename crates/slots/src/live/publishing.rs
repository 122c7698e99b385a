//! What the timeline is told of a slot.

use std::time::Duration;

use missiond_core::Event;
use missiond_pty::TimedReading;
use missiond_semantic::{Dialog, DialogOption, Reading};

use super::{Live, Stall, TerminalEnd};

impl Live {
    pub(super) async fn publish(&mut self, changes: &mut Vec<TimedReading>) {
        if self.conversation.is_some() {
            // What is drawn is ours, and says nothing that was not told.
            changes.clear();
            return;
        }
        let now = self.now();
        for TimedReading { reading, .. } in changes.drain(..) {
            let reading = self.arbiter.reading(&reading, now);
            self.publish_reading(reading).await;
        }
        if self.arbiter.expire(now) || self.arbiter.has_hook_claim() {
            self.publish_fused(now).await;
        }
    }

    /// Tells what is so by the screen and the hooks together.
    pub(super) async fn publish_fused(&mut self, now: Duration) {
        let fused = self.reading(now);
        self.publish_reading(fused).await;
    }

    /// What is so now, by whoever knows best.
    pub(super) fn reading(&self, now: Duration) -> Reading {
        match &self.conversation {
            Some(conversation) => conversation.reading(),
            None => self.arbiter.reading(self.session.reader().current(), now),
        }
    }

    pub(super) async fn publish_reading(&mut self, reading: Reading) {
        if reading.state != self.published {
            let changed = Event::PtyStateChanged {
                slot: self.slot.id,
                from: self.published,
                to: reading.state,
                confidence: reading.confidence,
                reason: reading.reason,
            };
            self.published = reading.state;
            self.record(changed).await;
        }
        self.publish_dialog(reading.dialog).await;
    }

    /// Tells of a dialog that is not the one that was told of. A moved mark makes
    /// no other dialog.
    pub(super) async fn publish_dialog(&mut self, dialog: Option<Dialog>) {
        let same = match (&dialog, &self.asked) {
            (Some(dialog), Some(asked)) => dialog.is_same_as(asked),
            (None, None) => true,
            _ => false,
        };
        if same {
            return;
        }
        self.asked = dialog;
        if let Some(dialog) = &self.asked {
            let label = |option: &DialogOption| option.label.clone();
            let required = Event::ConfirmRequired {
                slot: self.slot.id,
                execution: None,
                title: dialog.title.clone(),
                options: dialog.options.iter().map(label).collect(),
            };
            self.record(required).await;
        }
    }

    /// A daemon that takes over says what it found.
    pub(super) async fn publish_state(&self) {
        self.record(Event::SlotStateChanged {
            slot: self.slot.id,
            state: self.published,
        })
        .await;
    }

    /// The recording cannot be written, and the program waits. The disk that is
    /// full may be the database's, too: then it is put on record afterwards.
    pub(super) async fn stalled(&mut self, why: String) {
        tracing::error!(slot = %self.slot.id, why, "slot program blocked by its recording");
        if self.stalled.is_some() {
            return;
        }
        let on_record = self.record_stall(why.clone()).await;
        self.stalled = Some(Stall { why, on_record });
    }

    pub(super) async fn goes_on(&mut self) {
        let Some(Stall { why, on_record }) = self.stalled.take() else {
            return;
        };
        tracing::info!(slot = %self.slot.id, "slot recording resumed");
        if !on_record {
            self.record_stall(why).await;
        }
        let slot = self.slot.id;
        self.record(Event::SlotRecordingResumed { slot }).await;
    }

    pub(super) async fn record_stall(&self, why: String) -> bool {
        let (slot, name) = (self.slot.id, self.slot.name.clone());
        let stalled = Event::SlotRecordingStalled { slot, name, why };
        let timeline = &self.context.timeline;
        timeline.record(stalled, self.trace.child()).await.is_ok()
    }

    pub(super) fn trouble(&self) -> Option<String> {
        match (&self.stalled, self.terminal) {
            (Some(stall), _) => Some(stall.why.clone()),
            (None, TerminalEnd::Closed) => {
                Some("the program runs on, but it has closed its terminal".to_owned())
            }
            (None, TerminalEnd::Open) => None,
        }
    }

    pub(super) async fn record(&self, event: Event) {
        let kind = event.kind();
        if let Err(error) = self
            .context
            .timeline
            .record(event, self.trace.child())
            .await
        {
            tracing::error!(slot = %self.slot.id, kind, %error, "event not recorded on timeline");
        }
    }
}
