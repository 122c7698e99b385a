//! `mission execution mcp` and `mission mcp serve`: carry an agent's MCP messages
//! between its standard input and output and the daemon, and hide that the daemon
//! may be restarted. What was not answered is sent to the next daemon again, if
//! that cannot do anything twice.
//!
//! Standard output is for the protocol alone. The bridge ends with the client's
//! input, or when the daemon will not have it (any more).

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use missiond_api::{
    AccessFile, CATALOGUE, CommanderHelloParams, Effect, Frame, FrameDecoder, Incoming, MAX_FRAME,
    METHOD_COMMANDER_HELLO, METHOD_OVERSIZED, Notification, OversizedParams,
};
use missiond_core::{ErrorCode, ObservationId};
use missiond_mcp::{Bridge, BridgeLine, Repeat};
use serde_json::json;

use super::agent_link::{AgentLink, LinkError};
use crate::failure::Failure;

/// How long a call waits for a daemon that is away before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(200);
const HELLO_LIMIT: Duration = Duration::from_secs(5);
/// What is under way when the client has said its last word.
const AFTER_CLIENT: Duration = Duration::from_secs(2);
/// Messages up to this are read whole, to answer that they are too large.
const LONGEST_READ: usize = 8 * MAX_FRAME;
const QUEUE: usize = 64;

/// Carries the messages of an execution's agent.
pub(super) fn run(access_file: &Path) -> Result<ExitCode, Failure> {
    let access = AccessFile::read(access_file)
        .map_err(|error| Failure::new(ErrorCode::InvalidParams, error.to_string()))?;
    carry(Caller::Agent(access), Repeat::Named)
}

/// Carries the messages of a person's own agent. `revive` starts a daemon that is
/// not there when the agent asks for something.
pub(super) fn command(
    socket: PathBuf,
    hello: CommanderHelloParams,
    revive: Option<Box<dyn Fn() -> Result<(), Failure>>>,
) -> Result<ExitCode, Failure> {
    let caller = Caller::Commander {
        socket,
        hello,
        revive,
    };
    carry(caller, Repeat::Harmless(is_harmless))
}

/// Whom the bridge speaks for.
enum Caller {
    Agent(AccessFile),
    Commander {
        socket: PathBuf,
        hello: CommanderHelloParams,
        revive: Option<Box<dyn Fn() -> Result<(), Failure>>>,
    },
}

impl Caller {
    fn open(&self) -> Result<AgentLink, LinkError> {
        let due = Instant::now() + HELLO_LIMIT;
        match self {
            Self::Agent(access) => AgentLink::open(access, due),
            Self::Commander { socket, hello, .. } => {
                AgentLink::greeted(socket, METHOD_COMMANDER_HELLO, hello, due)
            }
        }
    }
}

/// Whether calling a tool a second time changes nothing more.
fn is_harmless(tool: &str) -> bool {
    CATALOGUE.iter().any(|spec| {
        spec.name == tool && matches!(spec.effect, Effect::ReadOnly | Effect::Idempotent)
    })
}

fn carry(caller: Caller, repeat: Repeat) -> Result<ExitCode, Failure> {
    let (tell, news) = sync_channel(QUEUE);
    let of_client = tell.clone();
    std::thread::spawn(move || read_client(&of_client));
    Carrier {
        caller,
        bridge: Bridge::new(repeat),
        tell,
        link: None,
        generation: 0,
        away_since: Instant::now(),
        leave_by: None,
    }
    .carry(&news)
}

/// What happened on either side.
enum BridgeEvent {
    Client(Vec<u8>),
    /// Longer than anything that is read whole.
    ClientTooLarge,
    ClientDone,
    Server(u64, Vec<u8>),
    ServerGone(u64),
}

struct Carrier {
    caller: Caller,
    bridge: Bridge,
    tell: SyncSender<BridgeEvent>,
    link: Option<UnixStream>,
    /// Counts connections: news of an old one is no news.
    generation: u64,
    away_since: Instant,
    leave_by: Option<Instant>,
}

impl Carrier {
    fn carry(mut self, news: &Receiver<BridgeEvent>) -> Result<ExitCode, Failure> {
        loop {
            if self.link.is_none() {
                self.connect()?;
            }
            if self
                .leave_by
                .is_some_and(|due| self.bridge.is_quiet() || Instant::now() >= due)
            {
                return Ok(ExitCode::SUCCESS);
            }
            let wait = match (&self.link, self.leave_by) {
                (None, _) => RETRY,
                (Some(_), Some(due)) => due.saturating_duration_since(Instant::now()),
                (Some(_), None) => PATIENCE,
            };
            match news.recv_timeout(wait) {
                Ok(BridgeEvent::Client(line)) => self.pass_on(&line)?,
                Ok(BridgeEvent::ClientTooLarge) => self.too_large(None, LONGEST_READ)?,
                Ok(BridgeEvent::ClientDone) => self.leave_by = Some(Instant::now() + AFTER_CLIENT),
                Ok(BridgeEvent::Server(generation, line)) if generation == self.generation => {
                    if self.bridge.from_server(&line) {
                        write_line(&line)?;
                    }
                }
                Ok(BridgeEvent::ServerGone(generation)) if generation == self.generation => {
                    self.lost()?;
                }
                Ok(BridgeEvent::Server(..) | BridgeEvent::ServerGone(_))
                | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(ExitCode::SUCCESS),
            }
        }
    }

    fn connect(&mut self) -> Result<(), Failure> {
        let opened = self
            .caller
            .open()
            .and_then(|link| Ok((link.sender()?, link)));
        let (sender, mut link) = match opened {
            Ok(opened) => opened,
            Err(LinkError::Refused(error)) => {
                self.give_up(&error.message)?;
                return Err(error.into());
            }
            Err(LinkError::Away(_)) if self.away_since.elapsed() >= PATIENCE => {
                return self
                    .give_up("the daemon is away; whether this was recorded before is not known");
            }
            Err(LinkError::Away(_)) => {
                if let Caller::Commander {
                    revive: Some(revive),
                    ..
                } = &self.caller
                    && !self.bridge.is_quiet()
                    && let Err(failure) = revive()
                {
                    return self.give_up(&failure.message);
                }
                return Ok(());
            }
        };
        self.generation += 1;
        self.link = Some(sender);
        let (generation, tell) = (self.generation, self.tell.clone());
        std::thread::spawn(move || {
            while let Ok(Some(line)) = link.receive() {
                if tell.send(BridgeEvent::Server(generation, line)).is_err() {
                    return;
                }
            }
            let _ = tell.send(BridgeEvent::ServerGone(generation));
        });
        for line in self.bridge.unanswered() {
            self.send(&line)?;
        }
        Ok(())
    }

    fn pass_on(&mut self, line: &[u8]) -> io::Result<()> {
        if line.len() > MAX_FRAME {
            let message = Incoming::parse(line).ok();
            return self.too_large(message.as_ref(), line.len());
        }
        let name = || ObservationId::generate().to_string();
        match self.bridge.from_client(line, name) {
            BridgeLine::Forward(line) => self.send(&line),
            BridgeLine::Refuse(line) => write_line(&line),
        }
    }

    /// The daemon would not read it; it is told that there was something.
    fn too_large(&mut self, message: Option<&Incoming>, bytes: usize) -> io::Result<()> {
        let bytes = bytes as u64;
        if let Caller::Agent(_) = self.caller {
            self.send(&Notification::line(
                METHOD_OVERSIZED,
                &OversizedParams { bytes },
            ))?;
        }
        let id = match message {
            Some(Incoming::Request(request)) => Some(&request.id),
            // Nobody waits for an answer to anything else.
            Some(_) => return Ok(()),
            None => None,
        };
        let why = format!("the message has {bytes} bytes or more, and may have {MAX_FRAME}");
        let error = json!({ "code": -32600, "message": why });
        write_line(
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
                .to_string()
                .as_bytes(),
        )
    }

    /// A line that does not arrive is sent again when there is a connection.
    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        let sent = self.link.as_mut().map(|link| link.write_all(line));
        match sent {
            Some(Err(_)) => self.lost(),
            _ => Ok(()),
        }
    }

    fn lost(&mut self) -> io::Result<()> {
        if let Some(link) = self.link.take() {
            let _ = link.shutdown(std::net::Shutdown::Both);
            self.away_since = Instant::now();
            let why = "the daemon went away; whether this was carried out is not known: look before \
                       you try again";
            for line in self.bridge.lost(why) {
                write_line(&line)?;
            }
        }
        Ok(())
    }

    fn give_up(&mut self, why: &str) -> Result<(), Failure> {
        for line in self.bridge.give_up(why) {
            write_line(&line)?;
        }
        Ok(())
    }
}

fn read_client(tell: &SyncSender<BridgeEvent>) {
    let mut stdin = io::stdin().lock();
    let mut decoder = FrameDecoder::with_limit(LONGEST_READ);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        while let Some(frame) = decoder.next_frame() {
            let news = match frame {
                Frame::Message(line) => BridgeEvent::Client(line.to_vec()),
                Frame::TooLarge => BridgeEvent::ClientTooLarge,
            };
            if tell.send(news).is_err() {
                return;
            }
        }
        match stdin.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => {
                let _ = tell.send(BridgeEvent::ClientDone);
                return;
            }
            Ok(read) => decoder.feed(&chunk[..read]),
        }
    }
}

fn write_line(line: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(line)?;
    if line.last() != Some(&b'\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}
