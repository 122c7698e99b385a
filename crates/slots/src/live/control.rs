//! A slot whose program is driven by a protocol: its lines in, our lines out, and the
//! conversation drawn where a terminal's screen would be.

use std::sync::Arc;
use std::time::Duration;

use missiond_adapters::ControlSetup;
use missiond_core::{Anomaly, Event, Timestamp};
use missiond_pty::host::{HostConnection, HostError, HostRecord};
use missiond_pty::{CastError, Session};
use missiond_runtime::blocking;
use missiond_semantic::{Explanation, Key, Manifest};
use tokio::time::Instant;

use super::command::CommandError;
use super::{Beginning, Live, input, recording_time};
use crate::anomalies::Change;
use crate::conversation::{Conversation, Effects, Moment, Rebuilt};
use crate::typing::Job;

/// Whether a host has the lines that this daemon believes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InStep {
    Yes,
    No,
}

/// How the program of a record is driven; none for a terminal.
pub(super) fn setup_of(record: &HostRecord) -> Option<ControlSetup> {
    let setup = serde_json::from_value(record.handover.clone()?);
    setup
        .inspect_err(|error| {
            tracing::error!(slot = %record.slot, %error, "setup of structured slot unreadable");
        })
        .ok()
}

/// A new conversation, or one as its recording left it, and what is shown of it.
pub(super) async fn begin(
    record: &HostRecord,
    beginning: Beginning,
    setup: ControlSetup,
    manifest: Arc<Manifest>,
) -> (Session, u64, Option<Conversation>) {
    let mut session = Session::new(crate::DEFAULT_SIZE, manifest);
    if beginning == Beginning::Found {
        match rebuild(record, setup.clone()).await {
            Ok(Rebuilt {
                conversation,
                shown,
                offset,
            }) => {
                for (at, text) in shown {
                    session.terminal().feed(text.as_bytes(), at);
                }
                return (session, offset, Some(conversation));
            }
            Err(error) => {
                tracing::error!(slot = %record.slot, %error, "conversation not rebuilt");
            }
        }
    }
    (session, 0, Some(Conversation::new(setup)))
}

async fn rebuild(record: &HostRecord, setup: ControlSetup) -> Result<Rebuilt, CastError> {
    let recording = record.recording.clone();
    let began = Timestamp::from_micros(record.started_at_us);
    blocking(move || Conversation::rebuild(&recording, began, setup)).await
}

impl Live {
    fn moment(&self) -> Moment {
        Moment {
            wall: self.context.clock.now(),
            clock: recording_time(&self.context, &self.record),
        }
    }

    /// How long an agent may be silent where it must answer.
    fn patience(&self) -> Duration {
        Duration::from_secs(self.context.config.borrow().engines.answer_secs)
    }

    pub(super) async fn handle_lines(
        &mut self,
        bytes: &[u8],
        host: &mut HostConnection,
    ) -> Result<(), HostError> {
        let now = self.moment();
        self.offset += bytes.len() as u64;
        self.watch.output(bytes.len() as u64, self.begun.elapsed());
        let output = Event::PtyOutput {
            slot: self.slot.id,
            offset: self.offset - bytes.len() as u64,
            bytes: bytes.len() as u64,
        };
        self.context.timeline.publish(output, self.trace.child());
        let Some(conversation) = &mut self.conversation else {
            return Ok(());
        };
        let effects = conversation.receive(bytes, now);
        self.apply(effects, host).await
    }

    /// A host says how many lines of ours it has. The first time it speaks the two must
    /// agree, or this daemon has to read the recording again.
    pub(super) async fn handle_lines_taken(
        &mut self,
        count: u64,
        host: &mut HostConnection,
    ) -> Result<InStep, HostError> {
        let (now, patience) = (self.moment(), self.patience());
        let Some(conversation) = &mut self.conversation else {
            return Ok(InStep::Yes);
        };
        conversation.expect_within(patience);
        let effects = if std::mem::replace(&mut self.met_host, true) {
            conversation.lines_taken(count, now)
        } else {
            if !conversation.is_in_step(count) {
                tracing::warn!(slot = %self.slot.id, count, "structured slot out of step with its host");
                return Ok(InStep::No);
            }
            conversation.go_on(count, now)
        };
        self.apply(effects, host).await?;
        Ok(InStep::Yes)
    }

    pub(super) fn show_errors(&mut self, bytes: &[u8]) {
        if let Some(conversation) = &mut self.conversation {
            let shown = conversation.show_errors(bytes);
            self.draw(&shown);
        }
    }

    pub(super) async fn tick_conversation(
        &mut self,
        host: &mut HostConnection,
    ) -> Result<(), HostError> {
        let (now, patience) = (self.moment(), self.patience());
        let Some(conversation) = &mut self.conversation else {
            return Ok(());
        };
        conversation.expect_within(patience);
        let effects = conversation.tick(now);
        self.apply(effects, host).await
    }

    /// Writes what is to be written, shows what is to be shown, and tells how things
    /// stand.
    pub(super) async fn apply(
        &mut self,
        effects: Effects,
        host: &mut HostConnection,
    ) -> Result<(), HostError> {
        for line in &effects.lines {
            input(host, format!("{line}\n").as_bytes()).await?;
        }
        self.finish_effects(effects).await;
        Ok(())
    }

    pub(super) async fn finish_effects(&mut self, effects: Effects) {
        self.draw(&effects.shown);
        for ended in effects.ended {
            self.input_ended(ended).await;
        }
        for both in effects.mismatches {
            let found = Change::Found(Anomaly::InputMismatch, both);
            self.publish_anomalies([found]).await;
        }
        if let Some(conversation) = &self.conversation {
            let reading = conversation.reading();
            self.publish_reading(reading).await;
        }
    }

    fn draw(&mut self, text: &str) {
        if !text.is_empty() {
            let now = self.now();
            self.session.terminal().feed(text.as_bytes(), now);
            self.viewers.screen_changed(Instant::now());
        }
    }

    pub(super) async fn give_job(
        &mut self,
        job: Job,
        host: &mut HostConnection,
    ) -> Result<(), HostError> {
        let now = self.moment();
        let Some(conversation) = &mut self.conversation else {
            return Ok(());
        };
        self.typed += 1;
        let effects = conversation.accept(job, now);
        self.apply(effects, host).await
    }

    /// The keys that stop an agent in a terminal stop it here too; there are no others.
    pub(super) async fn press_structured(
        &mut self,
        bytes: &[u8],
        host: &mut HostConnection,
    ) -> Result<Result<u64, CommandError>, HostError> {
        let now = self.moment();
        let is_report = Key::of_input(bytes).is_none();
        let Some(conversation) = &mut self.conversation else {
            return Ok(Ok(0));
        };
        // What a viewer's terminal reports by itself is no key.
        if is_report {
            return Ok(Ok(0));
        }
        if !matches!(bytes, b"\x1b" | b"\x03") {
            return Ok(Err(CommandError::NoKeys));
        }
        let effects = conversation.cancel(now);
        self.apply(effects, host).await?;
        Ok(Ok(bytes.len() as u64))
    }

    /// After a connection was lost it is not known which lines a host has taken: the
    /// recording says it.
    pub(super) async fn rebuild_conversation(&mut self) {
        let Some(setup) = setup_of(&self.record) else {
            return;
        };
        self.met_host = false;
        match rebuild(&self.record, setup).await {
            Ok(rebuilt) => {
                self.offset = rebuilt.offset;
                if let Some(before) = self.conversation.replace(rebuilt.conversation)
                    && let Some(conversation) = &mut self.conversation
                {
                    conversation.take_jobs(before);
                }
            }
            Err(error) => {
                tracing::error!(slot = %self.slot.id, %error, "conversation not rebuilt");
            }
        }
    }

    /// The process has ended: so does what it was asked, and what waited for it.
    pub(super) async fn end_conversation(&mut self) {
        let now = self.moment();
        if let Some(conversation) = &mut self.conversation {
            let effects = conversation.disconnect(now);
            self.finish_effects(effects).await;
        }
    }

    /// Shows whoever looks at a conversation something that its agent did not say.
    pub(super) fn show_notice(&mut self, text: &str) {
        if let Some(conversation) = &mut self.conversation {
            let shown = conversation.notice(text);
            self.draw(&shown);
        }
    }

    /// Why a structured slot is in its state: the agent said so.
    pub(super) fn explain_conversation(&mut self) -> Option<Explanation> {
        let reading = self.conversation.as_ref()?.reading();
        Some(Explanation {
            dialog: reading.dialog.clone(),
            reading,
            decided: None,
            pending: None,
            also: Vec::new(),
            near: Vec::new(),
            regions: Vec::new(),
            tool: None,
        })
    }
}
