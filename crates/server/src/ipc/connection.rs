//! One connection, served by one task: it reads, works on several requests at
//! once, and writes, all in one loop without a hop to another task.
//!
//! Nothing a peer does can cost more than the limits: messages are bounded
//! while they are read, requests in number and time, unread answers in bytes,
//! and a peer that begins a message or an answer and stalls is let go.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{AbortHandle, Abortable, BoxFuture};
use futures::stream::{FuturesUnordered, StreamExt};
use interprocess::local_socket::tokio::Stream;
use missiond_api::operations::compute::SlotKeys;
use missiond_api::{
    ApiError, CancelParams, Frame, FrameDecoder, HelloParams, Incoming, METHOD_CANCEL,
    METHOD_HELLO, METHOD_SUBSCRIBE, METHOD_UNSUBSCRIBE, Notification, PROTOCOL_VERSION, Request,
    RequestId, Response, SubscribeParams, SubscribeResult, UnsubscribeParams, Welcome,
};
use missiond_api::{
    AttachParams, DetachParams, METHOD_ATTACH, METHOD_COMMANDER_HELLO, METHOD_DETACH,
    METHOD_EXECUTION_HELLO, METHOD_PAINTED, PaintedParams, ViewAccess,
};
use missiond_core::{ErrorCode, Principal};
use missiond_operations::state::{Daemon, VERSION};
use missiond_operations::{ClientId, Operations, check_kinds};
use missiond_runtime::{OnPanic, Stage};
use serde_json::value::RawValue;
use serde_json::value::to_raw_value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::attachment::{self, Granted};
use super::commander;
use super::execution;
use super::subscription;
use crate::commander::Changes;
use crate::principals;
use crate::rate::{Rates, SharedRate};

/// A peer must say hello within this time.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

/// A message that has begun must be complete, and an answer that is ready must
/// be taken, within this time.
const STALL_LIMIT: Duration = Duration::from_secs(60);

/// A peer that has sent its last word may still read: `echo … | nc -U` does.
/// What is under way then has this long, because most often nobody is there.
const AFTER_PEER: Duration = Duration::from_secs(1);

/// Unread answers beyond this: no new requests are read until some are taken.
const OUT_HIGH_WATER: usize = 4 * 1024 * 1024;

const MAX_SUBSCRIPTIONS: usize = 16;
const MAX_ATTACHMENTS: usize = 16;

pub(super) struct Connection {
    /// Tells it from the others in the log.
    number: u64,
    /// Who is at the other end.
    principal: Principal,
    client: ClientId,
    daemon: Daemon,
    operations: Arc<Operations>,
    changes: Arc<Changes>,
    decoder: FrameDecoder,
    out: Vec<u8>,
    in_flight: FuturesUnordered<BoxFuture<'static, Finished>>,
    cancels: HashMap<RequestId, AbortHandle>,
    rate: SharedRate,
    greeted: bool,
    /// A hello that is not ours: somebody else serves it.
    handed_over: Option<Request>,
    /// When the peer is let go unless it has done its part by then.
    hello_due: Option<Instant>,
    message_due: Option<Instant>,
    reading_due: Option<Instant>,
    leave_due: Option<Instant>,
    events: mpsc::Receiver<Vec<u8>>,
    events_in: mpsc::Sender<Vec<u8>>,
    subscriptions: HashMap<u64, tokio::task::AbortHandle>,
    subscription_tasks: JoinSet<()>,
    next_subscription: u64,
    attachments: HashMap<u64, attachment::AttachedView>,
}

struct Finished {
    id: RequestId,
    /// Absent when the request was cancelled.
    result: Option<Result<Box<RawValue>, ApiError>>,
    /// What begins when the answer is on its way.
    granted: Option<Granted>,
}

/// What the loop does next.
enum Step {
    Read(std::io::Result<usize>),
    Wrote(std::io::Result<usize>),
    Finished(Finished),
    Event(Vec<u8>),
    Drain,
    Stalled,
}

impl Connection {
    pub(super) fn new(
        number: u64,
        principal: Principal,
        daemon: Daemon,
        operations: Arc<Operations>,
        changes: Arc<Changes>,
        rates: &Rates,
    ) -> Self {
        let per_second = daemon.config().ipc.requests_per_second;
        let rate = rates.of(principal, per_second, std::time::Instant::now());
        let (events_in, events) = mpsc::channel(subscription::QUEUE);
        Self {
            number,
            principal,
            client: ClientId::new("ipc", number, ""),
            daemon,
            operations,
            changes,
            decoder: FrameDecoder::default(),
            out: Vec::new(),
            in_flight: FuturesUnordered::new(),
            cancels: HashMap::new(),
            rate,
            greeted: false,
            handed_over: None,
            hello_due: Some(Instant::now() + HELLO_LIMIT),
            message_due: None,
            reading_due: None,
            leave_due: None,
            events,
            events_in,
            subscriptions: HashMap::new(),
            subscription_tasks: JoinSet::new(),
            next_subscription: 0,
            attachments: HashMap::new(),
        }
    }

    /// Serves until the peer leaves, misbehaves, or the daemon has drained.
    pub(super) async fn serve(mut self, stream: Stream) {
        let shutdown = self.daemon.shutdown.clone();
        let draining = shutdown.reached(Stage::Draining);
        tokio::pin!(draining);
        let mut drained = false;
        let mut peer_done = false;
        let mut chunk = vec![0u8; 16 * 1024];
        loop {
            let idle = self.in_flight.is_empty() && self.out.is_empty();
            if idle && (drained || peer_done) {
                return;
            }
            let may_read = !drained && !peer_done && self.out.len() < OUT_HIGH_WATER;
            let step = {
                let deadline = self.deadline();
                let Self {
                    out,
                    in_flight,
                    events,
                    ..
                } = &mut self;
                tokio::select! {
                    biased;
                    wrote = async { (&stream).write(out).await }, if !out.is_empty() => Step::Wrote(wrote),
                    Some(finished) = in_flight.next(), if !in_flight.is_empty() => Step::Finished(finished),
                    read = async { (&stream).read(&mut chunk).await }, if may_read => Step::Read(read),
                    Some(line) = events.recv(), if out.len() < OUT_HIGH_WATER => Step::Event(line),
                    () = &mut draining, if !drained => Step::Drain,
                    () = missiond_runtime::sleep_until(deadline) => Step::Stalled,
                }
            };
            match step {
                Step::Read(Ok(0)) | Step::Read(Err(_)) => {
                    peer_done = true;
                    self.leave_due = Some(Instant::now() + AFTER_PEER);
                }
                Step::Read(Ok(read)) => {
                    self.decoder.feed(&chunk[..read]);
                    if self.handle_messages() == Verdict::LetGo {
                        peer_done = true;
                    }
                    if let Some(hello) = self.handed_over.take() {
                        let Self {
                            daemon,
                            operations,
                            changes,
                            decoder,
                            number,
                            principal,
                            rate,
                            ..
                        } = self;
                        if hello.method == METHOD_COMMANDER_HELLO {
                            let served = commander::serve(
                                daemon,
                                operations,
                                changes,
                                stream,
                                decoder,
                                hello,
                                (number, principals::of_model(principal), rate),
                            );
                            Box::pin(served).await;
                        } else {
                            let served = execution::serve(
                                daemon,
                                operations,
                                stream,
                                decoder,
                                hello,
                                (principal, rate),
                            );
                            Box::pin(served).await;
                        }
                        return;
                    }
                    self.message_moved();
                }
                Step::Wrote(Ok(wrote)) if wrote > 0 => {
                    self.out.drain(..wrote);
                    if self.out.is_empty() {
                        self.out.shrink_to(64 * 1024);
                    }
                    self.answer_moved();
                }
                Step::Wrote(_) => return,
                Step::Finished(finished) => self.answer(finished),
                Step::Event(line) => self.send(&line),
                Step::Drain => {
                    drained = true;
                    self.subscription_tasks.abort_all();
                }
                Step::Stalled if peer_done => return,
                Step::Stalled => {
                    self.report_stalled();
                    let _ = tokio::time::timeout(
                        Duration::from_secs(1),
                        (&stream).write_all(&self.out),
                    )
                    .await;
                    return;
                }
            }
        }
    }

    /// Something is owed by the peer: its hello, the rest of a message, or the
    /// reading of an answer. An idle connection may stay for ever.
    fn deadline(&self) -> Option<Instant> {
        [
            self.hello_due,
            self.message_due,
            self.reading_due,
            self.leave_due,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// A message is due as a whole from its first byte on: one that trickles in
    /// must not hold the connection for ever.
    fn message_moved(&mut self) {
        self.message_due = match self.decoder.pending() {
            0 => None,
            _ => self
                .message_due
                .or_else(|| Some(Instant::now() + STALL_LIMIT)),
        };
    }

    /// Answers may be many, so each piece that is taken earns more time.
    fn answer_moved(&mut self) {
        self.reading_due = (!self.out.is_empty()).then(|| Instant::now() + STALL_LIMIT);
    }

    fn send(&mut self, line: &[u8]) {
        if self.out.is_empty() {
            self.reading_due = Some(Instant::now() + STALL_LIMIT);
        }
        self.out.extend_from_slice(line);
    }

    fn refuse(&mut self, id: Option<&RequestId>, error: &ApiError) {
        let line = Response::error_line(id, error);
        self.send(&line);
    }

    fn report_stalled(&mut self) {
        let message = if self.greeted {
            "the connection stalled in the middle of a message"
        } else {
            "no `hello` came within 10 seconds"
        };
        self.refuse(None, &ApiError::new(ErrorCode::Timeout, message));
    }

    fn handle_messages(&mut self) -> Verdict {
        // Moved out so that messages can borrow from it while `self` changes.
        let mut decoder = std::mem::take(&mut self.decoder);
        let mut verdict = Verdict::Stay;
        while let Some(frame) = decoder.next_frame() {
            verdict = match frame {
                Frame::Message(line) => self.handle_message(line),
                Frame::TooLarge => {
                    let error =
                        ApiError::new(ErrorCode::TooLarge, "a message may have at most 1 MB");
                    self.refuse(None, &error);
                    Verdict::Stay
                }
            };
            if verdict == Verdict::LetGo {
                break;
            }
        }
        self.decoder = decoder;
        verdict
    }

    fn handle_message(&mut self, line: &[u8]) -> Verdict {
        match Incoming::parse(line) {
            Ok(Incoming::Request(request))
                if !self.greeted
                    && [METHOD_EXECUTION_HELLO, METHOD_COMMANDER_HELLO]
                        .contains(&request.method.as_str()) =>
            {
                self.handed_over = Some(request);
                Verdict::LetGo
            }
            Ok(Incoming::Request(request)) if !self.greeted => self.greet(&request),
            Ok(Incoming::Request(request)) => {
                self.handle_request(request);
                Verdict::Stay
            }
            Ok(Incoming::Notification(notification)) => {
                self.handle_notification(&notification);
                Verdict::Stay
            }
            // The daemon asks nothing of its clients.
            Ok(Incoming::Response(_)) => Verdict::Stay,
            Err(error) => {
                self.refuse(None, &error);
                Verdict::Stay
            }
        }
    }

    fn greet(&mut self, request: &Request) -> Verdict {
        let refusal = if request.method != METHOD_HELLO {
            ApiError::new(
                ErrorCode::InvalidRequest,
                format!("the first message must be `{METHOD_HELLO}`"),
            )
        } else {
            match parse::<HelloParams>(METHOD_HELLO, request.params.as_deref()) {
                Ok(hello) if hello.protocol == PROTOCOL_VERSION => {
                    self.client = ClientId::new("ipc", self.number, &hello.client);
                    tracing::debug!(client_id = %self.client, "client connected");
                    self.greeted = true;
                    self.hello_due = None;
                    let welcome = Welcome {
                        protocol: PROTOCOL_VERSION,
                        version: VERSION.to_owned(),
                        daemon: self.daemon.id,
                        pid: std::process::id(),
                    };
                    let line = Response::result_line(&request.id, &welcome);
                    self.send(&line);
                    return Verdict::Stay;
                }
                Ok(hello) => ApiError::new(
                    ErrorCode::VersionMismatch,
                    format!(
                        "this daemon ({VERSION}) speaks protocol {PROTOCOL_VERSION}, the client \
                         protocol {}: `mission daemon restart` starts the installed version",
                        hello.protocol
                    ),
                ),
                Err(error) => error,
            }
        };
        self.refuse(Some(&request.id), &refusal);
        Verdict::LetGo
    }

    fn handle_request(&mut self, request: Request) {
        if let Err(error) = self.admit(&request.id) {
            self.refuse(Some(&request.id), &error);
            return;
        }
        match request.method.as_str() {
            METHOD_SUBSCRIBE => {
                let result = self.subscribe(request.params.as_deref());
                self.reply(&request.id, result);
            }
            METHOD_UNSUBSCRIBE => {
                let result = self.unsubscribe(request.params.as_deref());
                self.reply(&request.id, result);
            }
            METHOD_ATTACH => {
                if let Err(error) = self.start_attaching(&request) {
                    self.refuse(Some(&request.id), &error);
                }
            }
            METHOD_DETACH => {
                let result = self.detach(request.params.as_deref());
                self.reply(&request.id, result);
            }
            METHOD_HELLO => {
                let error = ApiError::new(ErrorCode::InvalidRequest, "hello has been said");
                self.refuse(Some(&request.id), &error);
            }
            _ => self.start(request),
        }
    }

    fn admit(&mut self, id: &RequestId) -> Result<(), ApiError> {
        if self.cancels.contains_key(id) {
            let message = format!("the request id {id} is already in use");
            return Err(ApiError::new(ErrorCode::InvalidRequest, message));
        }
        if let Err(wait) = self.rate.try_acquire(std::time::Instant::now()) {
            let retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1));
            let error = ApiError::new(ErrorCode::RateLimited, "too many requests per second");
            return Err(ApiError {
                retry_after_ms,
                ..error
            });
        }
        let limit = self.daemon.config().ipc.max_in_flight as usize;
        if self.in_flight.len() >= limit {
            let message = format!("{limit} requests are under way on this connection");
            return Err(ApiError::new(ErrorCode::Busy, message));
        }
        Ok(())
    }

    fn start(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let (cancel, registration) = AbortHandle::new_pair();
        self.cancels.insert(id.clone(), cancel);
        let operations = Arc::clone(&self.operations);
        let (principal, client) = (self.principal, self.client.clone());
        let work = async move { operations.call(&method, params, principal, &client).await };
        let work = Abortable::new(work, registration);
        self.in_flight.push(Box::pin(async move {
            Finished {
                id,
                result: work.await.ok(),
                granted: None,
            }
        }));
    }

    fn answer(&mut self, finished: Finished) {
        self.cancels.remove(&finished.id);
        let line = match &finished.result {
            Some(Ok(result)) => Response::result_line(&finished.id, result.as_ref()),
            Some(Err(error)) => Response::error_line(Some(&finished.id), error),
            None => {
                let error = ApiError::new(ErrorCode::Cancelled, "the request was cancelled");
                Response::error_line(Some(&finished.id), &error)
            }
        };
        self.send(&line);
        if let Some(granted) = finished.granted {
            self.attach(granted);
        }
    }

    fn reply<R: serde::Serialize>(&mut self, id: &RequestId, result: Result<R, ApiError>) {
        let line = match result {
            Ok(result) => Response::result_line(id, &result),
            Err(error) => Response::error_line(Some(id), &error),
        };
        self.send(&line);
    }

    fn handle_notification(&mut self, notification: &Notification) {
        if notification.method == METHOD_PAINTED {
            self.painted(notification.params.as_deref());
        }
        // Others are ignored, as JSON-RPC asks: they expect no answer.
        if notification.method == METHOD_CANCEL
            && let Ok(params) = parse::<CancelParams>(METHOD_CANCEL, notification.params.as_deref())
            && let Some(cancel) = self.cancels.get(&params.id)
        {
            cancel.abort();
        }
    }

    fn subscribe(&mut self, params: Option<&RawValue>) -> Result<SubscribeResult, ApiError> {
        let params: SubscribeParams = parse(METHOD_SUBSCRIBE, params)?;
        check_kinds(&params.kinds)?;
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            let message = format!("a connection may hold {MAX_SUBSCRIPTIONS} subscriptions");
            return Err(ApiError::new(ErrorCode::Busy, message));
        }
        let timeline = &self.daemon.timeline;
        let follower = match params.after {
            Some(seq) => timeline.follow_after(seq),
            None => timeline.follow(),
        };
        let head = timeline.head();
        self.next_subscription += 1;
        let number = self.next_subscription;
        let lines = self.events_in.clone();
        let forward = subscription::forward(number, params, follower, lines);
        let task = self.spawn_forwarding("subscription", forward);
        self.subscriptions.insert(number, task);
        Ok(SubscribeResult {
            subscription: number,
            head,
        })
    }

    fn unsubscribe(&mut self, params: Option<&RawValue>) -> Result<Empty, ApiError> {
        let params: UnsubscribeParams = parse(METHOD_UNSUBSCRIBE, params)?;
        match self.subscriptions.remove(&params.subscription) {
            Some(task) => {
                task.abort();
                Ok(Empty {})
            }
            None => {
                let message = format!("no subscription {} on this connection", params.subscription);
                Err(ApiError::new(ErrorCode::NotFound, message))
            }
        }
    }

    fn start_attaching(&mut self, request: &Request) -> Result<(), ApiError> {
        let params: AttachParams = parse(METHOD_ATTACH, request.params.as_deref())?;
        self.attachments.retain(|_, held| !held.task.is_finished());
        if self.attachments.len() >= MAX_ATTACHMENTS {
            let message = format!("a connection may hold {MAX_ATTACHMENTS} attachments");
            return Err(ApiError::new(ErrorCode::Busy, message));
        }
        let (cancel, registration) = AbortHandle::new_pair();
        self.cancels.insert(request.id.clone(), cancel);
        let (daemon, operations) = (Arc::clone(&self.daemon), Arc::clone(&self.operations));
        let principal = self.principal;
        let work = async move {
            if params.access == ViewAccess::Write {
                // Whoever writes there presses its keys.
                operations.authorize::<SlotKeys>(principal, None).await?;
            }
            missiond_operations::attach(daemon, params).await
        };
        let work = Abortable::new(work, registration);
        let id = request.id.clone();
        self.in_flight.push(Box::pin(async move {
            let (result, granted) = match work.await {
                Ok(Ok((attached, viewing))) => (
                    Some(to_raw_value(&attached).map_err(|e| ApiError::internal(e.to_string()))),
                    Some(Granted { attached, viewing }),
                ),
                Ok(Err(error)) => (Some(Err(error)), None),
                Err(_) => (None, None),
            };
            Finished {
                id,
                result,
                granted,
            }
        }));
        Ok(())
    }

    /// Frames follow the answer that names them.
    fn attach(&mut self, granted: Granted) {
        let Granted { attached, viewing } = granted;
        let (painted, seen) = watch::channel(0);
        let lines = self.events_in.clone();
        let task = self.spawn_forwarding("attachment", attachment::forward(viewing, seen, lines));
        let held = attachment::AttachedView { task, painted };
        self.attachments.insert(attached.attachment, held);
    }

    fn spawn_forwarding(
        &mut self,
        task: &'static str,
        forward: impl Future<Output = ()> + Send + 'static,
    ) -> tokio::task::AbortHandle {
        while self.subscription_tasks.try_join_next().is_some() {}
        let supervisor = &self.daemon.supervisor;
        let watched = supervisor.watch(task, None, OnPanic::Report, forward);
        self.subscription_tasks.spawn(watched)
    }

    fn painted(&mut self, params: Option<&RawValue>) {
        if let Ok(params) = parse::<PaintedParams>(METHOD_PAINTED, params)
            && let Some(held) = self.attachments.get(&params.attachment)
        {
            held.painted.send_replace(params.frame);
        }
    }

    fn detach(&mut self, params: Option<&RawValue>) -> Result<Empty, ApiError> {
        let params: DetachParams = parse(METHOD_DETACH, params)?;
        match self.attachments.remove(&params.attachment) {
            Some(held) => {
                held.task.abort();
                Ok(Empty {})
            }
            None => {
                let message = format!("no attachment {} on this connection", params.attachment);
                Err(ApiError::new(ErrorCode::NotFound, message))
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Stay,
    /// Say what was said and close.
    LetGo,
}

#[derive(serde::Serialize)]
struct Empty {}

pub(super) fn parse<P: serde::de::DeserializeOwned>(
    method: &str,
    params: Option<&RawValue>,
) -> Result<P, ApiError> {
    serde_json::from_str(params.map_or("{}", RawValue::get)).map_err(|error| {
        ApiError::invalid_params(format!("the parameters do not fit `{method}`: {error}"))
    })
}
