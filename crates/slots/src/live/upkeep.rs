//! What a slot's task does beside following its terminal: it carries out what is
//! to be typed, and tells what is wrong.

use missiond_core::{Anomaly, Event};
use missiond_pty::TimedReading;
use missiond_pty::host::{HostConnection, HostError};
use missiond_semantic::{Key, Landed};

use super::Live;
use crate::anomalies::Change;
use crate::crashes::{End, Verdict};
use crate::typing::{Ended, Turn};

impl Live {
    /// Does what the text or answer under way asks for now.
    pub(super) async fn type_on(
        &mut self,
        host: &mut HostConnection,
        changes: &mut Vec<TimedReading>,
    ) -> Result<(), HostError> {
        loop {
            let at = self.now();
            match self.typing.turn(&mut self.session, at) {
                Some(Turn::Write(bytes)) => self.keys(host, &bytes, changes).await?,
                Some(Turn::Ended(ended)) => self.input_ended(ended).await,
                None => return Ok(()),
            }
        }
    }

    /// Somebody else types: what is under way must not take their keys for its
    /// own.
    pub(super) async fn give_way(&mut self, bytes: &[u8]) {
        // What a viewer's terminal reports by itself is no key.
        if Key::of_input(bytes).is_none() {
            return;
        }
        if let Some(ended) = self.typing.disturb() {
            self.input_ended(ended).await;
        }
    }

    /// The program has ended: so does what was to be typed.
    pub(super) async fn end_typing(&mut self) {
        let at = self.now();
        while let Some(turn) = self.typing.turn(&mut self.session, at) {
            if let Turn::Ended(ended) = turn {
                self.input_ended(ended).await;
            }
        }
    }

    /// Puts it on record before the caller knows.
    pub(super) async fn input_ended(&mut self, ended: Ended) {
        let slot = self.slot.id;
        if let Some(landed) = ended.landed() {
            if landed == Landed::Stalled {
                let message = None;
                self.record(Event::PromptStalled { slot, message }).await;
            }
            let change = self.watch.typed(landed);
            self.publish_anomalies(change).await;
        }
        if let Some((question, option)) = ended.answered() {
            let answered = Event::DialogAnswered {
                slot,
                question,
                option,
            };
            self.record(answered).await;
        }
        ended.reply();
    }

    pub(super) async fn detect_anomalies(&mut self) {
        let now = self.begun.elapsed();
        if !self.watch.is_due(self.published, now) {
            return;
        }
        let changes = self.watch.check(self.published, self.session.screen(), now);
        self.publish_anomalies(changes).await;
    }

    pub(super) async fn publish_anomalies(&self, changes: impl IntoIterator<Item = Change>) {
        let slot = self.slot.id;
        for change in changes {
            let subject = slot.to_string();
            self.record(match change {
                Change::Found(anomaly, detail) => Event::SlotAnomalyFound {
                    slot,
                    subject,
                    anomaly,
                    detail: format!("{}: {detail}", self.slot.name),
                },
                Change::Over(anomaly) => Event::SlotAnomalyOver {
                    slot,
                    subject,
                    anomaly,
                },
            })
            .await;
        }
    }

    /// Counts the end of the program among those of its like.
    pub(super) async fn record_end(&self, code: Option<i32>) {
        let end = if code == Some(0) || !self.killers.is_empty() {
            End::Fine
        } else {
            End::Failed
        };
        let slot = self.slot.id;
        let event = match self
            .context
            .record_end(&self.slot.name, &self.record.argv, end)
        {
            Some(Verdict::Looping { subject, failures }) => Event::SlotAnomalyFound {
                slot,
                detail: format!("{subject} has failed {failures} times in a short time"),
                subject,
                anomaly: Anomaly::CrashLoop,
            },
            Some(Verdict::Recovered { subject }) => Event::SlotAnomalyOver {
                slot,
                subject,
                anomaly: Anomaly::CrashLoop,
            },
            None => return,
        };
        self.record(event).await;
    }
}
