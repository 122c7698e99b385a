//! The blocking client of the daemon's socket.
//!
//! One request at a time on its connection, which is what a command needs; it
//! starts no runtime and no thread, so a command that asks one thing is over in
//! milliseconds. A program that wants many requests at once opens as many
//! connections.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::Duration;

use interprocess::local_socket::{Stream, prelude::*};
use missiond_core::{ErrorCode, TimelineEvent};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    ApiError, EventNotice, Frame, FrameDecoder, HelloParams, Home, HomeError, Incoming,
    METHOD_EVENT, METHOD_HELLO, METHOD_SUBSCRIBE, Operation, PROTOCOL_VERSION, Request, RequestId,
    SubscribeParams, SubscribeResult, Welcome,
};

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens on the socket.
    #[error("the daemon is not running (nothing answers on {socket})")]
    NotRunning { socket: String },
    /// Something listens, but does not say hello.
    #[error("the daemon on {socket} does not answer within {limit:?}: it is stuck or suspended")]
    Silent { socket: String, limit: Duration },
    #[error("cannot reach the daemon on {socket}: {source}")]
    Connect { socket: String, source: io::Error },
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The daemon answered with an error.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The connection ended before the answer came. Whether the daemon carried
    /// the request out is unknown.
    #[error("the daemon closed the connection before it answered")]
    Closed,
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    #[error("the connection to the daemon failed: {0}")]
    Io(#[from] io::Error),
    #[error("the daemon sent something this version does not understand: {0}")]
    Protocol(String),
}

impl ClientError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Api(error) => error.code,
            Self::Home(_) => ErrorCode::InvalidConfig,
            Self::TimedOut(_) => ErrorCode::Timeout,
            Self::Protocol(_) => ErrorCode::VersionMismatch,
            Self::NotRunning { .. }
            | Self::Silent { .. }
            | Self::Connect { .. }
            | Self::Closed
            | Self::Io(_) => ErrorCode::Unreachable,
        }
    }
}

/// A connection that has said hello.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    decoder: FrameDecoder,
    next_id: i64,
    timeout: Duration,
    welcome: Welcome,
    /// Events that arrived while an answer was awaited.
    early_events: VecDeque<EventNotice>,
}

impl Client {
    /// Longer than the daemon's own limit for an operation, so that the daemon
    /// is the one to say that time ran out.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(65);

    /// A daemon that lives says hello at once.
    const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

    /// Connects and says hello.
    pub fn connect(home: &Home) -> Result<Self, ClientError> {
        Self::connect_within(home, Self::DEFAULT_TIMEOUT)
    }

    /// As [`connect`](Self::connect), with a limit for each answer.
    pub fn connect_within(home: &Home, timeout: Duration) -> Result<Self, ClientError> {
        let socket = home.socket_place().display().to_string();
        let stream =
            Stream::connect(home.socket_name()?).map_err(|source| match source.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    ClientError::NotRunning {
                        socket: socket.clone(),
                    }
                }
                _ => ClientError::Connect {
                    socket: socket.clone(),
                    source,
                },
            })?;
        let first = timeout.min(Self::HELLO_TIMEOUT);
        stream.set_recv_timeout(Some(first))?;
        stream.set_send_timeout(Some(first))?;
        let mut client = Self {
            stream,
            decoder: FrameDecoder::default(),
            next_id: 0,
            timeout: first,
            // Replaced by the daemon's own words below.
            welcome: Welcome {
                protocol: PROTOCOL_VERSION,
                version: String::new(),
                daemon: missiond_core::DaemonId::from_uuid(Default::default()),
                pid: 0,
            },
            early_events: VecDeque::new(),
        };
        let hello = HelloParams {
            protocol: PROTOCOL_VERSION,
            client: concat!("mission ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        client.welcome = client
            .request(METHOD_HELLO, &hello)
            .map_err(|error| match error {
                ClientError::TimedOut(limit) => ClientError::Silent { socket, limit },
                other => other,
            })?;
        client.timeout = timeout;
        client.stream.set_recv_timeout(Some(timeout))?;
        client.stream.set_send_timeout(Some(timeout))?;
        Ok(client)
    }

    /// What the daemon said of itself.
    #[must_use]
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Calls an operation of the catalogue.
    pub fn call<O: Operation>(&mut self, params: &O::Params) -> Result<O::Result, ClientError> {
        let params = O::encode_params(params).map_err(|error| malformed(&error))?;
        let result = self.request_raw(O::SPEC.name, &params)?;
        O::parse_result(result.get()).map_err(|error| malformed(&error))
    }

    /// Calls an operation by name, with parameters as JSON text.
    pub fn call_raw(
        &mut self,
        operation: &str,
        params: &RawValue,
    ) -> Result<Box<RawValue>, ClientError> {
        self.request_raw(operation, &params)
    }

    /// Turns the connection into a stream of events.
    pub fn subscribe(mut self, params: &SubscribeParams) -> Result<Subscription, ClientError> {
        let begun: SubscribeResult = self.request(METHOD_SUBSCRIBE, params)?;
        self.wait_for_ever()?;
        Ok(Subscription {
            client: self,
            begun,
        })
    }

    pub(crate) fn request<R: serde::de::DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, ClientError> {
        let result = self.request_raw(method, params)?;
        serde_json::from_str(result.get()).map_err(|error| malformed(&error))
    }

    fn request_raw(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Box<RawValue>, ClientError> {
        self.next_id += 1;
        let id = RequestId::Number(self.next_id);
        let line = Request::line(&id, method, params);
        if let Err(error) = (&self.stream).write_all(&line) {
            // The daemon may have said why before it closed, for instance that
            // it has too many connections; that sentence is worth more.
            return Err(self.parting_words().unwrap_or_else(|| self.io_error(error)));
        }
        loop {
            match self.next_message()? {
                Incoming::Response(response) if response.id.as_ref() == Some(&id) => {
                    return Ok(response.result?);
                }
                // An answer without an id speaks of the connection as a whole.
                Incoming::Response(response) if response.id.is_none() => {
                    return Err(response.result.err().map_or_else(
                        || ClientError::Protocol("an answer to no request".to_owned()),
                        ClientError::Api,
                    ));
                }
                Incoming::Notification(notice) if notice.method == METHOD_EVENT => {
                    self.early_events
                        .push_back(parse_notice(notice.params.as_deref())?);
                }
                // Answers to requests that were given up, notices of later versions.
                Incoming::Response(_) | Incoming::Notification(_) | Incoming::Request(_) => {}
            }
        }
    }

    /// Sends what expects no answer.
    pub(crate) fn send_line(&mut self, line: &[u8]) -> Result<(), ClientError> {
        (&self.stream)
            .write_all(line)
            .map_err(|error| self.io_error(error))
    }

    /// From now on the next message may come at any time.
    pub(crate) fn wait_for_ever(&self) -> Result<(), ClientError> {
        Ok(self.stream.set_recv_timeout(None)?)
    }

    fn parting_words(&mut self) -> Option<ClientError> {
        match self.next_message() {
            Ok(Incoming::Response(response)) => response.result.err().map(ClientError::Api),
            _ => None,
        }
    }

    pub(crate) fn next_message(&mut self) -> Result<Incoming, ClientError> {
        let mut chunk = [0u8; 16 * 1024];
        loop {
            match self.decoder.next_frame() {
                Some(Frame::Message(line)) => return Ok(Incoming::parse(line)?),
                Some(Frame::TooLarge) => {
                    return Err(ClientError::Protocol("a message over 1 MB".to_owned()));
                }
                None => {}
            }
            match (&self.stream).read(&mut chunk) {
                Ok(0) => return Err(ClientError::Closed),
                Ok(read) => self.decoder.feed(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.io_error(error)),
            }
        }
    }

    fn io_error(&self, error: io::Error) -> ClientError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                ClientError::TimedOut(self.timeout)
            }
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => ClientError::Closed,
            _ => ClientError::Io(error),
        }
    }
}

/// Events as they come, for as long as the daemon lives.
#[derive(Debug)]
pub struct Subscription {
    client: Client,
    begun: SubscribeResult,
}

impl Subscription {
    /// The newest stored event when the subscription began.
    #[must_use]
    pub fn head(&self) -> missiond_core::Seq {
        self.begun.head
    }

    /// The next event; blocks until there is one.
    pub fn next_event(&mut self) -> Result<TimelineEvent, ClientError> {
        loop {
            let notice = match self.client.early_events.pop_front() {
                Some(notice) => notice,
                None => match self.client.next_message()? {
                    Incoming::Notification(notice) if notice.method == METHOD_EVENT => {
                        parse_notice(notice.params.as_deref())?
                    }
                    Incoming::Response(response) => {
                        response.result?;
                        continue;
                    }
                    Incoming::Notification(_) | Incoming::Request(_) => continue,
                },
            };
            if notice.subscription == self.begun.subscription {
                return Ok(notice.event);
            }
        }
    }
}

fn parse_notice(params: Option<&RawValue>) -> Result<EventNotice, ClientError> {
    serde_json::from_str(params.map_or("{}", RawValue::get)).map_err(|error| malformed(&error))
}

fn malformed(error: &serde_json::Error) -> ClientError {
    ClientError::Protocol(error.to_string())
}
