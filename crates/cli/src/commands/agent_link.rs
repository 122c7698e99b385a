//! A connection to the daemon that speaks for an agent: that of one execution, or
//! a person's own. Which one it is, its first message says.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use missiond_api::{
    AccessFile, ApiError, ExecutionHelloParams, Frame, FrameDecoder, Incoming, MAX_FRAME,
    METHOD_EXECUTION_HELLO, PROTOCOL_VERSION, Request, RequestId, Response, socket_place,
};
use missiond_core::ErrorCode;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

#[derive(Debug)]
pub(super) struct AgentLink {
    stream: UnixStream,
    decoder: FrameDecoder,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    /// Trying again may help.
    #[error("the daemon cannot be reached: {0}")]
    Away(#[from] io::Error),
    /// Trying again is of no use.
    #[error(transparent)]
    Refused(ApiError),
}

impl AgentLink {
    /// Connects and proves its right; the daemon must answer until `due`.
    pub(super) fn open(access: &AccessFile, due: Instant) -> Result<Self, LinkError> {
        let hello = ExecutionHelloParams {
            protocol: PROTOCOL_VERSION,
            execution: access.execution,
            token: access.token.clone(),
        };
        Self::greeted(&access.socket, METHOD_EXECUTION_HELLO, &hello, due)
    }

    /// Connects and says this hello.
    pub(super) fn greeted(
        socket: &Path,
        method: &str,
        hello: &impl Serialize,
        due: Instant,
    ) -> Result<Self, LinkError> {
        let mut link = Self {
            stream: UnixStream::connect(socket_place(socket))?,
            // A tool's result holds an operation's result, as structure and as text.
            decoder: FrameDecoder::with_limit(8 * MAX_FRAME),
        };
        link.ask(method, hello, due)?;
        link.stream.set_read_timeout(None)?;
        link.stream.set_write_timeout(None)?;
        Ok(link)
    }

    /// One request that is done when it is answered; nothing else may be under way.
    pub(super) fn ask(
        &mut self,
        method: &str,
        params: &impl Serialize,
        due: Instant,
    ) -> Result<(), LinkError> {
        self.ask_for::<IgnoredAny>(method, params, due).map(drop)
    }

    /// One request and its answer; nothing else may be under way.
    pub(super) fn ask_for<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
        due: Instant,
    ) -> Result<T, LinkError> {
        self.stream.set_write_timeout(Some(left(due)?))?;
        let line = Request::line(&RequestId::Number(0), method, params);
        self.stream.write_all(&line)?;
        loop {
            self.stream.set_read_timeout(Some(left(due)?))?;
            let line = self
                .receive()?
                .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            if let Ok(Incoming::Response(Response { result, .. })) = Incoming::parse(&line) {
                let result = result.map_err(sorted)?;
                return serde_json::from_str(result.get())
                    .map_err(|error| LinkError::Away(io::Error::other(error)));
            }
        }
    }

    /// The next message, or nothing at the end of the connection.
    pub(super) fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut chunk = [0; 16 * 1024];
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                match frame {
                    Frame::Message(line) => return Ok(Some(line.to_vec())),
                    // The daemon says nothing that long.
                    Frame::TooLarge => continue,
                }
            }
            match self.stream.read(&mut chunk)? {
                0 => return Ok(None),
                read => self.decoder.feed(&chunk[..read]),
            }
        }
    }

    /// The sending half, for another thread.
    pub(super) fn sender(&self) -> io::Result<UnixStream> {
        self.stream.try_clone()
    }
}

/// Whether a refusal is the last word.
fn sorted(error: ApiError) -> LinkError {
    match error.code {
        ErrorCode::Busy
        | ErrorCode::RateLimited
        | ErrorCode::ShuttingDown
        | ErrorCode::Timeout
        | ErrorCode::StorageFull
        | ErrorCode::StorageUnavailable => LinkError::Away(io::Error::other(error.message)),
        _ => LinkError::Refused(error),
    }
}

fn left(due: Instant) -> io::Result<Duration> {
    let left = due.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}
