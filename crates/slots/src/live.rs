//! The life of an open slot in this daemon: output in, readings to the
//! timeline, commands to the program.
//!
//! One task owns the terminal, so nothing is locked. When the host goes silent
//! the task finds out whether it lives: then it goes on at the exact byte where
//! it was, otherwise the slot is closed.

mod command;
mod commands;
mod control;
mod ending;
mod handoff;
mod publishing;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use missiond_core::{Event, PtyState, Slot, TraceContext};
use missiond_os::processes::{Signal, signal_each};
use missiond_pty::host::{
    ExitStatus, FromHost, HostConnection, HostError, HostFiles, HostRecord, MAX_INPUT, Recording,
    ToHost,
};
use missiond_pty::{Session, TimedReading};
use missiond_runtime::{OnPanic, blocking};
use missiond_semantic::arbiter::Arbiter;
use missiond_semantic::{Dialog, Manifest};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::Context;
use super::anomalies::Watch;
use super::checkpoint::{Checkpoint, Due};
use super::rebuild::{self, Rebuilt};
use super::typing::Typing;
use super::viewers::Viewers;
use crate::conversation::Conversation;
use control::InStep;

use handoff::Pending;

pub use command::{CommandError, HandoffError, Listener, NextProgram, SlotCommand, SlotView};

/// Before a living host that refused is tried again.
const RECONNECT: Duration = Duration::from_millis(50);

/// Whether the program was just started or was running before this daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// By what `SlotCreated` says.
    New(TraceContext),
    Found,
}

/// Follows a slot until it is closed.
pub(super) async fn follow(
    context: Arc<Context>,
    slot: Slot,
    record: HostRecord,
    beginning: Beginning,
    commands: mpsc::Receiver<SlotCommand>,
    viewers: Viewers,
) {
    let id = slot.id;
    let manifest_changes = context.manifests.changes();
    let Some(manifest) = context.manifest(&slot.engine) else {
        tracing::error!(slot = %id, "manifest missing, even the generic one");
        return;
    };
    let files = HostFiles::new(&context.home.slots_dir(), id);
    let setup = control::setup_of(&record);
    let (mut session, offset, conversation) = match setup {
        Some(setup) => control::begin(&record, beginning, setup, manifest).await,
        None => {
            let rebuilt = begin(&record, beginning, manifest).await;
            (rebuilt.session, rebuilt.offset, None)
        }
    };
    if beginning == Beginning::Found {
        // What it shows has stood there since; only now is it told.
        session.advance_to(recording_time(&context, &record), &mut Vec::new());
    }
    let trace = match beginning {
        Beginning::New(created) => created,
        Beginning::Found => TraceContext::of(id),
    };
    let mut live = Live {
        trace,
        published: match &conversation {
            Some(conversation) => conversation.reading().state,
            None => session.reader().current().state,
        },
        asked: None,
        session,
        checkpoint: Due::after(offset),
        stalled: None,
        terminal: TerminalEnd::Open,
        offset,
        attended_from: 0,
        manifest_changes,
        typing: Typing::new(),
        typed: 0,
        watch: Watch::new(context.anomalies.clone(), context.known_anomalies(id).await),
        begun: Instant::now(),
        killers: Vec::new(),
        kill_grace: None,
        handoff: None,
        typed_at: None,
        viewers,
        listener: None,
        arbiter: Arbiter::default(),
        met_host: false,
        conversation,
        context,
        slot,
        record,
        files,
        commands,
    };
    if beginning == Beginning::Found {
        live.publish_state().await;
    }
    live.run().await;
    let Live {
        context, killers, ..
    } = live;
    context.open().remove(&id);
    for killer in killers {
        let _ = killer.0.send(killer.1);
    }
}

/// A new terminal, or one as the recording left it.
async fn begin(record: &HostRecord, beginning: Beginning, manifest: Arc<Manifest>) -> Rebuilt {
    let path = record.recording.clone();
    let wanted = Arc::clone(&manifest);
    if beginning == Beginning::Found {
        match tokio::task::spawn_blocking(move || rebuild::rebuild(&path, wanted)).await {
            Ok(Ok(rebuilt)) => return rebuilt,
            Ok(Err(error)) => {
                tracing::warn!(slot = %record.slot, %error, "screen not rebuilt from recording");
            }
            Err(error) => tracing::error!(slot = %record.slot, %error, "screen rebuild failed"),
        }
    }
    let size = Recording::open(&record.recording)
        .and_then(|recording| recording.read())
        .map(|reader| reader.size());
    Rebuilt {
        session: Session::new(size.unwrap_or(super::DEFAULT_SIZE), manifest),
        offset: 0,
        at: Duration::ZERO,
    }
}

fn recording_time(context: &Context, record: &HostRecord) -> Duration {
    let micros = context.clock.now().as_micros() - record.started_at_us;
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

struct Live {
    context: Arc<Context>,
    slot: Slot,
    record: HostRecord,
    files: HostFiles,
    /// What causes all that is told of the slot.
    trace: TraceContext,
    session: Session,
    /// Number of the next byte of output.
    offset: u64,
    /// What was written before this byte is not answered any more.
    attended_from: u64,
    checkpoint: Due,
    stalled: Option<Stall>,
    terminal: TerminalEnd,
    /// The state the timeline knows.
    published: PtyState,
    /// The dialog the timeline knows.
    asked: Option<Dialog>,
    manifest_changes: watch::Receiver<u64>,
    typing: Typing,
    /// How often somebody typed to the program.
    typed: u64,
    watch: Watch,
    /// The watch counts from here.
    begun: Instant,
    killers: Vec<(oneshot::Sender<String>, String)>,
    /// How long the program that is being ended may take.
    kill_grace: Option<u64>,
    handoff: Option<Pending>,
    /// When somebody last typed to the program.
    typed_at: Option<Instant>,
    viewers: Viewers,
    listener: Option<Arc<dyn Listener>>,
    arbiter: Arbiter,
    /// The host has said how many lines it has.
    met_host: bool,
    /// Where a protocol drives it: then the screen is what is shown of it.
    conversation: Option<Conversation>,
    commands: mpsc::Receiver<SlotCommand>,
}

/// The recording cannot be written.
struct Stall {
    why: String,
    on_record: bool,
}

/// Whether the program has its terminal open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TerminalEnd {
    Open,
    Closed,
}

/// Why a connection is no longer used.
enum DisconnectReason {
    Exited(ExitStatus),
    Lost,
    /// Nobody can give commands any more: the daemon closes.
    Released,
}

impl Live {
    async fn run(&mut self) {
        loop {
            match HostConnection::connect(&self.record, &self.files.socket, self.offset).await {
                Ok(mut host) => match self.follow_host(&mut host).await {
                    Ok(DisconnectReason::Exited(status))
                        if self.is_followed(&mut host, status).await => {}
                    Ok(DisconnectReason::Exited(status)) => {
                        let reason = self.reason_of_end(status);
                        self.ended(&reason, status).await;
                        let _ = host.send(&ToHost::ExitAcknowledged).await;
                        // The host removes its files and goes; then it is over.
                        while let Ok(Some(_)) = host.next().await {}
                        return;
                    }
                    Ok(DisconnectReason::Released) => return,
                    Ok(DisconnectReason::Lost) => {}
                    Err(error) => {
                        tracing::warn!(slot = %self.slot.id, %error, "slot host lost");
                    }
                },
                Err(_) if !self.record.is_alive() => {
                    self.host_gone().await;
                    return;
                }
                Err(HostError::Impostor(pid)) => {
                    self.displaced(pid).await;
                    return;
                }
                Err(error) => {
                    tracing::warn!(slot = %self.slot.id, %error, "slot host not answering yet");
                }
            }
            if !self.adopt_next().await {
                tokio::time::sleep(RECONNECT).await;
                self.rebuild_conversation().await;
            }
        }
    }

    /// The host has gone before this daemon could speak to it.
    async fn host_gone(&mut self) {
        let records = HostFiles::records(&self.context.home.slots_dir()).unwrap_or_default();
        let last = records.iter().find(|record| record.slot == self.slot.id);
        match last.and_then(|record| record.exited) {
            Some(status) => self.ended(&status.to_string(), status).await,
            None => {
                let record = self.record.clone();
                blocking(move || record.end_leftovers()).await;
                self.ended("its terminal host was killed", ExitStatus::UNSEEN)
                    .await;
            }
        }
        self.files.remove();
    }

    /// Another process listens in the host's place, and nothing leads to the host any more:
    /// it is told to end its program, which nobody could look after.
    async fn displaced(&mut self, pid: u32) {
        self.context
            .report_impostor(self.slot.id, &self.slot.name, pid);
        if self.record.is_alive() {
            signal_each(&[self.record.host_pid], Signal::TERM);
        }
        let reason = "another process stood in the place of its terminal host";
        self.ended(reason, ExitStatus::UNSEEN).await;
        self.files.remove();
    }

    async fn follow_host(
        &mut self,
        host: &mut HostConnection,
    ) -> Result<DisconnectReason, HostError> {
        let mut changes = Vec::new();
        let bell = self.viewers.bell();
        // An order that was lost with the connection before.
        if let Some(grace_ms) = self.kill_grace {
            host.send(&ToHost::Kill { grace_ms }).await?;
        }
        loop {
            let wake = self.wake();
            tokio::select! {
                frame = host.next() => match frame? {
                    Some(FromHost::Output { offset, .. }) if offset != self.offset => {
                        tracing::error!(offset, expected = self.offset, "slot output offset unexpected");
                        return Ok(DisconnectReason::Lost);
                    }
                    Some(FromHost::Output { bytes, .. }) if self.conversation.is_some() => {
                        self.handle_lines(&bytes, host).await?;
                    }
                    Some(FromHost::LinesTaken(count)) => {
                        if self.handle_lines_taken(count, host).await? == InStep::No {
                            return Ok(DisconnectReason::Lost);
                        }
                    }
                    Some(FromHost::Errors(bytes)) => self.show_errors(&bytes),
                    Some(FromHost::TurnedAway(who)) => {
                        self.context
                            .report_stranger(self.slot.id, &self.slot.name, who);
                    }
                    Some(FromHost::Output { offset, bytes }) => {
                        let unattended = self.attended_from.saturating_sub(offset);
                        let unattended = usize::try_from(unattended).unwrap_or(usize::MAX);
                        let (before, now) = bytes.split_at(unattended.min(bytes.len()));
                        if !before.is_empty() {
                            self.handle_output(before, &mut changes);
                            self.session.terminal().take_replies();
                        }
                        if !now.is_empty() {
                            self.handle_output(now, &mut changes);
                        }
                        self.answer(host).await?;
                        self.checkpoint.record_output(&bytes);
                        self.save_if_due();
                    }
                    Some(FromHost::Exited(status)) => return Ok(DisconnectReason::Exited(status)),
                    Some(FromHost::Refused(why)) => {
                        tracing::warn!(slot = %self.slot.id, why, "slot host refused command");
                        self.refuse_handoff(why);
                        if self.conversation.is_some() {
                            return Ok(DisconnectReason::Lost);
                        }
                    }
                    Some(FromHost::AttendedFrom(offset)) => self.attended_from = offset,
                    Some(FromHost::Gone { kept_from }) => {
                        let missing = kept_from.saturating_sub(self.offset);
                        tracing::warn!(
                            slot = %self.slot.id, missing, kept_from,
                            "slot output deleted before it was read: continuing after it"
                        );
                        self.offset = kept_from;
                    }
                    Some(FromHost::Stalled(why)) => self.stalled(why).await,
                    Some(FromHost::Resumed) => self.goes_on().await,
                    Some(FromHost::TerminalClosed) => self.terminal = TerminalEnd::Closed,
                    Some(FromHost::TerminalOpened) => self.terminal = TerminalEnd::Open,
                    None => return Ok(DisconnectReason::Lost),
                },
                command = self.commands.recv() => match command {
                    Some(command) => self.handle_command(command, host, &mut changes).await?,
                    None => return Ok(DisconnectReason::Released),
                },
                () = bell.notified() => {
                    if self.viewers.forget_departed() {
                        self.fit_viewers(host, &mut changes).await?;
                    }
                }
                Ok(()) = self.manifest_changes.changed() => self.read_anew(&mut changes),
                () = missiond_runtime::sleep_until(wake) => {
                    let now = self.now();
                    // Up to and including this moment.
                    let until = now + Duration::from_micros(1);
                    if self.session.terminal().deadline().is_some_and(|due| due < until) {
                        self.viewers.screen_changed(Instant::now());
                    }
                    self.session.advance_to(until, &mut changes);
                    self.tick_conversation(host).await?;
                    self.answer(host).await?;
                    self.save_if_due();
                }
            }
            self.viewers.show(self.session.terminal(), Instant::now());
            self.type_on(host, &mut changes).await?;
            self.advance_handoff(host).await?;
            self.publish(&mut changes).await;
            self.detect_anomalies().await;
        }
    }

    fn handle_output(&mut self, bytes: &[u8], changes: &mut Vec<TimedReading>) {
        let now = self.now();
        self.arbiter.screen_drawn(now);
        self.session.feed(bytes, now, changes);
        // A frame the program marked as complete is read without waiting.
        self.session
            .advance_to(now + Duration::from_micros(1), changes);
        self.viewers.screen_changed(Instant::now());
        if let Some(listener) = &self.listener {
            listener.handle_output(bytes);
        }
        self.offset += bytes.len() as u64;
        self.watch.output(bytes.len() as u64, self.begun.elapsed());
        let output = Event::PtyOutput {
            slot: self.slot.id,
            offset: self.offset - bytes.len() as u64,
            bytes: bytes.len() as u64,
        };
        self.context.timeline.publish(output, self.trace.child());
    }

    /// Makes a checkpoint if one is due.
    fn save_if_due(&mut self) {
        if self.conversation.is_some() {
            return;
        }
        let due = self.checkpoint.at(self.offset);
        if due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        let Some(paint) = self.session.terminal().repaint() else {
            self.checkpoint.await_output();
            return;
        };
        let checkpoint = Checkpoint {
            size: self.session.screen().size,
            offset: self.offset,
            at: self.now(),
            paint,
        };
        self.checkpoint = Due::after(self.offset);
        let recording = self.record.recording.clone();
        let writing = blocking(move || {
            if let Err(error) = checkpoint.write(&recording) {
                tracing::debug!(%error, "screen checkpoint not written");
            }
        });
        let subject = Some(self.slot.id.to_string());
        let supervisor = &self.context.supervisor;
        supervisor.spawn("screen checkpoint", subject, OnPanic::Report, writing);
    }

    /// Reads the screen with the manifest in force, if that is another one now.
    fn read_anew(&mut self, changes: &mut Vec<TimedReading>) {
        let Some(manifest) = self.context.manifest(&self.slot.engine) else {
            return;
        };
        if !Arc::ptr_eq(&manifest, self.session.reader().manifest()) {
            let now = self.now();
            self.session.reload(manifest, now, changes);
        }
    }

    /// Answers what the program asked its terminal.
    async fn answer(&mut self, host: &mut HostConnection) -> Result<(), HostError> {
        let replies = self.session.terminal().take_replies();
        input(host, &replies).await
    }

    /// When something is to be done without being asked.
    fn wake(&self) -> Option<Instant> {
        let session = self
            .session
            .deadline()
            .map(|due| Instant::now() + due.saturating_sub(self.now()) + Duration::from_millis(1));
        let watch = self.watch.wake().map(|due| self.begun + due);
        let now = self.now();
        let job = self.conversation.as_ref().and_then(Conversation::deadline);
        let job = job.map(|due| Instant::now() + due.saturating_sub(now));
        let arbiter = self
            .arbiter
            .deadline(now)
            .map(|due| Instant::now() + due.saturating_sub(now) + Duration::from_millis(1));
        [
            session,
            job,
            arbiter,
            self.typing.wake(),
            self.wake_for_handoff(),
            self.checkpoint.at(self.offset),
            watch,
            self.viewers.due(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Time on the recording's clock.
    fn now(&self) -> Duration {
        recording_time(&self.context, &self.record)
    }
}

async fn input(host: &mut HostConnection, bytes: &[u8]) -> Result<(), HostError> {
    for piece in bytes.chunks(MAX_INPUT) {
        host.send(&ToHost::Input(piece.to_vec())).await?;
    }
    Ok(())
}
