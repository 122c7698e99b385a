//! The host's side of a connection to a daemon.
//!
//! Output is sent from the byte the daemon asked for: from the recording while
//! that byte is older than the backlog, then from the backlog. What is sent is
//! a function of the offset alone, so nothing is left out and nothing comes
//! twice, whatever happens in between.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Semaphore, mpsc};

use super::backlog::Backlog;
use super::frame::{Frame, FromHost, MAX_OUTPUT, ToHost};
use super::peer::{Door, Stranger};
use super::process::ExitStatus;
use super::segments::{RecordedEvent, Recording, RecordingReader};

/// Encoded frames that wait for the socket.
const QUEUED: usize = 128 << 10;
/// Answers that wait for the socket, at most, before no more is asked.
const CHOKED: usize = 256 << 10;
/// The program waits when a connected daemon is this many bytes behind.
const FAR_BEHIND: u64 = 512 << 10;

/// Who connects has this long to say what it wants.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// Connections that have not said anything yet.
const MAX_HANDSHAKES: usize = 8;

/// A connection that has said hello.
pub(super) struct AcceptedDaemon {
    pub(super) resume_from: u64,
    pub(super) generation: u32,
    pub(super) frames: mpsc::Receiver<ToHost>,
    pub(super) writer: OwnedWriteHalf,
}

/// Turns connections into daemons. One that may not speak here, says
/// something else than hello or nothing at all never takes the place of the
/// daemon that is served.
pub(super) struct DaemonAcceptor {
    door: Door,
    accepted: mpsc::Sender<AcceptedDaemon>,
    permits: Arc<Semaphore>,
}

impl DaemonAcceptor {
    pub(super) fn new(door: Door) -> (Self, mpsc::Receiver<AcceptedDaemon>) {
        let (accepted, received) = mpsc::channel(1);
        let acceptor = Self {
            door,
            accepted,
            permits: Arc::new(Semaphore::new(MAX_HANDSHAKES)),
        };
        (acceptor, received)
    }

    /// Listens to whoever may speak here; gives back who may not.
    pub(super) fn accept(&self, stream: UnixStream) -> Result<(), Stranger> {
        self.door.admit(&stream)?;
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return Ok(());
        };
        let accepted = self.accepted.clone();
        tokio::spawn(async move {
            let (reader, writer) = stream.into_split();
            let mut frames = listen(reader);
            let first = tokio::time::timeout(HANDSHAKE_LIMIT, frames.recv()).await;
            drop(permit);
            if let Ok(Some(ToHost::Hello {
                resume_from,
                generation,
            })) = first
            {
                let hello = AcceptedDaemon {
                    resume_from,
                    generation,
                    frames,
                    writer,
                };
                let _ = accepted.send(hello).await;
            }
        });
        Ok(())
    }
}

/// What the daemon says. Ends when it goes away or stops making sense.
fn listen(stream: OwnedReadHalf) -> mpsc::Receiver<ToHost> {
    let (frames, received) = mpsc::channel(16);
    tokio::spawn(read_frames(stream, frames));
    received
}

async fn read_frames(mut stream: OwnedReadHalf, frames: mpsc::Sender<ToHost>) {
    let mut buffer = Vec::new();
    loop {
        loop {
            match ToHost::decode(&mut buffer) {
                Ok(Some(frame)) => {
                    if frames.send(frame).await.is_err() {
                        return;
                    }
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        match stream.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

#[derive(Debug)]
pub(super) struct Outgoing {
    stream: OwnedWriteHalf,
    queue: Vec<u8>,
    /// The next byte of output to send; none before the daemon said hello.
    next: Option<u64>,
    /// Output that has left the backlog, read from the recording.
    older: Option<RecordingReader>,
    exit_sent: bool,
}

impl Outgoing {
    pub(super) fn new(stream: OwnedWriteHalf) -> Self {
        Self {
            stream,
            queue: Vec::new(),
            next: None,
            older: None,
            exit_sent: false,
        }
    }

    pub(super) fn resume(&mut self, from: u64, backlog: &Backlog) {
        if from > backlog.end() {
            let why = format!(
                "output byte {from} does not exist yet: the program has written {}",
                backlog.end()
            );
            return self.push(&FromHost::Refused(why));
        }
        self.push(&FromHost::AttendedFrom(backlog.end()));
        self.next = Some(from);
        self.older = None;
    }

    pub(super) fn push(&mut self, frame: &FromHost) {
        frame.encode(&mut self.queue);
    }

    /// Whether reading more from the program would only pile up.
    pub(super) fn is_far_behind(&self, backlog: &Backlog) -> bool {
        self.next
            .is_some_and(|next| backlog.end() - next > FAR_BEHIND)
    }

    /// Queues output up to a bound, and after the last of it the exit.
    pub(super) fn fill(
        &mut self,
        backlog: &Backlog,
        recording: &Path,
        exit: Option<ExitStatus>,
    ) -> io::Result<()> {
        while self.queue.len() < QUEUED {
            let Some(next) = self.next else { return Ok(()) };
            if next == backlog.end() {
                break;
            }
            let (next, bytes) = match backlog.from(next, MAX_OUTPUT) {
                Some(bytes) => (next, bytes),
                None => self.older(next, recording)?,
            };
            self.next = Some(next + bytes.len() as u64);
            for (index, piece) in bytes.chunks(MAX_OUTPUT).enumerate() {
                self.push(&FromHost::Output {
                    offset: next + (index * MAX_OUTPUT) as u64,
                    bytes: piece.to_vec(),
                });
            }
        }
        if let Some(status) = exit
            && self.next == Some(backlog.end())
            && !self.exit_sent
        {
            self.exit_sent = true;
            self.push(&FromHost::Exited(status));
        }
        Ok(())
    }

    /// Output from `next` on with its place, as the recording holds it. If it
    /// was deleted, what is left, and the daemon is told.
    fn older(&mut self, next: u64, recording: &Path) -> io::Result<(u64, Vec<u8>)> {
        let mut older = match self.older.take().filter(|older| older.position() == next) {
            Some(older) => older,
            None => Recording::open(recording)
                .and_then(|recording| recording.read_from(next))
                .map_err(io::Error::other)?,
        };
        loop {
            let begin = older.position();
            match older.next().transpose().map_err(io::Error::other)? {
                Some((_, RecordedEvent::Output(bytes))) => {
                    if begin != next {
                        self.push(&FromHost::Gone { kept_from: begin });
                    }
                    self.older = Some(older);
                    return Ok((begin, bytes));
                }
                Some((_, RecordedEvent::Resize(_) | RecordedEvent::Input(_))) => {}
                None => break,
            }
        }
        let missing = format!("the recording ends before byte {next}");
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, missing))
    }

    /// Whether the daemon does not take what it is told. Then it is not listened
    /// to either: each of its frames may need an answer.
    pub(super) fn is_choked(&self) -> bool {
        self.queue.len() > CHOKED
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Sends some of what is queued. Safe to cancel.
    pub(super) async fn send(&mut self) -> io::Result<()> {
        let sent = self.stream.write(&self.queue).await?;
        self.queue.drain(..sent);
        Ok(())
    }
}
