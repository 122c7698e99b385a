//! The protocol over HTTP: every message is one POST, answered with JSON or, when
//! something may be told before the answer, with a stream of events. No session
//! is kept; a client that closes its stream has cancelled what it asked for.
//!
//! Who may ask at all is decided before: this knows nobody. [`is_local`] tells
//! what a web page that was led to the loopback address would send.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use futures::stream;
use missiond_api::{Incoming, Request};
use missiond_net::{host_of_authority, is_loopback_host};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::protocol::{
    HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, LEGACY, METHOD_NOT_FOUND, MODERN,
    UNSUPPORTED_VERSION, VERSION_KEY, excerpt,
};
use crate::server::{Arrival, Dispatch, Reply, RequestLifetime, Server, Work, refused};

const QUEUE: usize = 64;
/// A stream on which nothing happens says so, so that nobody in between ends it.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

const VERSION_HEADER: &str = "mcp-protocol-version";

/// Answers one POST. The caller has bounded the size of the body, and made sure
/// that it comes from somebody who may ask.
pub async fn post(server: &Server, headers: &HeaderMap, body: &[u8]) -> Response {
    if !is_json(headers) {
        let message = "the body must be `application/json`";
        return answer(
            &refused(None, INVALID_REQUEST, message, None),
            Some(StatusCode::UNSUPPORTED_MEDIA_TYPE),
        );
    }
    let request = match Incoming::parse(body) {
        Ok(Incoming::Request(request)) => request,
        Ok(Incoming::Notification(_) | Incoming::Response(_)) => {
            return StatusCode::ACCEPTED.into_response();
        }
        Err(error) => {
            let answered = refused(None, INVALID_REQUEST, &error.message, None);
            return answer(&answered, Some(StatusCode::BAD_REQUEST));
        }
    };
    let is_modern = match check(headers, &request) {
        Ok(is_modern) => is_modern,
        Err(fault) => return answer(&fault, Some(StatusCode::BAD_REQUEST)),
    };
    let (outlet, notices) = mpsc::channel(QUEUE);
    match server.handle_message(body, Arrival::Http, &outlet) {
        Dispatch::Reply(answered) => answer(&answered, status(&answered, is_modern)),
        Dispatch::Work(work)
            if work.lifetime == RequestLifetime::UntilAnswered || !accepts_events(headers) =>
        {
            let answered = work.answer.await;
            answer(&answered, status(&answered, is_modern))
        }
        Dispatch::Work(work) => events(work, notices),
        Dispatch::Nothing | Dispatch::Cancel(_) | Dispatch::Initialized => {
            StatusCode::ACCEPTED.into_response()
        }
    }
}

/// The answer to a request that must not be served.
#[must_use]
pub fn refuse_stranger() -> Response {
    let message = "requests must come from this machine: `Host` and `Origin` say otherwise";
    let refusal = refused(None, INVALID_REQUEST, message, None);
    answer(&refusal, Some(StatusCode::FORBIDDEN))
}

/// Whether a request names this machine as its target and comes from no page of
/// another.
#[must_use]
pub fn is_local(headers: &HeaderMap) -> bool {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let host = headers.get(header::HOST).map(text).unwrap_or_default();
    let origin_is_local = match headers.get(header::ORIGIN).map(text) {
        None => true,
        Some(origin) => origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"))
            .is_some_and(names_loopback),
    };
    names_loopback(&host) && origin_is_local
}

fn names_loopback(authority: &str) -> bool {
    is_loopback_host(host_of_authority(authority))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter();
    accepted.any(|value| {
        let value = value.to_str().unwrap_or_default();
        value.contains("text/event-stream") || value.contains("*/*")
    })
}

/// Whether the request is of the newer era; its headers must then say what its
/// body says.
fn check(headers: &HeaderMap, request: &Request) -> Result<bool, Reply> {
    let params: Value = request
        .params
        .as_deref()
        .map(RawValue::get)
        .and_then(|params| serde_json::from_str(params).ok())
        .unwrap_or_default();
    let fault = |code, message: String| refused(Some(&request.id), code, &message, None);
    let mismatch = |message: String| fault(HEADER_MISMATCH, message);
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let in_body = params["_meta"][VERSION_KEY].as_str();
    match (header(VERSION_HEADER), in_body) {
        (None, None) => return Ok(false),
        (Some(version), None) if LEGACY.contains(&version) => return Ok(false),
        (Some(said), Some(meant)) if said == meant => {
            if LEGACY.contains(&meant) {
                return Ok(false);
            }
        }
        (None, Some(_)) => {
            return Err(mismatch(
                "the header MCP-Protocol-Version is missing".into(),
            ));
        }
        (Some(version), None) if version != MODERN => {
            let message = format!("protocol version {} is not supported", excerpt(version));
            let data = serde_json::json!({ "supported": [MODERN], "requested": excerpt(version) });
            return Err(refused(
                Some(&request.id),
                UNSUPPORTED_VERSION,
                &message,
                Some(data),
            ));
        }
        (Some(_), None) => {
            let message = format!("`_meta` must have `{VERSION_KEY}`");
            return Err(fault(INVALID_PARAMS, message));
        }
        (Some(said), Some(meant)) => {
            let (said, meant) = (excerpt(said), excerpt(meant));
            let message = format!("MCP-Protocol-Version says {said}, the body {meant}");
            return Err(mismatch(message));
        }
    }
    if header("mcp-method") != Some(request.method.as_str()) {
        let method = excerpt(&request.method);
        return Err(mismatch(format!("the header Mcp-Method must be {method}")));
    }
    let name = match request.method.as_str() {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    if let Some(name) = name
        && header("mcp-name").and_then(decoded).as_deref() != Some(name)
    {
        return Err(mismatch(format!(
            "the header Mcp-Name must be {}",
            excerpt(name)
        )));
    }
    Ok(true)
}

/// What a header says that may be wrapped because it is more than plain letters.
fn decoded(value: &str) -> Option<String> {
    match value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    {
        None => Some(value.to_owned()),
        Some(wrapped) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(wrapped);
            String::from_utf8(bytes.ok()?).ok()
        }
    }
}

/// The older era answers every error with 200, as its clients expect.
fn status(answered: &Reply, is_modern: bool) -> Option<StatusCode> {
    match answered.fault {
        Some(METHOD_NOT_FOUND) if is_modern => Some(StatusCode::NOT_FOUND),
        Some(_) if is_modern => Some(StatusCode::BAD_REQUEST),
        _ => None,
    }
}

fn answer(answered: &Reply, status: Option<StatusCode>) -> Response {
    let status = status.unwrap_or(StatusCode::OK);
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (status, kind, answered.line.clone()).into_response()
}

/// The notices of a request as they come, then its answer.
fn events(work: Work, notices: mpsc::Receiver<Vec<u8>>) -> Response {
    enum Stage {
        Going(Work, mpsc::Receiver<Vec<u8>>),
        Answered(Reply, mpsc::Receiver<Vec<u8>>),
        Over,
    }
    let body = stream::unfold(Stage::Going(work, notices), |stage| async move {
        let (piece, next) = match stage {
            Stage::Going(mut work, mut notices) => tokio::select! {
                biased;
                Some(line) = notices.recv() => (event(&line), Stage::Going(work, notices)),
                answered = &mut work.answer => {
                    // What was said before the answer is told before it.
                    match notices.try_recv() {
                        Ok(line) => (event(&line), Stage::Answered(answered, notices)),
                        Err(_) => (event(&answered.line), Stage::Over),
                    }
                }
                () = tokio::time::sleep(SIGN_OF_LIFE) => {
                    (Bytes::from_static(b":\n\n"), Stage::Going(work, notices))
                }
            },
            Stage::Answered(answered, mut notices) => match notices.try_recv() {
                Ok(line) => (event(&line), Stage::Answered(answered, notices)),
                Err(_) => (event(&answered.line), Stage::Over),
            },
            Stage::Over => return None,
        };
        Some((Ok::<_, std::convert::Infallible>(piece), next))
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(body)).into_response()
}

fn event(line: &[u8]) -> Bytes {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut event = Vec::with_capacity(line.len() + 24);
    event.extend_from_slice(b"event: message\ndata: ");
    event.extend_from_slice(line);
    event.extend_from_slice(b"\n\n");
    event.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        is_local(&headers)
    }

    #[test]
    fn only_this_machine_may_ask() {
        for host in ["localhost:1", "127.0.0.1:80", "[::1]:9", "127.0.0.1"] {
            assert!(local(host, None), "{host}");
            assert!(local(host, Some("http://localhost:3000")), "{host}");
            assert!(!local(host, Some("https://evil.example")), "{host}");
            assert!(!local(host, Some("null")), "{host}");
        }
        assert!(!local("evil.example", None));
        assert!(!local(
            "127.0.0.1.evil.example:80",
            Some("http://127.0.0.1")
        ));
        assert!(!is_local(&HeaderMap::new()));
    }

    #[test]
    fn a_wrapped_header_is_unwrapped_and_a_broken_one_matches_nothing() {
        assert_eq!(decoded("plain"), Some("plain".to_owned()));
        assert_eq!(decoded("=?base64?w6k=?="), Some("é".to_owned()));
        assert_eq!(decoded("=?base64?%%?="), None);
    }
}
