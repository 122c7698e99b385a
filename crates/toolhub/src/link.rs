//! A connection to a server, whichever way it goes: requests out, answers back
//! to exactly the caller they belong to, and what the server says unasked.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use missiond_core::excerpt;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::error::Sent;
use crate::http::HttpLink;
use crate::stdio::StdioLink;
use crate::wire::RpcError;

/// Why a request has no result, before the server's name is put to it.
#[derive(Debug, Clone)]
pub(crate) enum RequestError {
    Rpc(RpcError),
    /// The connection is gone.
    Closed {
        why: String,
        sent: Sent,
    },
    Timeout {
        limit: Duration,
        sent: Sent,
    },
    TooLarge,
    /// HTTP said no, without an error of the protocol.
    Http {
        status: u16,
        why: String,
    },
    Protocol(String),
}

/// How far a tool says it has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

pub(crate) type ProgressSink = mpsc::Sender<Progress>;

/// One request, beside its method and parameters.
#[derive(Debug, Default)]
pub(crate) struct RequestOptions {
    pub limit: Duration,
    pub progress: Option<ProgressSink>,
    /// What HTTP carries beside the body.
    pub headers: Vec<(String, String)>,
}

impl RequestOptions {
    pub(crate) fn within(limit: Duration) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }
}

/// What a server says unasked, and its last words.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// How often the server has said that its tools changed.
    tool_changes: AtomicU64,
    changed: Notify,
    began: Instant,
    last_activity_ms: AtomicU64,
    unusable: AtomicU64,
    stderr: Mutex<VecDeque<String>>,
}

/// Lines of standard error that are kept for error messages.
const TAIL: usize = 20;

impl Inbox {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            tool_changes: AtomicU64::new(0),
            changed: Notify::new(),
            began: Instant::now(),
            last_activity_ms: AtomicU64::new(0),
            unusable: AtomicU64::new(0),
            stderr: Mutex::new(VecDeque::new()),
        })
    }

    /// Every list of tools that was asked for before this is out of date.
    pub(crate) fn tools_changed(&self) {
        self.tool_changes.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_one();
    }

    /// Read before a list is asked for: the list holds as long as this is the same.
    pub(crate) fn tool_changes(&self) -> u64 {
        self.tool_changes.load(Ordering::Acquire)
    }

    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(crate) fn record_activity(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_activity_ms.store(now, Ordering::Relaxed);
    }

    /// How long the server has said nothing at all.
    pub(crate) fn silence(&self) -> Duration {
        let last = Duration::from_millis(self.last_activity_ms.load(Ordering::Relaxed));
        self.began.elapsed().saturating_sub(last)
    }

    /// Something that cannot be used. Told in the log, but only so often.
    pub(crate) fn report_unusable(&self, server: &str, what: &str) {
        let before = self.unusable.fetch_add(1, Ordering::Relaxed);
        if before < 5 {
            tracing::warn!(server, what, "MCP server message unusable");
        }
    }

    pub(crate) fn stderr_line(&self, line: String) {
        let mut tail = self.stderr.lock();
        if tail.len() == TAIL {
            tail.pop_front();
        }
        tail.push_back(line);
    }

    /// The last lines of standard error.
    pub(crate) fn stderr_tail(&self) -> Vec<String> {
        let tail = self.stderr.lock();
        tail.iter().cloned().collect()
    }

    /// A reason with the server's last words, for a person.
    pub(crate) fn with_stderr_tail(&self, why: &str) -> String {
        let tail = self.stderr_tail();
        let last: Vec<_> = tail
            .iter()
            .rev()
            .take(3)
            .rev()
            .map(String::as_str)
            .collect();
        if last.is_empty() {
            why.to_owned()
        } else {
            format!("{why}; it last said: {}", excerpt(&last.join(" | "), 400))
        }
    }
}

/// Takes a notice of the server. Progress goes to whoever waits for it.
pub(crate) fn handle_notification(
    server: &str,
    inbox: &Inbox,
    method: &str,
    params: Option<&RawValue>,
    progress_of: impl FnOnce(u64) -> Option<ProgressSink>,
) {
    match method {
        "notifications/tools/list_changed" => inbox.tools_changed(),
        "notifications/progress" => {
            let params = parse_params(params);
            let sink = params["progressToken"].as_u64().and_then(progress_of);
            if let (Some(sink), Some(progress)) = (sink, params["progress"].as_f64()) {
                // Whoever is behind misses a step, not the end.
                let _ = sink.try_send(Progress {
                    progress,
                    total: params["total"].as_f64(),
                    message: params["message"].as_str().map(|text| excerpt(text, 200)),
                });
            }
        }
        "notifications/message" => {
            let params = parse_params(params);
            let text = match &params["data"] {
                Value::String(text) => text.clone(),
                data => data.to_string(),
            };
            let level = params["level"].as_str().unwrap_or("info");
            tracing::debug!(
                server,
                level,
                text = excerpt(&text, 500),
                "MCP server log message"
            );
        }
        _ => {}
    }
}

fn parse_params(params: Option<&RawValue>) -> Value {
    params
        .and_then(|params| serde_json::from_str(params.get()).ok())
        .unwrap_or_default()
}

/// The line that answers what a server asks of us. We offer it nothing, so only
/// a sign of life is answered with yes.
pub(crate) fn answer_line(id: &RawValue, method: &str) -> String {
    let answer = match method {
        "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        _ => json!({ "jsonrpc": "2.0", "id": id, "error": {
            "code": -32601, "message": "this client does not offer that",
        }}),
    };
    answer.to_string()
}

pub(crate) fn request_line(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

pub(crate) fn notice_line(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// A connection, one way or the other.
#[derive(Debug)]
pub(crate) enum Link {
    Stdio(StdioLink),
    Http(Box<HttpLink>),
}

impl Link {
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &Value,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, RequestError> {
        match self {
            Self::Stdio(link) => link.request(method, params, options).await,
            Self::Http(link) => link.request(method, params, options).await,
        }
    }

    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), RequestError> {
        match self {
            Self::Stdio(link) => link.notify(method, params),
            Self::Http(link) => link.notify(method, params).await,
        }
    }

    /// Returns why, when the connection has ended.
    pub(crate) async fn closed(&self) -> String {
        match self {
            Self::Stdio(link) => link.closed().await,
            Self::Http(link) => link.closed().await,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Stdio(link) => link.is_open(),
            Self::Http(link) => link.is_open(),
        }
    }

    /// Ends it, and on this machine the server with it.
    pub(crate) async fn stop(&self) {
        match self {
            Self::Stdio(link) => link.stop().await,
            Self::Http(link) => link.stop().await,
        }
    }

    pub(crate) fn process(&self) -> Option<u32> {
        match self {
            Self::Stdio(link) => link.process(),
            Self::Http(_) => None,
        }
    }
}
