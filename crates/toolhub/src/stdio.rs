//! A server on the pipes of its program.
//!
//! One task reads; callers write themselves ([`Outlet`]) and wait on the answer
//! to their own id and on nothing else, so any number of them share the connection
//! and a slow one holds up nobody. A caller that goes away takes its request back.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::FutureExt;
use missiond_core::excerpt;
use missiond_net::{Frame, FrameDecoder, Oversized};
use missiond_runtime::{OnPanic, Supervisor};
use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{oneshot, watch};

use crate::config::Transport;
use crate::error::Sent;
use crate::launch::{KeeperCommand, Pipes, Process};
use crate::link::{
    Inbox, ProgressSink, RequestError, RequestOptions, answer_line, handle_notification,
    notice_line, request_line,
};
use crate::outlet::{Outlet, SendOutcome};
use crate::wire::{Incoming, MAX_MESSAGE, id_of_oversized};

/// How long the last words of a server that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Lines of standard error that go into the log in one second; more are counted.
const LOGGED_PER_SECOND: u32 = 50;

#[derive(Debug)]
pub(crate) struct StdioLink {
    shared: Arc<Shared>,
    out: Arc<Outlet>,
    stop: watch::Sender<bool>,
    /// Whether everything of the server is gone.
    ended: watch::Receiver<bool>,
    process: Option<u32>,
}

#[derive(Debug)]
struct Shared {
    server: String,
    inbox: Arc<Inbox>,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, Waiting>>,
    closed: watch::Sender<Option<String>>,
}

#[derive(Debug)]
struct Waiting {
    answer: oneshot::Sender<Result<Box<RawValue>, RequestError>>,
    progress: Option<ProgressSink>,
}

impl StdioLink {
    /// Starts the program. The error is a sentence.
    pub(crate) fn start(
        server: &str,
        transport: &Transport,
        keeper: &KeeperCommand,
        inbox: &Arc<Inbox>,
        supervisor: &Supervisor,
    ) -> Result<Self, String> {
        let (process, pipes) = Process::start(server, transport, keeper)?;
        let shared = Arc::new(Shared {
            server: server.to_owned(),
            inbox: Arc::clone(inbox),
            next: AtomicU64::new(1),
            waiting: Mutex::new(HashMap::new()),
            closed: watch::Sender::new(None),
        });
        let (stop, stopped) = watch::channel(false);
        let (gone, ended) = watch::channel(false);
        let id = process.id();
        let Pipes {
            stdin,
            stdout,
            stderr,
        } = pipes;
        let out =
            Outlet::new(stdin).map_err(|error| format!("its input cannot be used: {error}"))?;
        let spawn = |task, future| {
            let subject = Some(server.to_owned());
            supervisor.spawn(task, subject, OnPanic::Report, future)
        };
        let writing = spawn("MCP server input", Arc::clone(&out).run_writer().boxed());
        let stderr = read_stderr(server.to_owned(), stderr, Arc::clone(inbox));
        let errors = spawn("MCP server stderr", stderr.boxed());
        let reader = Reader {
            shared: Arc::clone(&shared),
            out: Arc::clone(&out),
            stopped,
            errors,
        };
        let closing = CloseOnDrop(Arc::clone(&shared));
        let reading = async move {
            reader.run(stdout, process, writing).await;
            drop(closing);
            gone.send_replace(true);
        };
        spawn("MCP server output", reading.boxed());
        Ok(Self {
            shared,
            out,
            stop,
            ended,
            process: id,
        })
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        params: &Value,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, RequestError> {
        let deadline = tokio::time::Instant::now() + options.limit;
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let mut params = params.clone();
        if options.progress.is_some() {
            params["_meta"]["progressToken"] = json!(id);
        }
        let line = request_line(id, method, &params);
        let (answer, mut answered) = oneshot::channel();
        let waiting = Waiting {
            answer,
            progress: options.progress,
        };
        self.shared.waiting().insert(id, waiting);
        // From here on the request is taken back however this ends.
        let mut cancel = CancelOnDrop {
            link: self,
            id,
            sent: Sent::No,
            is_over: false,
            may_cancel: method != "initialize",
        };
        // Looked at after the entry is there: whoever closes fails all entries.
        if let Some(why) = self.why_closed() {
            return Err(RequestError::Closed {
                why,
                sent: Sent::No,
            });
        }
        match tokio::time::timeout_at(deadline, self.out.send(line)).await {
            Ok(SendOutcome::Queued) => cancel.sent = Sent::Yes,
            Ok(SendOutcome::Closed | SendOutcome::Full) => {
                let why = self
                    .why_closed()
                    .unwrap_or_else(|| "it does not read".to_owned());
                return Err(RequestError::Closed {
                    why,
                    sent: Sent::No,
                });
            }
            Err(_) => {
                return Err(RequestError::Timeout {
                    limit: options.limit,
                    sent: Sent::No,
                });
            }
        }
        match tokio::time::timeout_at(deadline, &mut answered).await {
            Ok(Ok(answer)) => {
                cancel.is_over = true;
                answer
            }
            Ok(Err(_)) => Err(RequestError::Closed {
                why: "it was let go".to_owned(),
                sent: Sent::Yes,
            }),
            Err(_) => Err(RequestError::Timeout {
                limit: options.limit,
                sent: Sent::Yes,
            }),
        }
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) -> Result<(), RequestError> {
        match self.out.try_send(notice_line(method, params)) {
            SendOutcome::Queued => Ok(()),
            SendOutcome::Full | SendOutcome::Closed => Err(RequestError::Closed {
                why: self
                    .why_closed()
                    .unwrap_or_else(|| "it does not read".to_owned()),
                sent: Sent::No,
            }),
        }
    }

    /// Asks without waiting: what comes of it are notices.
    pub(crate) fn send_and_forget(&self, method: &str, params: &Value) {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let _ = self.out.try_send(request_line(id, method, params));
    }

    fn why_closed(&self) -> Option<String> {
        self.shared.closed.borrow().clone()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.shared.closed.borrow().is_none()
    }

    pub(crate) async fn closed(&self) -> String {
        let mut closed = self.shared.closed.subscribe();
        match closed.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => "it was let go".to_owned(),
        }
    }

    pub(crate) async fn stop(&self) {
        self.stop.send_replace(true);
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    pub(crate) fn process(&self) -> Option<u32> {
        self.process
    }
}

impl Drop for StdioLink {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

/// Takes a request back that is not waited for any more.
struct CancelOnDrop<'a> {
    link: &'a StdioLink,
    id: u64,
    sent: Sent,
    is_over: bool,
    may_cancel: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let was_waiting = self.link.shared.waiting().remove(&self.id).is_some();
        if was_waiting && self.sent == Sent::Yes && self.may_cancel {
            let params = json!({ "requestId": self.id, "reason": "nobody waits for it any more" });
            let _ = self.link.notify("notifications/cancelled", &params);
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock()
    }

    fn answer(&self, id: u64, answer: Result<Box<RawValue>, RequestError>) {
        let waiting = self.waiting().remove(&id);
        match waiting {
            Some(waiting) => drop(waiting.answer.send(answer)),
            // Late, twice, or never asked.
            None => self
                .inbox
                .report_unusable(&self.server, "an answer nobody waits for"),
        }
    }

    fn close(&self, why: &str) {
        self.closed.send_replace(Some(why.to_owned()));
        let waiting: Vec<_> = self.waiting().drain().collect();
        for (_, waiting) in waiting {
            let _ = waiting.answer.send(Err(RequestError::Closed {
                why: why.to_owned(),
                sent: Sent::Yes,
            }));
        }
    }
}

/// Leaves nobody waiting for a reader that is gone, however it went.
struct CloseOnDrop(Arc<Shared>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if self.0.closed.borrow().is_none() {
            self.0.close("reading its output failed");
        }
    }
}

struct Reader {
    shared: Arc<Shared>,
    out: Arc<Outlet>,
    stopped: watch::Receiver<bool>,
    errors: tokio::task::JoinHandle<()>,
}

impl Reader {
    /// Reads until the server ends or is stopped, and sees it to its end.
    async fn run(
        mut self,
        mut stdout: ChildStdout,
        mut process: Process,
        writing: tokio::task::JoinHandle<()>,
    ) {
        let mut decoder = FrameDecoder::reporting(MAX_MESSAGE, Oversized::AtItsEnd);
        let mut chunk = vec![0; 64 * 1024];
        let why = loop {
            let read = tokio::select! {
                read = stdout.read(&mut chunk) => read,
                _ = self.stopped.wait_for(|stopped| *stopped) => break "it was stopped".to_owned(),
            };
            match read {
                Ok(read) if read > 0 => {
                    self.shared.inbox.record_activity();
                    decoder.feed(&chunk[..read]);
                    while let Some(frame) = decoder.next_frame() {
                        match frame {
                            Frame::Message(line) => self.handle_message(line),
                            Frame::TooLarge => {
                                self.handle_oversized(id_of_oversized(decoder.edges()));
                            }
                        }
                    }
                }
                _ => {
                    let ended = tokio::time::timeout(Duration::from_secs(1), process.ended()).await;
                    let why = ended.unwrap_or_else(|_| "it closed its output".to_owned());
                    // Its last words may still be on their way.
                    let _ = tokio::time::timeout(LAST_WORDS, &mut self.errors).await;
                    break self.shared.inbox.with_stderr_tail(&why);
                }
            }
        };
        self.shared.close(&why);
        writing.abort();
        let _ = writing.await;
        self.out.close();
        process.end().await;
    }

    fn handle_oversized(&self, id: Option<u64>) {
        let shared = &self.shared;
        // Without an id it can only be meant for the one who waits alone.
        let alone = || {
            let waiting = shared.waiting();
            let mut ids = waiting.keys().copied();
            ids.next().filter(|_| ids.next().is_none())
        };
        match id.or_else(alone) {
            Some(id) => shared.answer(id, Err(RequestError::TooLarge)),
            None => shared
                .inbox
                .report_unusable(&shared.server, "a message over the limit"),
        }
    }

    fn handle_message(&self, line: &[u8]) {
        let shared = &self.shared;
        match Incoming::parse(line) {
            Incoming::Answer { id, outcome } => {
                shared.answer(id, outcome.map_err(RequestError::Rpc));
            }
            Incoming::Request { id, method } => {
                // A server that asks faster than it reads gets no answer.
                let _ = self.out.try_send(answer_line(&id, &method));
            }
            Incoming::Notice { method, params } => {
                handle_notification(
                    &shared.server,
                    &shared.inbox,
                    &method,
                    params.as_deref(),
                    |id| {
                        shared
                            .waiting()
                            .get(&id)
                            .and_then(|waiting| waiting.progress.clone())
                    },
                );
            }
            Incoming::Complaint(error) => {
                // Some servers answer what they cannot read without its id.
                let probe = shared.waiting().remove(&1);
                match probe {
                    Some(probe) => drop(probe.answer.send(Err(RequestError::Rpc(error)))),
                    None => shared
                        .inbox
                        .report_unusable(&shared.server, &excerpt(&error.message, 100)),
                }
            }
            Incoming::Stray => {
                let text = excerpt(&String::from_utf8_lossy(line), 100);
                shared.inbox.report_unusable(&shared.server, &text);
            }
        }
    }
}

/// Reads standard error to its end, whatever is in it: a server must never wait
/// because nobody listens.
async fn read_stderr(server: String, stderr: ChildStderr, inbox: Arc<Inbox>) {
    let mut reader = BufReader::with_capacity(16 * 1024, stderr);
    let mut line = Vec::new();
    let mut second = Instant::now();
    let mut logged = 0;
    let mut unlogged: u64 = 0;
    loop {
        let piece = match reader.fill_buf().await {
            Ok(piece) if !piece.is_empty() => piece,
            _ => break,
        };
        let end = memchr::memchr(b'\n', piece);
        let part = &piece[..end.unwrap_or(piece.len())];
        // A line without end is kept short, and read all the same.
        let room = 4096usize.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = end.map_or(piece.len(), |end| end + 1);
        reader.consume(used);
        if end.is_none() {
            continue;
        }
        let text = excerpt(String::from_utf8_lossy(&line).trim_end(), 1000);
        line.clear();
        if text.is_empty() {
            continue;
        }
        if second.elapsed() > Duration::from_secs(1) {
            if unlogged > 0 {
                tracing::warn!(server, unlogged, "MCP server stderr lines dropped");
            }
            (second, logged, unlogged) = (Instant::now(), 0, 0);
        }
        if logged < LOGGED_PER_SECOND {
            logged += 1;
            tracing::info!(server, text, "MCP server stderr");
        } else {
            unlogged += 1;
        }
        inbox.stderr_line(text);
    }
    if !line.is_empty() {
        inbox.stderr_line(excerpt(String::from_utf8_lossy(&line).trim_end(), 1000));
    }
}
