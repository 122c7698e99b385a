//! A server behind HTTP ("streamable HTTP"), in both eras: each message is a
//! POST, answered by JSON or by a stream of events.
//!
//! In the older era a server may have a session, send messages of its own on a
//! stream that is kept open, and drop the stream of an answer to be asked for
//! the rest. In the newer one it has neither, and wants the gist of each message
//! in headers. What was sent is never sent again from here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use missiond_core::excerpt;
use missiond_net::SseParser;
use missiond_net::http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use missiond_net::http::{
    Connections, HeaderMap, HttpClient, HttpError, Method, Request, Response, StatusCode, Uri,
};
use missiond_runtime::{OnPanic, Supervisor};
use parking_lot::{Mutex, RwLock};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::config::expand;
use crate::error::Sent;
use crate::link::{
    Inbox, ProgressSink, RequestError, RequestOptions, answer_line, handle_notification,
    notice_line, request_line,
};
use crate::session::Era;
use crate::wire::{Incoming, MAX_MESSAGE, RpcError};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// A stream that was dropped is asked for again so often.
const RESUMES: u32 = 20;

#[derive(Debug)]
pub(crate) struct HttpLink {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: String,
    inbox: Arc<Inbox>,
    client: HttpClient,
    uri: Uri,
    headers: HeaderMap,
    next: AtomicU64,
    negotiated: RwLock<Negotiated>,
    closed: watch::Sender<Option<String>>,
    listening: Mutex<Option<tokio::task::AbortHandle>>,
    supervisor: Supervisor,
}

/// What both sides have settled on.
#[derive(Debug, Clone, Default)]
struct Negotiated {
    era: Option<Era>,
    version: Option<String>,
    session: Option<HeaderValue>,
}

/// A request that failed before it left us did nothing.
fn lost(error: &HttpError) -> RequestError {
    let sent = match error {
        HttpError::NoCertificates(_) | HttpError::Unreachable(_) => Sent::No,
        HttpError::Broken(_) | HttpError::Timeout(_) => Sent::Yes,
        HttpError::TooLarge { .. } => return RequestError::TooLarge,
    };
    RequestError::Closed {
        why: error.to_string(),
        sent,
    }
}

impl HttpLink {
    pub(crate) fn new(
        server: &str,
        url: &str,
        headers: &BTreeMap<String, String>,
        inbox: &Arc<Inbox>,
        supervisor: &Supervisor,
    ) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| format!("`{url}` is not a URL"))?;
        let mut fixed = HeaderMap::new();
        for (name, value) in headers {
            let value = expand(value, |name| std::env::var(name).ok())
                .map_err(|variable| crate::launch::missing(&variable))?;
            let name = HeaderName::try_from(name.as_str())
                .map_err(|_| format!("`{name}` cannot be a header"))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| format!("the value of `{name}` cannot be a header"))?;
            value.set_sensitive(true);
            fixed.insert(name, value);
        }
        Ok(Self {
            shared: Arc::new(Shared {
                server: server.to_owned(),
                inbox: Arc::clone(inbox),
                client: HttpClient::new(Connections::Kept),
                uri,
                headers: fixed,
                next: AtomicU64::new(1),
                negotiated: RwLock::default(),
                closed: watch::Sender::new(None),
                listening: Mutex::new(None),
                supervisor: supervisor.clone(),
            }),
        })
    }

    /// Later messages are sent as this era and version want them. The handshake
    /// itself comes before any version.
    pub(crate) fn set_negotiated(&self, era: Era, version: Option<&str>) {
        let mut negotiated = self.shared.negotiated.write();
        negotiated.era = Some(era);
        negotiated.version = version.map(str::to_owned);
    }

    /// Keeps a stream open for what the server says unasked. A server that has
    /// none says so, and that is fine.
    pub(crate) fn listen(&self, subscription: Option<Value>) {
        let shared = Arc::clone(&self.shared);
        let task = self.shared.spawn("MCP server events", async move {
            shared.listen(subscription).await;
        });
        let mut listening = self.shared.listening.lock();
        if let Some(before) = listening.replace(task.abort_handle()) {
            before.abort();
        }
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        params: &Value,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, RequestError> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let mut params = params.clone();
        if options.progress.is_some() {
            params["_meta"]["progressToken"] = json!(id);
        }
        let mut cancel = CancelOnDrop {
            shared: &self.shared,
            id,
            is_over: method == "initialize",
        };
        let work = self.shared.exchange(id, method, &params, &options);
        let outcome = tokio::time::timeout(options.limit, work).await;
        cancel.is_over |= outcome.is_ok();
        outcome.unwrap_or(Err(RequestError::Timeout {
            limit: options.limit,
            sent: Sent::Yes,
        }))
    }

    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), RequestError> {
        self.shared.notify(method, params).await
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

    /// Gives a session back.
    pub(crate) async fn stop(&self) {
        let listening = self.shared.listening.lock().take();
        if let Some(listening) = listening {
            listening.abort();
        }
        self.shared.close("it was stopped");
        if self.shared.negotiated().session.is_some() {
            let request = self.shared.message(Method::DELETE, String::new(), &[]);
            let farewell = self.shared.client.send(request);
            let _ = tokio::time::timeout(Duration::from_secs(1), farewell).await;
        }
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        let listening = self.shared.listening.lock().take();
        if let Some(listening) = listening {
            listening.abort();
        }
    }
}

/// Tells an older server that nobody waits any more; a newer one sees it from
/// the closed stream.
struct CancelOnDrop<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
    is_over: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.is_over || self.shared.negotiated().era != Some(Era::Legacy) {
            return;
        }
        let shared = Arc::clone(self.shared);
        let id = self.id;
        if tokio::runtime::Handle::try_current().is_ok() {
            self.shared.spawn("MCP server cancellation", async move {
                let params = json!({ "requestId": id, "reason": "nobody waits for it any more" });
                let notice = shared.notify("notifications/cancelled", &params);
                let _ = tokio::time::timeout(Duration::from_secs(5), notice).await;
            });
        }
    }
}

/// What a stream or body ended with.
enum StreamEnd {
    Answered(Result<Box<RawValue>, RequestError>),
    /// No answer came; with an id the rest can be asked for.
    Early(Option<String>, Duration),
}

impl Shared {
    fn spawn(
        &self,
        task: &'static str,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        let subject = Some(self.server.clone());
        self.supervisor
            .spawn(task, subject, OnPanic::Report, future)
    }

    fn negotiated(&self) -> Negotiated {
        self.negotiated.read().clone()
    }

    fn close(&self, why: &str) {
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(why.to_owned());
            }
            first
        });
    }

    fn message(&self, method: Method, body: String, more: &[(HeaderName, HeaderValue)]) -> Request {
        let negotiated = self.negotiated();
        let mut request = Request::new(body.into());
        *request.uri_mut() = self.uri.clone();
        let accept = match method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        *request.method_mut() = method;
        let headers = request.headers_mut();
        headers.extend(self.headers.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(version) = negotiated
            .version
            .and_then(|version| version.try_into().ok())
        {
            headers.insert(VERSION, version);
        }
        if let Some(session) = negotiated.session {
            headers.insert(SESSION, session);
        }
        for (name, value) in more {
            headers.insert(name.clone(), value.clone());
        }
        request
    }

    async fn exchange(
        self: &Arc<Self>,
        id: u64,
        method: &str,
        params: &Value,
        options: &RequestOptions,
    ) -> Result<Box<RawValue>, RequestError> {
        let more = self.gist(method, params, &options.headers)?;
        let request = self.message(Method::POST, request_line(id, method, params), &more);
        let response = self
            .client
            .send(request)
            .await
            .map_err(|error| lost(&error))?;
        self.inbox.record_activity();
        if method == "initialize"
            && let Some(session) = response.headers().get(SESSION)
        {
            let mut negotiated = self.negotiated.write();
            negotiated.session = Some(session.clone());
        }
        let mut response = response;
        for _ in 0..RESUMES {
            match self.read(id, response, options.progress.as_ref()).await? {
                StreamEnd::Answered(answer) => return answer,
                StreamEnd::Early(Some(last), wait)
                    if self.negotiated().era != Some(Era::Modern) =>
                {
                    tokio::time::sleep(wait).await;
                    let last = HeaderValue::try_from(last).map_err(|_| {
                        RequestError::Protocol("its event has an unusable id".to_owned())
                    })?;
                    let request = self.message(Method::GET, String::new(), &[(LAST_EVENT, last)]);
                    response = self
                        .client
                        .send(request)
                        .await
                        .map_err(|error| lost(&error))?;
                }
                StreamEnd::Early(..) => break,
            }
        }
        Err(RequestError::Closed {
            why: "it ended the stream without an answer".to_owned(),
            sent: Sent::Yes,
        })
    }

    /// The headers that repeat the gist of a message, in the newer era.
    fn gist(
        &self,
        method: &str,
        params: &Value,
        more: &[(String, String)],
    ) -> Result<Vec<(HeaderName, HeaderValue)>, RequestError> {
        let unusable = || RequestError::Protocol("a value cannot be a header".to_owned());
        // Discovery comes before anything is agreed on.
        let is_modern = params["_meta"].get(crate::session::VERSION_KEY).is_some();
        if !is_modern {
            return Ok(Vec::new());
        }
        let mut headers = vec![(METHOD, header_value(method).ok_or_else(unusable)?)];
        if let Some(version) = params["_meta"][crate::session::VERSION_KEY].as_str() {
            headers.push((VERSION, header_value(version).ok_or_else(unusable)?));
        }
        if let Some(name) = params["name"].as_str().or_else(|| params["uri"].as_str()) {
            headers.push((NAME, header_value(name).ok_or_else(unusable)?));
        }
        for (name, value) in more {
            let name = HeaderName::try_from(name.as_str()).map_err(|_| unusable())?;
            headers.push((name, header_value(value).ok_or_else(unusable)?));
        }
        Ok(headers)
    }

    /// Reads what answers request `id`.
    async fn read(
        self: &Arc<Self>,
        id: u64,
        response: Response,
        progress: Option<&ProgressSink>,
    ) -> Result<StreamEnd, RequestError> {
        let status = response.status();
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let mut body = response.into_body();
        if is_stream && status.is_success() {
            let mut parser = SseParser::with_limit(MAX_MESSAGE);
            // A stream that breaks is a stream that ended early.
            while let Some(Ok(piece)) = body.chunk().await {
                self.inbox.record_activity();
                let mut answered = None;
                let fed = parser.feed(&piece, |event| {
                    answered =
                        answered
                            .take()
                            .or(self.handle_message(&event.data, Some(id), progress));
                });
                if let Some(answer) = answered {
                    return Ok(StreamEnd::Answered(answer));
                }
                fed.map_err(|_| RequestError::TooLarge)?;
            }
            let wait = Duration::from_millis(parser.retry_ms.unwrap_or(1000).min(30_000));
            return Ok(StreamEnd::Early(parser.last_id, wait));
        }
        let text = body
            .read_to_end(MAX_MESSAGE)
            .await
            .map_err(|error| lost(&error))?;
        if let Some(answer) = self.handle_message(&text, Some(id), progress)
            && (status.is_success() || matches!(answer, Err(RequestError::Rpc(_))))
        {
            return Ok(StreamEnd::Answered(answer));
        }
        Ok(StreamEnd::Answered(Err(self.refusal(status, &text))))
    }

    fn refusal(&self, status: StatusCode, text: &[u8]) -> RequestError {
        if status == StatusCode::NOT_FOUND && self.negotiated().session.is_some() {
            // That is how a server says that it has forgotten us: it did nothing.
            self.close("its session has ended");
            return RequestError::Closed {
                why: "its session has ended".to_owned(),
                sent: Sent::No,
            };
        }
        if let Incoming::Complaint(error) = Incoming::parse(text) {
            return RequestError::Rpc(error);
        }
        if status.is_success() {
            return RequestError::Protocol(format!("it answered {status} without an answer"));
        }
        let why = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "it wants authorization: give it a header in the list, such as \
                 `headers = { Authorization = \"Bearer ${TOKEN}\" }`"
                    .to_owned()
            }
            _ => excerpt(&String::from_utf8_lossy(text), 200),
        };
        RequestError::Http {
            status: status.as_u16(),
            why,
        }
    }

    /// One message of the server; the answer if it is one to request `id`.
    fn handle_message(
        self: &Arc<Self>,
        message: &[u8],
        id: Option<u64>,
        progress: Option<&ProgressSink>,
    ) -> Option<Result<Box<RawValue>, RequestError>> {
        match Incoming::parse(message) {
            Incoming::Answer {
                id: answered,
                outcome,
            } if Some(answered) == id => {
                return Some(outcome.map_err(RequestError::Rpc));
            }
            Incoming::Answer { .. } => self
                .inbox
                .report_unusable(&self.server, "an answer nobody waits for"),
            Incoming::Notice { method, params } => {
                handle_notification(
                    &self.server,
                    &self.inbox,
                    &method,
                    params.as_deref(),
                    |token| progress.filter(|_| Some(token) == id).cloned(),
                );
            }
            Incoming::Request { id, method } => {
                if self.negotiated().era == Some(Era::Legacy) {
                    let shared = Arc::clone(self);
                    self.spawn("MCP server answer", async move {
                        let _ = shared.post(answer_line(&id, &method)).await;
                    });
                }
            }
            Incoming::Complaint(_) => {}
            Incoming::Stray if message.is_empty() => {}
            Incoming::Stray => self
                .inbox
                .report_unusable(&self.server, "something that is no message"),
        }
        None
    }

    async fn notify(&self, method: &str, params: &Value) -> Result<(), RequestError> {
        self.post(notice_line(method, params)).await
    }

    async fn post(&self, line: String) -> Result<(), RequestError> {
        let request = self.message(Method::POST, line, &[]);
        let response = self
            .client
            .send(request)
            .await
            .map_err(|error| lost(&error))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            // Some servers keep no session and know no notices.
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status => Err(RequestError::Http {
                status: status.as_u16(),
                why: String::new(),
            }),
        }
    }

    async fn listen(self: Arc<Self>, subscription: Option<Value>) {
        let mut last: Option<String> = None;
        loop {
            let opened = match &subscription {
                Some(params) => {
                    let id = self.next.fetch_add(1, Ordering::Relaxed);
                    let line = request_line(id, "subscriptions/listen", params);
                    self.gist("subscriptions/listen", params, &[])
                        .map(|more| self.message(Method::POST, line, &more))
                }
                None => {
                    let resume = last.take().and_then(|id| HeaderValue::try_from(id).ok());
                    let more: Vec<_> = resume.map(|id| (LAST_EVENT, id)).into_iter().collect();
                    Ok(self.message(Method::GET, String::new(), &more))
                }
            };
            let Ok(request) = opened else { return };
            let mut wait = Duration::from_secs(1);
            match self.client.send(request).await {
                Ok(response) if response.status().is_success() => {
                    let mut parser = SseParser::with_limit(MAX_MESSAGE);
                    let mut body = response.into_body();
                    while let Some(Ok(piece)) = body.chunk().await {
                        let fed = parser.feed(&piece, |event| {
                            drop(self.handle_message(&event.data, None, None));
                        });
                        if fed.is_err() {
                            return;
                        }
                    }
                    last = parser.last_id;
                    wait = Duration::from_millis(parser.retry_ms.unwrap_or(1000).clamp(10, 60_000));
                }
                Ok(_) => return,
                Err(_) => wait = Duration::from_secs(10).max(wait),
            }
            tokio::time::sleep(wait).await;
        }
    }
}

/// A value as a header carries it: as it is where that is safe, else in Base64.
fn header_value(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b'\t' | 0x20..=0x7e))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain {
        return HeaderValue::try_from(text).ok();
    }
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    HeaderValue::try_from(format!("=?base64?{encoded}?=")).ok()
}

/// What an error of the protocol looks like that only newer servers send.
pub(crate) fn is_modern_error(error: &RpcError) -> bool {
    matches!(error.code, -32099..=-32020)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_header_cannot_carry_is_encoded() {
        for (text, carried) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(header_value(text).unwrap(), carried);
        }
    }
}
