//! A connection of a person's own agent: the MCP server over the catalogue, and
//! nothing else. Requests are worked on beside each other, in one task; a call
//! that waits keeps no other waiting.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{AbortHandle, Abortable, BoxFuture};
use futures::stream::{FuturesUnordered, StreamExt};
use interprocess::local_socket::tokio::Stream;
use missiond_api::{
    ApiError, CommanderHelloParams, CommanderWelcome, Frame, FrameDecoder, METHOD_COMMANDER_HELLO,
    PROTOCOL_VERSION, Request, RequestId, Response,
};
use missiond_core::{ErrorCode, Principal};
use missiond_mcp::{Arrival, Dispatch, Outlet, RequestLifetime, Server, Work};
use missiond_operations::state::{Daemon, VERSION};
use missiond_operations::{ClientId, Operations};
use missiond_runtime::Stage;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::commander::{Changes, Commander, Selection, SessionWatch};
use crate::rate::SharedRate;

/// A message that has begun must be complete, and an answer must be taken,
/// within this time.
const STALL_LIMIT: Duration = Duration::from_secs(60);
/// Unread answers beyond this: nothing more is read until some are taken.
const OUT_HIGH_WATER: usize = 4 * 1024 * 1024;
/// Lines that may wait beside the answers.
const QUEUE: usize = 64;
const MOST_SUBSCRIPTIONS: usize = 16;

/// Serves the connection of this number and principal, whose first message was `hello`.
pub(super) async fn serve(
    daemon: Daemon,
    operations: Arc<Operations>,
    changes: Arc<Changes>,
    stream: Stream,
    decoder: FrameDecoder,
    hello: Request,
    (number, principal, rate): (u64, Principal, SharedRate),
) {
    let (greeted, line) = match greet(&daemon, &hello) {
        Ok(greeted) => {
            let welcome = CommanderWelcome {
                protocol: PROTOCOL_VERSION,
                version: VERSION.to_owned(),
            };
            let line = Response::result_line(&hello.id, &welcome);
            (Some(greeted), line)
        }
        Err(error) => (None, Response::error_line(Some(&hello.id), &error)),
    };
    let mut writer = &stream;
    let said = tokio::time::timeout(STALL_LIMIT, writer.write_all(&line)).await;
    if let (Some((selection, params)), Ok(Ok(()))) = (greeted, said) {
        let (outlet, notices) = mpsc::channel(QUEUE);
        let name = params.client.as_deref().unwrap_or_default();
        let client = ClientId::new("mcp", number, name);
        let commander = Commander::new(
            Daemon::clone(&daemon),
            operations,
            changes,
            selection,
            principal,
            client,
        );
        let connection = CommanderConnection {
            server: Server::new(Arc::new(commander)),
            rate,
            session: SessionWatch::begin(&daemon, &params),
            daemon,
            decoder,
            out: Vec::new(),
            outlet,
            notices,
            in_flight: FuturesUnordered::new(),
            cancels: HashMap::new(),
            subscriptions: 0,
            announcing: None,
            message_due: None,
            reading_due: None,
        };
        connection.listen(&stream).await;
    }
}

fn greet(daemon: &Daemon, hello: &Request) -> Result<(Selection, CommanderHelloParams), ApiError> {
    let params: CommanderHelloParams =
        super::connection::parse(METHOD_COMMANDER_HELLO, hello.params.as_deref())?;
    if params.protocol != PROTOCOL_VERSION {
        let message = format!(
            "this daemon ({VERSION}) speaks protocol {PROTOCOL_VERSION}, the client protocol {}: \
             `mission daemon restart` starts the installed version",
            params.protocol
        );
        return Err(ApiError::new(ErrorCode::VersionMismatch, message));
    }
    let selection = Selection::of(&params, &daemon.config())?;
    Ok((selection, params))
}

struct CommanderConnection {
    daemon: Daemon,
    server: Server,
    /// Tells of the person's session, if this is one.
    session: Option<SessionWatch>,
    rate: SharedRate,
    decoder: FrameDecoder,
    out: Vec<u8>,
    outlet: Outlet,
    notices: mpsc::Receiver<Vec<u8>>,
    in_flight: FuturesUnordered<BoxFuture<'static, Finished>>,
    cancels: HashMap<RequestId, (AbortHandle, RequestLifetime)>,
    subscriptions: usize,
    /// Tells a client of the older era what has changed.
    announcing: Option<BoxFuture<'static, ()>>,
    message_due: Option<Instant>,
    reading_due: Option<Instant>,
}

struct Finished {
    id: RequestId,
    /// Absent when it was cancelled: nobody waits for it.
    line: Option<Vec<u8>>,
}

enum Step {
    Read(std::io::Result<usize>),
    Wrote(std::io::Result<usize>),
    Finished(Finished),
    Notice(Vec<u8>),
    Announced,
    Drain,
    Stalled,
}

impl CommanderConnection {
    /// Until the client leaves or stalls, or the daemon drains and what was asked
    /// is answered.
    async fn listen(mut self, stream: &Stream) {
        let shutdown = self.daemon.shutdown.clone();
        let draining = shutdown.reached(Stage::Draining);
        tokio::pin!(draining);
        let (mut drained, mut client_done) = (false, false);
        let mut chunk = vec![0; 16 * 1024];
        // The hello may have brought the first messages along.
        self.handle_messages();
        loop {
            if drained && self.in_flight.is_empty() && self.out.is_empty() {
                return;
            }
            let may_read = !drained && !client_done && self.out.len() < OUT_HIGH_WATER;
            let deadline = [self.message_due, self.reading_due]
                .into_iter()
                .flatten()
                .min();
            let step = {
                let Self {
                    out,
                    in_flight,
                    notices,
                    announcing,
                    ..
                } = &mut self;
                let (mut reader, mut writer) = (stream, stream);
                tokio::select! {
                    biased;
                    wrote = writer.write(out), if !out.is_empty() => Step::Wrote(wrote),
                    Some(line) = notices.recv(), if out.len() < OUT_HIGH_WATER => Step::Notice(line),
                    Some(finished) = in_flight.next(), if !in_flight.is_empty() => Step::Finished(finished),
                    read = reader.read(&mut chunk), if may_read => Step::Read(read),
                    () = announced(announcing) => Step::Announced,
                    () = &mut draining, if !drained => Step::Drain,
                    () = missiond_runtime::sleep_until(deadline) => Step::Stalled,
                }
            };
            match step {
                Step::Read(Ok(0) | Err(_)) => return,
                Step::Read(Ok(read)) => {
                    self.decoder.feed(&chunk[..read]);
                    self.handle_messages();
                }
                Step::Wrote(Ok(wrote)) if wrote > 0 => {
                    self.out.drain(..wrote);
                    self.reading_due = (!self.out.is_empty()).then(|| Instant::now() + STALL_LIMIT);
                }
                Step::Wrote(_) | Step::Stalled => return,
                Step::Finished(finished) => self.finish(finished),
                Step::Notice(line) => self.send(&line),
                Step::Announced => self.announcing = None,
                Step::Drain => {
                    drained = true;
                    client_done = true;
                    self.announcing = None;
                    // The bridge subscribes again at the next daemon.
                    for (cancel, lifetime) in self.cancels.values() {
                        if *lifetime == RequestLifetime::UntilCancelled {
                            cancel.abort();
                        }
                    }
                }
            }
        }
    }

    fn handle_messages(&mut self) {
        let mut decoder = std::mem::take(&mut self.decoder);
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Frame::Message(line) => self.handle_message(line),
                Frame::TooLarge => {
                    let message = "a message may have at most 1 MB";
                    let error = ApiError::new(ErrorCode::TooLarge, message);
                    self.send(&Response::error_line(None, &error));
                }
            }
        }
        // Due as a whole from its first byte on, as on every connection.
        self.message_due = match decoder.pending() {
            0 => None,
            _ => self
                .message_due
                .or_else(|| Some(Instant::now() + STALL_LIMIT)),
        };
        self.decoder = decoder;
    }

    fn handle_message(&mut self, line: &[u8]) {
        match self
            .server
            .handle_message(line, Arrival::Line, &self.outlet)
        {
            Dispatch::Nothing => {}
            Dispatch::Reply(answer) => self.send(&answer.line),
            Dispatch::Work(work) => self.start(work),
            Dispatch::Cancel(id) => {
                if let Some((cancel, _)) = self.cancels.get(&id) {
                    cancel.abort();
                }
            }
            Dispatch::Initialized => {
                self.announcing = Some(self.server.announce(self.outlet.clone()));
            }
        }
    }

    fn start(&mut self, work: Work) {
        if let Err(error) = self.admit(&work) {
            let line = Response::error_line(Some(&work.id), &error);
            self.send(&line);
            return;
        }
        let Work {
            id,
            lifetime,
            answer,
        } = work;
        let (cancel, registration) = AbortHandle::new_pair();
        self.cancels.insert(id.clone(), (cancel, lifetime));
        self.subscriptions += usize::from(lifetime == RequestLifetime::UntilCancelled);
        let answer = Abortable::new(answer, registration);
        self.in_flight.push(Box::pin(async move {
            let line = answer.await.ok().map(|answer| answer.line);
            Finished { id, line }
        }));
        self.publish_session();
    }

    /// A subscription is nothing a session waits for.
    fn publish_session(&self) {
        if let Some(session) = &self.session {
            session.calls(self.in_flight.len().saturating_sub(self.subscriptions));
        }
    }

    fn admit(&mut self, work: &Work) -> Result<(), ApiError> {
        if self.cancels.contains_key(&work.id) {
            let message = format!("the request id {} is already in use", work.id);
            return Err(ApiError::new(ErrorCode::InvalidRequest, message));
        }
        if let Err(wait) = self.rate.try_acquire(std::time::Instant::now()) {
            let error = ApiError::new(ErrorCode::RateLimited, "too many requests per second");
            return Err(ApiError {
                retry_after_ms: u64::try_from(wait.as_millis()).ok(),
                ..error
            });
        }
        let limit = self.daemon.config().ipc.max_in_flight as usize;
        let is_subscription = work.lifetime == RequestLifetime::UntilCancelled;
        if is_subscription && self.subscriptions >= MOST_SUBSCRIPTIONS {
            let message = format!("a client may hold {MOST_SUBSCRIPTIONS} subscriptions");
            return Err(ApiError::new(ErrorCode::Busy, message));
        }
        if self.in_flight.len() - self.subscriptions >= limit {
            let message = format!("{limit} requests are under way on this connection");
            return Err(ApiError::new(ErrorCode::Busy, message));
        }
        Ok(())
    }

    fn finish(&mut self, finished: Finished) {
        if let Some((_, RequestLifetime::UntilCancelled)) = self.cancels.remove(&finished.id) {
            self.subscriptions -= 1;
        }
        self.publish_session();
        // What was said during a call comes before its end.
        while let Ok(notice) = self.notices.try_recv() {
            self.send(&notice);
        }
        if let Some(line) = finished.line {
            self.send(&line);
        }
    }

    fn send(&mut self, line: &[u8]) {
        if self.out.is_empty() {
            self.reading_due = Some(Instant::now() + STALL_LIMIT);
        }
        self.out.extend_from_slice(line);
    }
}

async fn announced(announcing: &mut Option<BoxFuture<'static, ()>>) {
    match announcing {
        Some(announcing) => announcing.await,
        None => std::future::pending().await,
    }
}
