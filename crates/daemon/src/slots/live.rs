//! The life of an open slot in this daemon: output in, readings to the
//! timeline, orders to the program.
//!
//! One task owns the terminal, so nothing is locked. When the host goes silent
//! the task finds out whether it lives: then it goes on at the exact byte where
//! it was, otherwise the slot is closed.

mod tending;

use std::sync::Arc;
use std::time::Duration;

use missiond_adapters::HookEvent;
use missiond_core::{Event, PtyState, Slot, TraceContext};
use missiond_pty::host::{
    ExitStatus, FromHost, HostConnection, HostError, HostFiles, HostRecord, MAX_INPUT, Recording,
    ToHost,
};
use missiond_pty::screenshot::{Picture, PictureError};
use missiond_pty::{Keys, MAX_SIZE, MIN_SIZE, Session, TimedReading, View};
use missiond_semantic::{Dialog, DialogOption, Explanation, Manifest, Reading, Screen, Size};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::anomalies::Watch;
use super::checkpoint::{Checkpoint, Due};
use super::fusing::Fusing;
use super::rebuild::{self, Rebuilt};
use super::typing::{Job, Typing};
use super::viewers::{ViewerId, Viewers, Viewing};
use super::{Context, SlotsError};

/// So many rows are the last words of a program that failed, in so many characters.
const LAST_WORDS: usize = 4;
const LONGEST_WORDS: usize = 400;
/// By these a program is ended on purpose: HUP, KILL and TERM.
const TOLD_TO_END: [i32; 3] = [1, 9, 15];
/// Before a living host that refused is tried again.
const RECONNECT: Duration = Duration::from_millis(50);

/// What a slot can be asked.
#[derive(Debug)]
pub(crate) enum Order {
    Look(oneshot::Sender<Look>),
    /// The screen with its colours.
    Picture(oneshot::Sender<Result<Picture, PictureError>>),
    Explain(oneshot::Sender<Box<Explanation>>),
    /// A text or an answer.
    Input(Box<Job>),
    /// Let somebody hear what the program writes from now on; answered with the
    /// number of the first byte they will hear.
    Listen {
        listener: Arc<dyn Listener>,
        done: oneshot::Sender<u64>,
    },
    /// A hook of the program said something.
    Said(HookEvent),
    /// Press a key.
    Key {
        bytes: &'static [u8],
        done: oneshot::Sender<Result<u64, OrderError>>,
    },
    /// Hand on what a person's keys send, as it is.
    RawKeys {
        bytes: Vec<u8>,
        done: oneshot::Sender<Result<u64, OrderError>>,
    },
    /// Give the terminal a size, or, for a viewer, tell its size.
    Resize {
        size: Size,
        viewer: Option<ViewerId>,
        done: oneshot::Sender<Result<Size, OrderError>>,
    },
    /// Show the screen to one more.
    View {
        view: View,
        keys: Keys,
        done: oneshot::Sender<Viewing>,
    },
    /// Let a viewer type, unless somebody else does.
    Take {
        viewer: ViewerId,
        done: oneshot::Sender<bool>,
    },
    /// A viewer that typed only looks again.
    Release {
        viewer: ViewerId,
        done: oneshot::Sender<bool>,
    },
    /// Answered when every process is gone and the slot is closed.
    Kill {
        grace: Duration,
        done: oneshot::Sender<String>,
    },
}

/// Who hears every byte a program writes. It must not block.
pub(crate) trait Listener: std::fmt::Debug + Send + Sync {
    fn hear(&self, bytes: &[u8]);
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
    #[error("a size is {}x{} to {}x{}", MIN_SIZE.columns, MIN_SIZE.rows, MAX_SIZE.columns, MAX_SIZE.rows)]
    Size,
    #[error("no viewer {0} is attached to this slot")]
    NoViewer(u64),
    #[error(transparent)]
    Host(#[from] HostError),
}

/// What a slot shows.
#[derive(Debug)]
pub(crate) struct Look {
    pub screen: Screen,
    pub reading: Reading,
    pub offset: u64,
    /// Somebody has it on their terminal.
    pub watched: bool,
    /// The program shows a prompt.
    pub takes_text: bool,
    /// What stands in the program's prompt and was not sent.
    pub draft: Option<String>,
    /// What keeps the program from working, or this daemon from seeing it.
    pub trouble: Option<String>,
}

/// Whether the program was just started or was running before this daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    New,
    Found,
}

/// Follows a slot until it is closed.
pub(super) async fn follow(
    context: Arc<Context>,
    slot: Slot,
    record: HostRecord,
    beginning: Beginning,
    orders: mpsc::Receiver<Order>,
) {
    let id = slot.id;
    let manifest_changes = context.manifests.changes();
    let Some(manifest) = context.manifest(&slot.engine) else {
        tracing::error!(slot = %id, "there is no manifest, not even the generic one");
        return;
    };
    let files = HostFiles::new(&context.home.slots_dir(), id);
    let Rebuilt {
        mut session,
        offset,
        ..
    } = begin(&record, beginning, manifest).await;
    if beginning == Beginning::Found {
        // What it shows has stood there since; only now is it told.
        session.advance_to(recording_time(&context, &record), &mut Vec::new());
    }
    let mut live = Live {
        published: session.reader().current().state,
        asked: None,
        session,
        checkpoint: Due::after(offset),
        stalled: None,
        terminal: TerminalEnd::Open,
        offset,
        attended_from: 0,
        manifest_changes,
        typing: Typing::new(),
        watch: Watch::new(context.anomalies.clone(), context.known_anomalies(id).await),
        begun: Instant::now(),
        killers: Vec::new(),
        viewers: Viewers::new(),
        listener: None,
        fusing: Fusing::default(),
        context,
        slot,
        record,
        files,
        orders,
    };
    if beginning == Beginning::Found {
        live.tell_state().await;
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
                tracing::warn!(slot = %record.slot, %error, "no screen to go on from");
            }
            Err(error) => tracing::error!(slot = %record.slot, %error, "the replay failed"),
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
    watch: Watch,
    /// The watch counts from here.
    begun: Instant,
    killers: Vec<(oneshot::Sender<String>, String)>,
    viewers: Viewers,
    listener: Option<Arc<dyn Listener>>,
    fusing: Fusing,
    orders: mpsc::Receiver<Order>,
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
enum Parted {
    Exited(ExitStatus),
    Lost,
    /// Nobody can give orders any more: the daemon closes.
    Released,
}

impl Live {
    async fn run(&mut self) {
        loop {
            match HostConnection::connect(&self.files.socket, self.offset).await {
                Ok(mut host) => match self.converse(&mut host).await {
                    Ok(Parted::Exited(status)) => {
                        self.ended(&status.to_string(), status).await;
                        let _ = host.send(&ToHost::ExitNoted).await;
                        // The host removes its files and goes; then it is over.
                        while let Ok(Some(_)) = host.next().await {}
                        return;
                    }
                    Ok(Parted::Released) => return,
                    Ok(Parted::Lost) => {}
                    Err(error) => {
                        tracing::warn!(slot = %self.slot.id, %error, "the host was lost");
                    }
                },
                Err(_) if !self.record.is_alive() => {
                    self.host_gone().await;
                    return;
                }
                Err(error) => {
                    tracing::warn!(slot = %self.slot.id, %error, "the host does not answer yet");
                }
            }
            tokio::time::sleep(RECONNECT).await;
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
                let _ = tokio::task::spawn_blocking(move || record.end_leftovers()).await;
                self.ended("its terminal host was killed", ExitStatus::UNSEEN)
                    .await;
            }
        }
        self.files.remove();
    }

    async fn converse(&mut self, host: &mut HostConnection) -> Result<Parted, HostError> {
        let mut changes = Vec::new();
        let bell = self.viewers.bell();
        loop {
            let wake = self.wake();
            tokio::select! {
                frame = host.next() => match frame? {
                    Some(FromHost::Output { offset, bytes }) => {
                        if offset != self.offset {
                            tracing::error!(offset, expected = self.offset, "output out of place");
                            return Ok(Parted::Lost);
                        }
                        let unattended = self.attended_from.saturating_sub(offset);
                        let unattended = usize::try_from(unattended).unwrap_or(usize::MAX);
                        let (before, now) = bytes.split_at(unattended.min(bytes.len()));
                        if !before.is_empty() {
                            self.take_output(before, &mut changes);
                            self.session.terminal().take_replies();
                        }
                        if !now.is_empty() {
                            self.take_output(now, &mut changes);
                        }
                        self.answer(host).await?;
                        self.save(&bytes);
                    }
                    Some(FromHost::Exited(status)) => return Ok(Parted::Exited(status)),
                    Some(FromHost::Refused(why)) => {
                        tracing::warn!(slot = %self.slot.id, why, "the host refused");
                    }
                    Some(FromHost::AttendedFrom(offset)) => self.attended_from = offset,
                    Some(FromHost::Gone { kept_from }) => {
                        let missing = kept_from.saturating_sub(self.offset);
                        tracing::warn!(
                            slot = %self.slot.id, missing, kept_from,
                            "output was deleted before it was read: going on after it"
                        );
                        self.offset = kept_from;
                    }
                    Some(FromHost::Stalled(why)) => self.stalled(why).await,
                    Some(FromHost::GoesOn) => self.goes_on().await,
                    Some(FromHost::TerminalClosed) => self.terminal = TerminalEnd::Closed,
                    Some(FromHost::TerminalOpened) => self.terminal = TerminalEnd::Open,
                    None => return Ok(Parted::Lost),
                },
                order = self.orders.recv() => match order {
                    Some(order) => self.obey(order, host, &mut changes).await?,
                    None => return Ok(Parted::Released),
                },
                () = bell.notified() => {
                    if self.viewers.forget_departed() {
                        self.fit_viewers(host, &mut changes).await?;
                    }
                }
                Ok(()) = self.manifest_changes.changed() => self.read_anew(&mut changes),
                () = sleep_until(wake) => {
                    let now = self.now();
                    // Up to and including this moment.
                    let until = now + Duration::from_micros(1);
                    if self.session.terminal().deadline().is_some_and(|due| due < until) {
                        self.viewers.screen_changed(Instant::now());
                    }
                    self.session.advance_to(until, &mut changes);
                    self.answer(host).await?;
                }
            }
            self.viewers.show(self.session.terminal(), Instant::now());
            self.type_on(host, &mut changes).await?;
            self.publish(&mut changes).await;
            self.look_for_anomalies().await;
        }
    }

    fn take_output(&mut self, bytes: &[u8], changes: &mut Vec<TimedReading>) {
        let now = self.now();
        self.fusing.drawn(now);
        self.session.feed(bytes, now, changes);
        // A frame the program marked as complete is read without waiting.
        self.session
            .advance_to(now + Duration::from_micros(1), changes);
        self.viewers.screen_changed(Instant::now());
        if let Some(listener) = &self.listener {
            listener.hear(bytes);
        }
        self.offset += bytes.len() as u64;
        self.watch.output(bytes.len() as u64, self.begun.elapsed());
        let output = Event::PtyOutput {
            slot: self.slot.id,
            offset: self.offset - bytes.len() as u64,
            bytes: bytes.len() as u64,
        };
        self.context.timeline.tell(output, TraceContext::root());
    }

    /// Makes a checkpoint if one is due. `output` is what came last.
    fn save(&mut self, output: &[u8]) {
        if !self.checkpoint.is_now(self.offset, output) {
            return;
        }
        let Some(paint) = self.session.terminal().repaint() else {
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
        tokio::task::spawn_blocking(move || {
            if let Err(error) = checkpoint.write(&recording) {
                tracing::debug!(%error, "no checkpoint was written");
            }
        });
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

    async fn obey(
        &mut self,
        order: Order,
        host: &mut HostConnection,
        changes: &mut Vec<TimedReading>,
    ) -> Result<(), HostError> {
        match order {
            Order::Look(done) => {
                let now = self.now();
                let prompt = self.session.glance(now).prompt;
                let takes_text = prompt.is_some();
                let drafted = prompt.filter(|prompt| !prompt.is_empty());
                let _ = done.send(Look {
                    watched: self.viewers.any(),
                    takes_text,
                    draft: drafted.map(|prompt| prompt.text()),
                    screen: self.session.screen().clone(),
                    reading: self.fusing.fuse(self.session.reader().current(), now),
                    offset: self.offset,
                    trouble: self.trouble(),
                });
            }
            Order::Picture(done) => {
                let _ = done.send(self.session.terminal().picture());
            }
            Order::Explain(done) => {
                let now = self.now();
                let _ = done.send(Box::new(self.session.explain(now)));
            }
            Order::Input(job) => self.typing.accept(*job),
            Order::Listen { listener, done } => {
                self.listener = Some(listener);
                let _ = done.send(self.offset);
            }
            Order::Said(event) => {
                let now = self.now();
                self.fusing.heard(&event, now);
                self.tell_fused(now).await;
            }
            Order::Key { bytes, done } => {
                self.give_way(bytes).await;
                self.keys(host, bytes, changes).await?;
                let _ = done.send(Ok(bytes.len() as u64));
            }
            Order::RawKeys { bytes, done } => {
                self.give_way(&bytes).await;
                self.keys(host, &bytes, changes).await?;
                let _ = done.send(Ok(bytes.len() as u64));
            }
            Order::Resize { size, viewer, done } => {
                let resized = match viewer {
                    _ if !is_possible(size) => Err(OrderError::Size),
                    None => {
                        self.resize(size, host, changes).await?;
                        Ok(())
                    }
                    Some(viewer) if self.viewers.resize(viewer, size, Instant::now()) => {
                        self.fit_viewers(host, changes).await?;
                        Ok(())
                    }
                    Some(ViewerId(number)) => Err(OrderError::NoViewer(number)),
                };
                let _ = done.send(resized.map(|()| self.session.screen().size));
            }
            Order::View { view, keys, done } => {
                let _ = done.send(self.viewers.join(view, keys, Instant::now()));
                self.fit_viewers(host, changes).await?;
            }
            Order::Take { viewer, done } => {
                let _ = done.send(self.viewers.take(viewer, Instant::now()));
            }
            Order::Release { viewer, done } => {
                let _ = done.send(self.viewers.release(viewer, Instant::now()));
                self.fit_viewers(host, changes).await?;
            }
            Order::Kill { grace, done } => {
                let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                host.send(&ToHost::Kill { grace_ms }).await?;
                self.killers.push((done, String::new()));
            }
        }
        Ok(())
    }

    async fn resize(
        &mut self,
        size: Size,
        host: &mut HostConnection,
        changes: &mut Vec<TimedReading>,
    ) -> Result<(), HostError> {
        host.send(&ToHost::Resize(size)).await?;
        let now = self.now();
        self.session.resize(size, now, changes);
        self.viewers.screen_changed(Instant::now());
        Ok(())
    }

    /// Gives the terminal the size its viewers want.
    async fn fit_viewers(
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
    async fn keys(
        &mut self,
        host: &mut HostConnection,
        bytes: &[u8],
        changes: &mut Vec<TimedReading>,
    ) -> Result<(), HostError> {
        input(host, bytes).await?;
        let now = self.now();
        self.session.sent(bytes, now, changes);
        if self.fusing.typed(now) {
            self.tell_fused(now).await;
        }
        Ok(())
    }

    /// When something is to be done without being asked.
    fn wake(&self) -> Option<Instant> {
        let session = self
            .session
            .deadline()
            .map(|due| Instant::now() + due.saturating_sub(self.now()) + Duration::from_millis(1));
        let watch = self.watch.wake().map(|due| self.begun + due);
        let now = self.now();
        let fusing = self
            .fusing
            .deadline(now)
            .map(|due| Instant::now() + due.saturating_sub(now) + Duration::from_millis(1));
        [
            session,
            fusing,
            self.typing.wake(),
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

    async fn publish(&mut self, changes: &mut Vec<TimedReading>) {
        let now = self.now();
        for TimedReading { reading, .. } in changes.drain(..) {
            let reading = self.fusing.fuse(&reading, now);
            self.tell_reading(reading).await;
        }
        if self.fusing.expire(now) || self.fusing.hears() {
            self.tell_fused(now).await;
        }
    }

    /// Tells what is so by the screen and the hooks together.
    async fn tell_fused(&mut self, now: Duration) {
        let fused = self.fusing.fuse(self.session.reader().current(), now);
        self.tell_reading(fused).await;
    }

    async fn tell_reading(&mut self, reading: Reading) {
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
        self.tell_dialog(reading.dialog).await;
    }

    /// Tells of a dialog that is not the one that was told of. A moved mark makes
    /// no other dialog.
    async fn tell_dialog(&mut self, dialog: Option<Dialog>) {
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
    async fn tell_state(&self) {
        self.record(Event::SlotStateChanged {
            slot: self.slot.id,
            state: self.published,
        })
        .await;
    }

    async fn ended(&mut self, reason: &str, status: ExitStatus) {
        let mut changes = Vec::new();
        let now = self.now();
        self.session.exited(now, &mut changes);
        self.end_typing().await;
        let closed = self.close(reason, status, &mut changes).await;
        if let Err(error) = closed {
            tracing::error!(slot = %self.slot.id, %error, "the end of the slot is not on record");
        }
        for (_, outcome) in &mut self.killers {
            reason.clone_into(outcome);
        }
        self.viewers.end(self.session.terminal(), reason);
    }

    async fn close(
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
        self.note_end(status.code).await;
        let last_words = self.last_words(status);
        self.record(Event::SessionCompleted {
            slot: id,
            conversation: None,
            exit_status: status.code,
            signal: status.signal,
            last_words,
        })
        .await;
        self.context.close(id, reason).await
    }

    /// What stood at the end of the screen of a program that failed.
    fn last_words(&mut self, status: ExitStatus) -> Option<String> {
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

    /// The recording cannot be written, and the program waits. The disk that is
    /// full may be the database's, too: then it is put on record afterwards.
    async fn stalled(&mut self, why: String) {
        tracing::error!(slot = %self.slot.id, why, "a program waits");
        if self.stalled.is_some() {
            return;
        }
        let on_record = self.record_stall(why.clone()).await;
        self.stalled = Some(Stall { why, on_record });
    }

    async fn goes_on(&mut self) {
        let Some(Stall { why, on_record }) = self.stalled.take() else {
            return;
        };
        tracing::info!(slot = %self.slot.id, "the recording is written again");
        if !on_record {
            self.record_stall(why).await;
        }
        let slot = self.slot.id;
        self.record(Event::SlotRecordingResumed { slot }).await;
    }

    async fn record_stall(&self, why: String) -> bool {
        let (slot, name) = (self.slot.id, self.slot.name.clone());
        let stalled = Event::SlotRecordingStalled { slot, name, why };
        let timeline = &self.context.timeline;
        timeline.record(stalled, TraceContext::root()).await.is_ok()
    }

    fn trouble(&self) -> Option<String> {
        match (&self.stalled, self.terminal) {
            (Some(stall), _) => Some(stall.why.clone()),
            (None, TerminalEnd::Closed) => {
                Some("the program runs on, but it has closed its terminal".to_owned())
            }
            (None, TerminalEnd::Open) => None,
        }
    }

    async fn record(&self, event: Event) {
        let kind = event.kind();
        if let Err(error) = self
            .context
            .timeline
            .record(event, TraceContext::root())
            .await
        {
            tracing::error!(slot = %self.slot.id, kind, %error, "an event is not on the timeline");
        }
    }
}

fn is_possible(size: Size) -> bool {
    (MIN_SIZE.columns..=MAX_SIZE.columns).contains(&size.columns)
        && (MIN_SIZE.rows..=MAX_SIZE.rows).contains(&size.rows)
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

async fn input(host: &mut HostConnection, bytes: &[u8]) -> Result<(), HostError> {
    for piece in bytes.chunks(MAX_INPUT) {
        host.send(&ToHost::Input(piece.to_vec())).await?;
    }
    Ok(())
}
