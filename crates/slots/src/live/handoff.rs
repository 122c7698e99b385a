//! One controller after another: a conversation that a protocol drives goes over into
//! the agent's own terminal, and back, by another program in the same slot. The host
//! ends the one and starts the other, and hangs up on whoever spoke to the first; so a
//! late word of the old controller reaches nobody.

use std::time::Duration;

use missiond_core::{Controller, Event, PtyState};
use missiond_pty::host::{
    Channel, ExitStatus, FromHost, Handoff, HostConnection, HostError, ToHost, fits,
};
use missiond_runtime::blocking;
use missiond_semantic::When;
use missiond_semantic::arbiter::Arbiter;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::command::{HandoffError, NextProgram, SlotCommand};
use super::{Beginning, Live, TerminalEnd, begin, control};
use crate::checkpoint::Due;
use crate::typing::{InputError, Job, Typing};

/// How long a program whose place is taken may take to end by itself.
const GRACE: Duration = Duration::from_secs(3);
/// A screen that was just typed to may show the prompt for a moment more.
const AFTER_TYPING: Duration = Duration::from_secs(2);
/// So long the end of a terminal waits for word of what follows.
const WORD: Duration = Duration::from_secs(10);
/// How often it is looked whether a terminal rests.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A handoff that is wanted or under way.
#[derive(Debug)]
pub(super) struct Pending {
    next: NextProgram,
    done: Option<oneshot::Sender<Result<u32, HandoffError>>>,
    step: Step,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// The program still works, or somebody types to it.
    AwaitingRest,
    /// The host was told, and ends the program.
    Leaving,
    /// The next program could not be started, and why.
    Failed(String),
}

impl Pending {
    fn is_unwanted(&self) -> bool {
        self.step == Step::AwaitingRest && self.done.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn answer(&mut self, outcome: Result<u32, HandoffError>) {
        if let Some(done) = self.done.take() {
            // Whoever asked may have gone.
            let _ = done.send(outcome);
        }
    }
}

impl Live {
    pub(super) fn want_handoff(
        &mut self,
        next: NextProgram,
        done: oneshot::Sender<Result<u32, HandoffError>>,
    ) {
        if self.handoff.as_ref().is_some_and(|old| !old.is_unwanted()) {
            let _ = done.send(Err(HandoffError::UnderWay));
            return;
        }
        if self.kill_grace.is_some() {
            let _ = done.send(Err(HandoffError::Ending));
            return;
        }
        let works = self.conversation.as_ref().is_some_and(|it| !it.rests());
        if works && next.controller() == Controller::Terminal {
            self.show_notice(
                "Its own terminal opens here when this turn has ended; Esc ends it now.",
            );
        }
        self.handoff = Some(Pending {
            next,
            done: Some(done),
            step: Step::AwaitingRest,
        });
    }

    /// Whether a text has to wait for the next program. An answer is of the turn that is
    /// waited for, and so is what is said into it.
    pub(super) fn is_held_back(&self, job: &Job) -> bool {
        match self.handoff.as_ref().map(|pending| &pending.step) {
            Some(Step::AwaitingRest) => {
                matches!(job, Job::Deliver(message, _) if message.when == When::Idle)
            }
            Some(Step::Leaving | Step::Failed(_)) => true,
            None => false,
        }
    }

    pub(super) fn wake_for_handoff(&self) -> Option<Instant> {
        let pending = self.handoff.as_ref()?;
        (pending.step == Step::AwaitingRest && self.conversation.is_none())
            .then(|| Instant::now() + LOOK_EVERY)
    }

    /// Tells the host as soon as the program rests.
    pub(super) async fn advance_handoff(
        &mut self,
        host: &mut HostConnection,
    ) -> Result<(), HostError> {
        if self.handoff.as_ref().is_some_and(Pending::is_unwanted) {
            self.handoff = None;
        }
        let waits = |pending: &Pending| pending.step == Step::AwaitingRest;
        if !self.handoff.as_ref().is_some_and(waits) || !self.rests() {
            return Ok(());
        }
        self.order_handoff(host).await
    }

    async fn order_handoff(&mut self, host: &mut HostConnection) -> Result<(), HostError> {
        let (slot, size) = (self.slot.id, self.session.screen().size);
        let generation = self.record.generation + 1;
        let Some(pending) = &mut self.handoff else {
            return Ok(());
        };
        let control = pending.next.control.as_ref();
        let handover = control.and_then(|setup| serde_json::to_value(setup).ok());
        let order = Handoff {
            generation,
            argv: pending.next.argv.clone(),
            environment: pending.next.env.clone(),
            size,
            channel: match control {
                Some(_) => Channel::Pipes,
                None => Channel::Terminal,
            },
            handover,
            recording: crate::recording(&self.context.home, slot, generation),
            grace_ms: u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX),
        };
        if !fits(&order) {
            let why = "the order for the next program is too long".to_owned();
            pending.answer(Err(HandoffError::Refused(why)));
            self.handoff = None;
            return Ok(());
        }
        tracing::info!(%slot, generation, "slot handing off");
        pending.step = Step::Leaving;
        host.send(&ToHost::Handoff(Box::new(order))).await
    }

    /// A terminal that had a protocol's conversation has ended by itself, as when a person
    /// quits it: the conversation is not over. Whether another program goes on with it;
    /// whoever looks after it has to say so soon.
    pub(super) async fn is_followed(
        &mut self,
        host: &mut HostConnection,
        status: ExitStatus,
    ) -> bool {
        let had_protocol = self.record.generation > 1 && self.record.channel == Channel::Terminal;
        let is_ended = self.kill_grace.is_some()
            || self
                .handoff
                .as_ref()
                .is_some_and(|it| it.step != Step::AwaitingRest);
        if !had_protocol || is_ended {
            return false;
        }
        let why =
            format!("its terminal has ended ({status}); the conversation goes on by its protocol");
        self.note_left(true);
        self.viewers.release_all(&why, Instant::now());
        let followed = self.await_next(host).await;
        self.note_left(false);
        followed
    }

    fn note_left(&self, was_left: bool) {
        if let Some(open) = self.context.open().get_mut(&self.slot.id) {
            open.was_left = was_left;
        }
    }

    async fn await_next(&mut self, host: &mut HostConnection) -> bool {
        let until = Instant::now() + WORD;
        let mut changes = Vec::new();
        loop {
            if self.kill_grace.is_some() {
                return false;
            }
            let waits = |pending: &Pending| pending.step == Step::AwaitingRest;
            if self.handoff.as_ref().is_some_and(waits) && self.order_handoff(host).await.is_err() {
                return true;
            }
            let handled = tokio::select! {
                frame = host.next() => match frame {
                    Ok(Some(FromHost::Refused(why))) => {
                        self.refuse_handoff(why);
                        return false;
                    }
                    Ok(Some(FromHost::TurnedAway(who))) => {
                        self.context
                            .report_stranger(self.slot.id, &self.slot.name, who);
                        Ok(())
                    }
                    Ok(Some(_)) => Ok(()),
                    // It has hung up on whoever spoke to the program before.
                    Ok(None) | Err(_) => return true,
                },
                command = self.commands.recv() => match command {
                    // There is nothing to type to.
                    Some(SlotCommand::Key { done, .. } | SlotCommand::RawKeys { done, .. }) => {
                        let _ = done.send(Ok(0));
                        Ok(())
                    }
                    Some(SlotCommand::Input(job)) => {
                        job.refuse(InputError::HandingOff);
                        Ok(())
                    }
                    Some(command) => self.handle_command(command, host, &mut changes).await,
                    None => return true,
                },
                () = tokio::time::sleep_until(until) => return false,
            };
            if handled.is_err() {
                return true;
            }
        }
    }

    /// Nothing is under way that another program would not know of.
    fn rests(&mut self) -> bool {
        if let Some(conversation) = &self.conversation {
            return self.met_host && conversation.rests();
        }
        let now = self.now();
        let typed = self.typed_at.is_some_and(|at| at.elapsed() < AFTER_TYPING);
        let reading = self.reading(now);
        let prompt = self.session.read_instant(now).prompt;
        !typed
            && self.typing.is_empty()
            && reading.state == PtyState::Idle
            && reading.dialog.is_none()
            && prompt.is_some_and(|prompt| prompt.is_empty())
    }

    /// The host did not do what it was told.
    pub(super) fn refuse_handoff(&mut self, why: String) {
        if let Some(pending) = &mut self.handoff
            && pending.step == Step::Leaving
        {
            pending.answer(Err(HandoffError::Refused(why.clone())));
            pending.step = Step::Failed(why);
        }
    }

    pub(super) fn cancel_handoff(&mut self) {
        if let Some(mut pending) = self.handoff.take() {
            pending.answer(Err(HandoffError::Ending));
        }
    }

    pub(super) fn reason_of_end(&self, status: ExitStatus) -> String {
        match self.handoff.as_ref().map(|pending| &pending.step) {
            Some(Step::Failed(why)) => {
                format!("the program that was to go on could not be started: {why}")
            }
            _ => status.to_string(),
        }
    }

    /// Follows the program that has taken the place of this one, if there is one.
    pub(super) async fn adopt_next(&mut self) -> bool {
        let files = self.files.clone();
        let Some(record) = blocking(move || files.read()).await else {
            return false;
        };
        let Some(manifest) = self.context.manifest(&self.slot.engine) else {
            return false;
        };
        // The next program is the same host's. Another one in the file is not believed.
        let is_its = record.host_pid == self.record.host_pid
            && record.host_start_ticks == self.record.host_start_ticks;
        if !is_its || record.generation <= self.record.generation {
            return false;
        }
        let size = self.session.screen().size;
        if let Some(before) = self.conversation.take() {
            before.refuse_jobs();
        }
        let setup = control::setup_of(&record);
        let new = Beginning::New(self.trace);
        (self.session, self.offset, self.conversation) = match setup {
            Some(setup) => control::begin(&record, new, setup, manifest).await,
            None => {
                let rebuilt = begin(&record, new, manifest).await;
                (rebuilt.session, rebuilt.offset, None)
            }
        };
        self.record = record;
        let now = self.now();
        self.session.resize(size, now, &mut Vec::new());
        self.attended_from = 0;
        self.checkpoint = Due::after(self.offset);
        self.terminal = TerminalEnd::Open;
        self.typing = Typing::new();
        self.typed_at = None;
        self.arbiter = Arbiter::default();
        self.met_host = false;
        if let Some(open) = self.context.open().get_mut(&self.slot.id) {
            open.record = self.record.clone();
        }
        self.viewers.screen_changed(Instant::now());
        let generation = self.record.generation;
        let controller = match self.record.channel {
            Channel::Pipes => Controller::Structured,
            Channel::Terminal => Controller::Terminal,
        };
        tracing::info!(slot = %self.slot.id, generation, controller = controller.name(), "slot handed off");
        if let Some(mut pending) = self.handoff.take() {
            pending.answer(Ok(generation));
        }
        self.record(Event::ControllerChanged {
            slot: self.slot.id,
            generation,
            controller,
        })
        .await;
        self.publish_fused(now).await;
        true
    }
}
