//! The life of a host: bytes from the program to the recording and the daemon,
//! bytes from the daemon to the program, and the end of it all.
//!
//! Recorded first, sent afterwards. The program waits (as at any terminal that
//! does not keep up) while the recording cannot be written or a connected
//! daemon is far behind; it never waits for a daemon that is not there.

mod handoff;

use std::io;
use std::pin::pin;
use std::time::Duration;

use missiond_os::processes::Ending;
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{Child, ChildStderr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::backlog::Backlog;
use super::cgroup::Cgroup;
use super::channel::{Channel, IncomingLines, InputEnd, OutputEnd, read_errors};
use super::connection::{AcceptedDaemon, DaemonAcceptor, Outgoing};
use super::fence::Fence;
use super::frame::{FromHost, ToHost};
use super::peer::{Door, Stranger};
use super::process::{ExitStatus, HostFiles, HostRecord, LaunchSpec};
use super::recording::Recorder;
use super::start::Started;
use super::tree;
use super::unattended::Unattended;
use crate::cast::CastError;

/// Written data reaches the disk at the latest after this.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// A recording that could not be written is tried again after this.
const RETRY: Duration = Duration::from_secs(1);
/// How often it is checked whether everything is gone.
const END_POLL: Duration = Duration::from_millis(20);
/// What a program leaves running when it ends has this long to end too.
const LEFTOVER_GRACE: Duration = Duration::from_secs(2);
/// When all processes are gone, output still in the terminal comes at once.
const DRAIN: Duration = Duration::from_secs(1);
/// How often a terminal that the program has closed is looked at.
const REOPEN_POLL: Duration = Duration::from_millis(200);
/// How long an exit waits for a daemon to hear of it.
const LINGER: Duration = Duration::from_secs(600);
/// Input the program has not read yet.
const MAX_UNREAD_INPUT: usize = 1 << 20;
/// Lines a program has not read yet: two of the longest.
const MAX_UNREAD_LINES: usize = 20 << 20;
/// A recording that cannot be written holds up an end for this long at most.
const UNRECORDED: Duration = Duration::from_secs(10);
/// Of whom a daemon has not been told yet, at most.
const MAX_TURNED_AWAY: usize = 8;
/// Whoever comes again and again is told of as often.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// What a request to end may ask for.
const MAX_GRACE: Duration = Duration::from_secs(600);

/// A program with what it is connected by.
pub(super) struct Connected {
    pub(super) child: Child,
    pub(super) output: OutputEnd,
    pub(super) input: InputEnd,
    /// Its standard error, where that is not the terminal too.
    pub(super) errors: Option<ChildStderr>,
}

pub(super) struct Program {
    pub(super) connected: Connected,
    pub(super) cgroup: Option<Cgroup>,
}

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Processes have been asked to end and are killed after a while.
    Ending(Ending),
    /// All processes are gone; what they wrote last is being read until then,
    /// and recorded if that can be done before the second time.
    Draining {
        until: Instant,
        give_up: Instant,
    },
    /// The exit is on record and waits until then for a daemon.
    Ended {
        until: Instant,
    },
}

pub(super) struct Host {
    /// What the program was started by: the next one gets the same but for what is said.
    spec: LaunchSpec,
    record: HostRecord,
    fence: Fence,
    /// What takes the program's place when it has ended.
    next: Option<LaunchSpec>,
    files: HostFiles,
    program: Connected,
    cgroup: Option<Cgroup>,
    listener: UnixListener,
    recorder: Recorder,
    backlog: Backlog,
    /// Input the program has not taken yet.
    input: Vec<u8>,
    /// Lines to a program with pipes.
    lines: IncomingLines,
    acceptor: DaemonAcceptor,
    accepted: mpsc::Receiver<AcceptedDaemon>,
    incoming: Option<mpsc::Receiver<ToHost>>,
    outgoing: Option<Outgoing>,
    /// Who was turned away, for the next daemon that listens.
    turned_away: Vec<Stranger>,
    tell_at: Instant,
    /// Answers the program while no daemon does.
    unattended: Option<Unattended>,
    /// Why the recording cannot be written, as long as it cannot.
    stalled: Option<String>,
    status: Option<ExitStatus>,
    phase: Phase,
    /// The terminal has no other side any more.
    hung_up: bool,
    /// The program lives and has closed its terminal; when to look again.
    closed_terminal: Option<Instant>,
    exit_acknowledged: bool,
    next_sync: Instant,
    next_retry: Instant,
}

/// What a read fills, by where it reads.
struct Buffers {
    output: Vec<u8>,
    errors: Vec<u8>,
}

/// What the host waits for.
enum HostEvent {
    Output(io::Result<usize>),
    Errors(io::Result<usize>),
    InputWritten(io::Result<usize>),
    Connected(io::Result<UnixStream>),
    DaemonAccepted(AcceptedDaemon),
    Frame(Option<ToHost>),
    Sent(io::Result<()>),
    Exited(io::Result<std::process::ExitStatus>),
    ChildChanged,
    Terminate,
    Time,
}

impl Host {
    pub(super) fn new(
        spec: LaunchSpec,
        files: HostFiles,
        started: Started,
        listener: UnixListener,
    ) -> Self {
        let Started {
            record,
            program,
            recorder,
        } = started;
        let Program {
            connected: program,
            cgroup,
        } = program;
        let now = Instant::now();
        let (acceptor, accepted) = DaemonAcceptor::new(Door::of(&files.socket));
        Self {
            fence: Fence::new(spec.generation),
            next: None,
            spec,
            record,
            files,
            program,
            cgroup,
            listener,
            recorder,
            backlog: Backlog::default(),
            input: Vec::new(),
            lines: IncomingLines::default(),
            acceptor,
            accepted,
            incoming: None,
            outgoing: None,
            turned_away: Vec::new(),
            tell_at: now,
            unattended: None,
            stalled: None,
            status: None,
            phase: Phase::Running,
            hung_up: false,
            closed_terminal: None,
            exit_acknowledged: false,
            next_sync: now,
            next_retry: now,
        }
    }

    pub(super) fn record(&self) -> &HostRecord {
        &self.record
    }

    pub(super) async fn serve(mut self) -> io::Result<()> {
        let mut children = signal(SignalKind::child())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut buffers = Buffers {
            output: vec![0; 64 << 10],
            errors: vec![0; 4 << 10],
        };
        loop {
            self.queue_due_output();
            let event = self.wait(&mut buffers, &mut children, &mut terminate).await;
            self.handle_event(event, &buffers);
            self.advance();
            if self.exit_acknowledged {
                self.files.remove();
                return Ok(());
            }
            if let Phase::Ended { until } = self.phase
                && Instant::now() >= until
            {
                // The record stays: it tells the next daemon how it ended.
                let _ = std::fs::remove_file(&self.files.socket);
                return Ok(());
            }
        }
    }

    async fn wait(
        &mut self,
        buffers: &mut Buffers,
        children: &mut tokio::signal::unix::Signal,
        terminate: &mut tokio::signal::unix::Signal,
    ) -> HostEvent {
        let behind = self
            .outgoing
            .as_ref()
            .is_some_and(|outgoing| outgoing.is_far_behind(&self.backlog));
        let closed = self
            .closed_terminal
            .is_some_and(|again| Instant::now() < again);
        let recorded = self.recorder.is_clear();
        let may_read = !self.hung_up && !closed && !behind && recorded;
        // What is on record was said, whoever asks later: so nothing else is said.
        let may_write = !self.hung_up && !self.input.is_empty() && (recorded || !self.has_pipes());
        let time = self.next_deadline();
        let time = pin!(async move {
            match time {
                Some(time) => tokio::time::sleep_until(time).await,
                None => std::future::pending().await,
            }
        });
        let queued = self.outgoing.as_ref().is_some_and(Outgoing::has_queued);
        let choked = self.outgoing.as_ref().is_some_and(Outgoing::is_choked);
        tokio::select! {
            read = self.program.output.read(&mut buffers.output), if may_read => HostEvent::Output(read),
            read = read_errors(self.program.errors.as_mut(), &mut buffers.errors), if recorded => HostEvent::Errors(read),
            written = self.program.input.write(&self.input), if may_write => HostEvent::InputWritten(written),
            accepted = self.listener.accept() => HostEvent::Connected(accepted.map(|(stream, _)| stream)),
            Some(accepted) = self.accepted.recv() => HostEvent::DaemonAccepted(accepted),
            frame = next_frame(self.incoming.as_mut()), if !choked => HostEvent::Frame(frame),
            sent = send(self.outgoing.as_mut()), if queued => HostEvent::Sent(sent),
            status = self.program.child.wait(), if self.status.is_none() => HostEvent::Exited(status),
            _ = children.recv() => HostEvent::ChildChanged,
            _ = terminate.recv() => HostEvent::Terminate,
            () = time => HostEvent::Time,
        }
    }

    fn handle_event(&mut self, event: HostEvent, buffers: &Buffers) {
        match event {
            HostEvent::Output(Ok(0) | Err(_)) => self.output_closed(),
            HostEvent::Errors(Ok(0) | Err(_)) => self.program.errors = None,
            HostEvent::Errors(Ok(count)) => {
                let said = &buffers.errors[..count];
                if let Err(error) = self.recorder.errors(said) {
                    self.next_retry = Instant::now() + RETRY;
                    self.stall(&error);
                }
                self.queue_frame(&FromHost::Errors(said.to_vec()));
            }
            HostEvent::Output(Ok(count)) => {
                let output = &buffers.output[..count];
                if self.closed_terminal.take().is_some() {
                    self.queue_frame(&FromHost::TerminalOpened);
                }
                // A failure is kept by the recorder, and reading waits for it.
                if let Err(error) = self.recorder.output(output) {
                    self.next_retry = Instant::now() + RETRY;
                    self.stall(&error);
                }
                self.backlog.push(output);
                self.answer_unattended(output);
                if let Phase::Draining { until, .. } = &mut self.phase {
                    *until = Instant::now() + DRAIN;
                }
            }
            HostEvent::InputWritten(Ok(count)) => {
                self.input.drain(..count);
            }
            HostEvent::InputWritten(Err(_)) => self.input.clear(),
            HostEvent::Connected(Ok(stream)) => {
                if let Err(stranger) = self.acceptor.accept(stream) {
                    self.turn_away(stranger);
                }
            }
            HostEvent::Connected(Err(_)) => {}
            HostEvent::DaemonAccepted(accepted) => self.serve_daemon(accepted),
            HostEvent::Frame(Some(frame)) => self.handle_frame(frame),
            HostEvent::Frame(None) | HostEvent::Sent(Err(_)) => self.disconnect(),
            HostEvent::Sent(Ok(())) | HostEvent::Time => {}
            HostEvent::Exited(status) => {
                let unknown = ExitStatus {
                    code: None,
                    signal: None,
                };
                self.status = Some(status.map_or(unknown, ExitStatus::from));
                self.begin_end(LEFTOVER_GRACE);
            }
            HostEvent::ChildChanged => {
                tree::descendants(self.record.program_pid);
            }
            HostEvent::Terminate => {
                if let Phase::Ended { until } = &mut self.phase {
                    // It only waits for a daemon, and the record will tell that one.
                    *until = Instant::now();
                }
                self.cancel_handoff();
                self.begin_end(LEFTOVER_GRACE);
            }
        }
    }

    /// The newest daemon is the living one: it holds the lock.
    fn serve_daemon(&mut self, accepted: AcceptedDaemon) {
        let AcceptedDaemon {
            resume_from,
            generation,
            frames,
            writer,
        } = accepted;
        // It believes in a program that has been followed by another: its record is old.
        if !self.fence.admits(generation) {
            return;
        }
        self.incoming = Some(frames);
        self.outgoing = Some(Outgoing::new(writer));
        self.unattended = None;
        self.resume(resume_from);
        if self.has_pipes() {
            // Half a line was the last daemon's, and is nobody's now.
            self.lines.forget_half();
            self.queue_frame(&FromHost::LinesTaken(self.lines.taken()));
        }
        if let Some(why) = self.stalled.clone() {
            self.queue_frame(&FromHost::Stalled(why));
        }
        if self.closed_terminal.is_some() {
            self.queue_frame(&FromHost::TerminalClosed);
        }
    }

    /// Keeps for the record who was turned away: those of one slot together, and no more
    /// than a few.
    fn turn_away(&mut self, stranger: Stranger) {
        let mut known = self.turned_away.iter_mut();
        if let Some(known) = known.find(|known| known.host == stranger.host) {
            known.attempts += stranger.attempts;
        } else if self.turned_away.len() < MAX_TURNED_AWAY {
            self.turned_away.push(stranger);
        }
    }

    fn tell_of_strangers(&mut self, now: Instant) {
        if now < self.tell_at || self.turned_away.is_empty() {
            return;
        }
        if let Some(outgoing) = self.outgoing.as_mut().filter(|one| !one.is_choked()) {
            for stranger in self.turned_away.drain(..) {
                outgoing.push(&FromHost::TurnedAway(stranger));
            }
        }
        self.tell_at = now + TELL_EVERY;
    }

    fn resume(&mut self, from: u64) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.resume(from, &self.backlog);
        }
    }

    fn handle_frame(&mut self, frame: ToHost) {
        match frame {
            ToHost::Hello { resume_from, .. } => self.resume(resume_from),
            ToHost::Input(_) if self.phase != Phase::Running || !self.fence.takes_input() => {
                self.refuse("the program has ended or is being ended");
            }
            ToHost::Input(bytes) if self.has_pipes() => self.take_lines(&bytes),
            ToHost::Input(bytes) if self.input.len() + bytes.len() > MAX_UNREAD_INPUT => {
                let refused = bytes.len();
                self.refuse(&format!(
                    "{refused} bytes of input were dropped: the program does not read its input"
                ));
            }
            ToHost::Input(bytes) => {
                if self.recorder.is_clear() {
                    let _ = self.recorder.input(&bytes);
                }
                self.input.extend_from_slice(&bytes);
            }
            ToHost::Resize(size) => match self.program.input.resize(size) {
                Ok(()) => {
                    let _ = self.recorder.resize(size);
                }
                Err(error) => self.refuse(&format!("the size was not changed: {error}")),
            },
            ToHost::Kill { grace_ms } => {
                self.cancel_handoff();
                self.begin_end(Duration::from_millis(grace_ms).min(MAX_GRACE));
            }
            ToHost::Handoff(next) => self.begin_handoff(*next),
            ToHost::ExitAcknowledged => {
                self.exit_acknowledged = matches!(self.phase, Phase::Ended { .. });
            }
        }
    }

    fn has_pipes(&self) -> bool {
        self.program.input.channel() == Channel::Pipes
    }

    /// Lines for a program with pipes: recorded first, whole, and counted.
    fn take_lines(&mut self, bytes: &[u8]) {
        let room = MAX_UNREAD_LINES.saturating_sub(self.input.len());
        let lines = if self.recorder.is_clear() {
            self.lines.push(bytes, room)
        } else {
            None
        };
        let Some(lines) = lines else {
            self.lines.forget_half();
            self.refuse("a line was not taken: the program does not read, or the disk is full");
            return;
        };
        if lines.is_empty() {
            return;
        }
        // A failure is kept by the recorder, and writing waits for it.
        if let Err(error) = self.recorder.input(&lines) {
            self.next_retry = Instant::now() + RETRY;
            self.stall(&error);
        }
        self.input.extend_from_slice(&lines);
        self.queue_frame(&FromHost::LinesTaken(self.lines.taken()));
    }

    /// Nothing more can be read.
    fn output_closed(&mut self) {
        if !self.has_pipes() {
            self.terminal_closed();
        } else if self.status.is_none() && self.phase == Phase::Running {
            // A program that nobody hears any more is of no use.
            self.hung_up = true;
            self.begin_end(LEFTOVER_GRACE);
        } else {
            self.hung_up = true;
        }
    }

    /// Nobody has the terminal open. While the program lives it, or something it
    /// started, can open it again.
    fn terminal_closed(&mut self) {
        if self.status.is_some() {
            self.hung_up = true;
            return;
        }
        if self.closed_terminal.is_none() {
            self.queue_frame(&FromHost::TerminalClosed);
        }
        self.closed_terminal = Some(Instant::now() + REOPEN_POLL);
    }

    /// Answers what can be answered without a daemon when there is none.
    fn answer_unattended(&mut self, output: &[u8]) {
        if self.outgoing.is_some() || self.has_pipes() {
            return;
        }
        let size = self.recorder.size();
        let unattended = self.unattended.get_or_insert_with(|| Unattended::new(size));
        let answers = unattended.answers(output);
        if !answers.is_empty() && self.input.len() + answers.len() <= MAX_UNREAD_INPUT {
            if self.recorder.is_clear() {
                let _ = self.recorder.input(&answers);
            }
            self.input.extend_from_slice(&answers);
        }
    }

    fn stall(&mut self, error: &CastError) {
        let path = self.record.recording.display();
        let cause =
            std::error::Error::source(error).map_or(String::new(), |cause| format!(" ({cause})"));
        let why = format!(
            "the recording {path} cannot be written{cause}: the program waits until it can, so \
             free some space"
        );
        if self.stalled.is_none() {
            self.queue_frame(&FromHost::Stalled(why.clone()));
        }
        self.stalled = Some(why);
    }

    /// Asks every process to end. Asked again, it can only become sooner.
    fn begin_end(&mut self, grace: Duration) {
        let program = self.record.program_pid;
        match &mut self.phase {
            Phase::Running => {
                let mut ending = Ending::within(grace);
                ending.signal(Some(program), &tree::descendants(program));
                self.phase = Phase::Ending(ending);
            }
            Phase::Ending(ending) => ending.hasten(grace),
            Phase::Draining { .. } | Phase::Ended { .. } => {}
        }
    }

    /// Does what has fallen due.
    fn advance(&mut self) {
        let now = Instant::now();
        self.tell_of_strangers(now);
        if now >= self.next_retry && !self.recorder.is_clear() {
            if let Err(error) = self.recorder.flush() {
                self.stall(&error);
            }
            self.next_retry = now + RETRY;
        }
        if self.stalled.is_some() && self.recorder.is_clear() {
            self.stalled = None;
            self.queue_frame(&FromHost::Resumed);
        }
        if now >= self.next_sync {
            for file in self.recorder.take_unsynced() {
                tokio::task::spawn_blocking(move || file.sync_data());
            }
            self.next_sync = now + SYNC_EVERY;
        }
        if let Phase::Ending(ending) = &mut self.phase {
            let program = self.record.program_pid;
            let below = tree::descendants(program);
            let populated = self.cgroup.as_ref().is_some_and(Cgroup::is_populated);
            if below.is_empty() && !populated && self.status.is_some() {
                self.phase = Phase::Draining {
                    until: now + DRAIN,
                    give_up: now + UNRECORDED,
                };
            } else {
                ending.signal(Some(program), &below);
                if ending.is_killing()
                    && let Some(cgroup) = &self.cgroup
                {
                    cgroup.kill();
                }
            }
        }
        if let Phase::Draining { until, give_up } = self.phase
            && (self.hung_up || now >= until)
        {
            self.hung_up = true;
            if self.recorder.is_clear() {
                let _ = self.recorder.finish();
            }
            if self.recorder.is_clear() || now >= give_up {
                match self.next.take() {
                    Some(next) => self.hand_off(next, now),
                    None => self.end(now),
                }
            }
        }
    }

    /// Puts the exit on record.
    fn end(&mut self, now: Instant) {
        if let Some(cgroup) = self.cgroup.take() {
            cgroup.remove();
        }
        self.record.exited = self.status;
        let _ = self.files.write(&self.record);
        self.phase = Phase::Ended {
            until: now + LINGER,
        };
    }

    fn next_deadline(&mut self) -> Option<Instant> {
        let end = match self.phase {
            Phase::Running => None,
            Phase::Ending(_) => Some(Instant::now() + END_POLL),
            Phase::Draining { give_up, .. } if self.hung_up => Some(give_up),
            Phase::Draining { until, .. } | Phase::Ended { until } => Some(until),
        };
        let retry = (!self.recorder.is_clear()).then_some(self.next_retry);
        let sync = self.recorder.is_unsynced().then_some(self.next_sync);
        let reopen = self.closed_terminal.filter(|_| !self.hung_up);
        let tell = (!self.turned_away.is_empty()).then_some(self.tell_at);
        [end, retry, sync, reopen, tell].into_iter().flatten().min()
    }

    fn queue_due_output(&mut self) {
        let exit = match self.phase {
            Phase::Ended { .. } => self.status,
            _ => None,
        };
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        if outgoing
            .fill(&self.backlog, &self.record.recording, exit)
            .is_err()
        {
            // The recording is gone or damaged: the daemon may try again.
            self.disconnect();
        }
    }

    fn refuse(&mut self, why: &str) {
        self.queue_frame(&FromHost::Refused(why.to_owned()));
    }

    fn queue_frame(&mut self, frame: &FromHost) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.push(frame);
        }
    }

    fn disconnect(&mut self) {
        self.incoming = None;
        self.outgoing = None;
    }
}

async fn next_frame(incoming: Option<&mut mpsc::Receiver<ToHost>>) -> Option<ToHost> {
    match incoming {
        Some(incoming) => incoming.recv().await,
        None => std::future::pending().await,
    }
}

async fn send(outgoing: Option<&mut Outgoing>) -> io::Result<()> {
    match outgoing {
        Some(outgoing) => outgoing.send().await,
        None => std::future::pending().await,
    }
}
