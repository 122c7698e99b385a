//! Orders to a slot, carried out.

use missiond_core::PtyState;
use missiond_pty::host::{HostConnection, HostError, ToHost};
use missiond_pty::{MAX_SIZE, MIN_SIZE, TimedReading};
use missiond_semantic::{Key, Size};
use tokio::time::Instant;

use super::{CommandError, Live, SlotCommand, SlotView, input};
use crate::hook_claims;
use crate::typing::InputError;
use crate::viewers::ViewerId;

impl Live {
    pub(super) async fn handle_command(
        &mut self,
        command: SlotCommand,
        host: &mut HostConnection,
        changes: &mut Vec<TimedReading>,
    ) -> Result<(), HostError> {
        match command {
            SlotCommand::Inspect(done) => {
                let view = self.view();
                let _ = done.send(view);
            }
            SlotCommand::Picture(done) => {
                let _ = done.send(self.session.terminal().picture());
            }
            SlotCommand::Explain(done) => {
                let now = self.now();
                let told = self.explain_conversation();
                let explained = told.unwrap_or_else(|| self.session.explain(now));
                let _ = done.send(Box::new(explained));
            }
            // What is said now would be said to a program that leaves, or keep it.
            SlotCommand::Input(job) if self.is_held_back(&job) => {
                job.refuse(InputError::HandingOff);
            }
            SlotCommand::Input(job) => match &mut self.conversation {
                Some(_) => self.give_job(*job, host).await?,
                None => self.typing.accept(*job),
            },
            SlotCommand::Listen { listener, done } => {
                self.listener = Some(listener);
                let _ = done.send(self.offset);
            }
            SlotCommand::HookReported(event) => {
                let now = self.now();
                hook_claims::report(&mut self.arbiter, &event, now);
                self.publish_fused(now).await;
            }
            // Who is driven by a protocol is told of by it, in more detail.
            SlotCommand::ModelObserved(_) if self.conversation.is_some() => {}
            SlotCommand::ModelObserved(activity) => {
                let now = self.now();
                self.arbiter.model_observed(activity, now);
                self.publish_fused(now).await;
            }
            SlotCommand::Key { bytes, done } if self.conversation.is_some() => {
                let pressed = self.press_structured(bytes, host).await?;
                let _ = done.send(pressed);
            }
            SlotCommand::RawKeys { bytes, done } if self.conversation.is_some() => {
                // A person who types here is given the agent's own terminal; until then
                // they are told, and what they type goes nowhere.
                let pressed = match self.press_structured(&bytes, host).await? {
                    Err(CommandError::NoKeys) => Ok(0),
                    pressed => pressed,
                };
                let _ = done.send(pressed);
            }
            SlotCommand::Key { bytes, done } => {
                self.give_way(bytes).await;
                self.keys(host, bytes, changes).await?;
                let _ = done.send(Ok(bytes.len() as u64));
            }
            SlotCommand::RawKeys { bytes, done } => {
                self.give_way(&bytes).await;
                self.keys(host, &bytes, changes).await?;
                let _ = done.send(Ok(bytes.len() as u64));
            }
            SlotCommand::Resize { size, viewer, done } => {
                let resized = match viewer {
                    _ if !is_possible(size) => Err(CommandError::Size),
                    None => {
                        self.resize(size, host, changes).await?;
                        Ok(())
                    }
                    Some(viewer) if self.viewers.resize(viewer, size, Instant::now()) => {
                        self.fit_viewers(host, changes).await?;
                        Ok(())
                    }
                    Some(ViewerId(number)) => Err(CommandError::NoViewer(number)),
                };
                let _ = done.send(resized.map(|()| self.session.screen().size));
            }
            SlotCommand::View { view, keys, done } => {
                let _ = done.send(self.viewers.join(view, keys, Instant::now()));
                self.fit_viewers(host, changes).await?;
            }
            SlotCommand::AcquireInput { viewer, done } => {
                let _ = done.send(self.viewers.acquire_input(viewer, Instant::now()));
            }
            SlotCommand::ReleaseInput { viewer, done } => {
                let _ = done.send(self.viewers.release(viewer, Instant::now()));
                self.fit_viewers(host, changes).await?;
            }
            SlotCommand::HandOff { next, done } => self.want_handoff(*next, done),
            SlotCommand::Notice(text) => self.show_notice(&text),
            SlotCommand::Kill { grace, done } => {
                let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                self.killers.push((done, String::new()));
                self.kill_grace = Some(grace_ms);
                self.cancel_handoff();
                host.send(&ToHost::Kill { grace_ms }).await?;
            }
        }
        Ok(())
    }

    fn view(&mut self) -> SlotView {
        let now = self.now();
        let reading = self.reading(now);
        let (takes_text, draft, work_line) = match &self.conversation {
            Some(conversation) => {
                let rests = matches!(reading.state, PtyState::Idle | PtyState::Error);
                (rests, None, conversation.work_line())
            }
            None => {
                let prompt = self.session.read_instant(now).prompt;
                let takes_text = prompt.is_some();
                let drafted = prompt.filter(|prompt| !prompt.is_empty());
                let draft = drafted.map(|prompt| prompt.text());
                (takes_text, draft, self.session.work_line())
            }
        };
        SlotView {
            watched: self.viewers.any(),
            typed: self.typed,
            takes_text,
            draft,
            work_line,
            screen: self.session.screen().clone(),
            reading,
            offset: self.offset,
            trouble: self.trouble(),
            told: self.conversation.as_ref().map(|it| Box::new(it.told())),
        }
    }

    pub(super) async fn resize(
        &mut self,
        size: Size,
        host: &mut HostConnection,
        changes: &mut Vec<TimedReading>,
    ) -> Result<(), HostError> {
        if self.conversation.is_none() {
            host.send(&ToHost::Resize(size)).await?;
        }
        let now = self.now();
        self.session.resize(size, now, changes);
        self.viewers.screen_changed(Instant::now());
        Ok(())
    }

    /// Gives the terminal the size its viewers want.
    pub(super) async fn fit_viewers(
        &mut self,
        host: &mut HostConnection,
        changes: &mut Vec<TimedReading>,
    ) -> Result<(), HostError> {
        let current = self.session.screen().size;
        match self.viewers.size() {
            Some(size) if size != current => self.resize(size, host, changes).await,
            _ => Ok(()),
        }
    }

    /// Sends what someone typed. The reader is told: a prompt that was just
    /// answered is not idle, whatever the screen still shows.
    pub(super) async fn keys(
        &mut self,
        host: &mut HostConnection,
        bytes: &[u8],
        changes: &mut Vec<TimedReading>,
    ) -> Result<(), HostError> {
        // What a viewer's terminal reports by itself is no key.
        if Key::of_input(bytes).is_some() {
            self.typed += 1;
            self.typed_at = Some(Instant::now());
        }
        input(host, bytes).await?;
        let now = self.now();
        self.session.sent(bytes, now, changes);
        if self.arbiter.input_sent(now) {
            self.publish_fused(now).await;
        }
        Ok(())
    }
}

fn is_possible(size: Size) -> bool {
    (MIN_SIZE.columns..=MAX_SIZE.columns).contains(&size.columns)
        && (MIN_SIZE.rows..=MAX_SIZE.rows).contains(&size.rows)
}
