//! A server behind HTTP ("streamable HTTP"): each message is a POST, answered
//! by JSON or by a stream of events. Without TLS, so it is for this machine.

use std::collections::BTreeMap;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::{MAX_MESSAGE, answer_to, notification, request_message};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

#[derive(Debug)]
pub(super) struct Http {
    uri: Uri,
    authority: String,
    headers: BTreeMap<String, String>,
    session: Option<String>,
    version: Option<String>,
    next: u64,
}

impl Http {
    pub(super) fn new(url: &str, headers: BTreeMap<String, String>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| format!("`{url}` is not a URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(format!(
                "`{url}`: only http:// is spoken, to a server on this machine"
            ));
        }
        let host = uri.host().ok_or_else(|| format!("`{url}` names no host"))?;
        let authority = format!("{host}:{}", uri.port_u16().unwrap_or(80));
        Ok(Self {
            authority,
            uri,
            headers,
            session: None,
            version: None,
            next: 1,
        })
    }

    /// Later requests say which version both sides speak.
    pub(super) fn agree_on(&mut self, version: &str) {
        self.version = Some(version.to_owned());
    }

    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next;
        self.next += 1;
        let response = self.post(&request_message(id, method, &params)).await?;
        if let Some(session) = response.headers().get(SESSION) {
            self.session = session.to_str().ok().map(str::to_owned);
        }
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let status = response.status();
        let mut body = Limited::new(response.into_body(), MAX_MESSAGE);
        let mut received = Vec::new();
        // A stream may stay open after its answer: each event is looked at as
        // it comes.
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| error.to_string())?;
            received.extend_from_slice(&frame.into_data().unwrap_or_default());
            if is_stream && let Some(answer) = in_events(id, &received) {
                return answer;
            }
        }
        if !status.is_success() {
            return Err(format!("it answered {status}"));
        }
        let message: Value =
            serde_json::from_slice(&received).map_err(|error| format!("not JSON: {error}"))?;
        answer_to(id, &message).unwrap_or_else(|| Err("it answered something else".to_owned()))
    }

    pub(super) async fn notify(&mut self, method: &str) -> Result<(), String> {
        let status = self.post(&notification(method)).await?.status();
        match status {
            status if status.is_success() => Ok(()),
            // Some servers keep no sessions and know no notifications.
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status => Err(format!("it answered {status}")),
        }
    }

    async fn post(&self, message: &Value) -> Result<Response<hyper::body::Incoming>, String> {
        let stream = TcpStream::connect(&self.authority)
            .await
            .map_err(|error| format!("{}: {error}", self.authority))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        for (name, value) in [(SESSION, &self.session), (VERSION, &self.version)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let request = request
            .body(Full::new(Bytes::from(message.to_string())))
            .map_err(|error| error.to_string())?;
        sender
            .send_request(request)
            .await
            .map_err(|error| error.to_string())
    }
}

/// The answer among the complete events received so far.
fn in_events(id: u64, received: &[u8]) -> Option<Result<Value, String>> {
    let text = String::from_utf8_lossy(received).replace("\r\n", "\n");
    let (complete, _) = text.rsplit_once("\n\n")?;
    complete.split("\n\n").find_map(|event| {
        let data: Vec<&str> = event
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|data| data.strip_prefix(' ').unwrap_or(data))
            .collect();
        let message: Value = serde_json::from_str(&data.join("\n")).ok()?;
        answer_to(id, &message)
    })
}
