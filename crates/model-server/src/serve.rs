//! HTTP: which API a request speaks, and its answer as a stream of events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use crate::reply::{Emit, Part};
use crate::{Api, Purpose, Received, Reply, Script, anthropic, chat, gemini, responses};

/// Longer than any request of a short conversation.
const MAX_REQUEST: usize = 32 << 20;
const UNSCRIPTED: &str = "The test has queued no reply for this.";
const TITLE: &str = "A scripted title";

type Body = UnsyncBoxBody<Bytes, io::Error>;

pub(crate) async fn serve(listener: std::net::TcpListener, script: Arc<Script>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    while let Ok((stream, _)) = listener.accept().await {
        let script = Arc::clone(&script);
        let service = service_fn(move |request| {
            let script = Arc::clone(&script);
            async move { Ok::<_, Infallible>(answer(request, &script).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

async fn answer(request: Request<Incoming>, script: &Script) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let key = shown_key(&request);
    if request.method() != Method::POST {
        return if path.ends_with("/models") {
            json_response(200, &json!({"object": "list", "data": [], "models": []}))
        } else {
            json_response(200, &json!({}))
        };
    }
    let body = Limited::new(request.into_body(), MAX_REQUEST);
    let Ok(body) = body.collect().await else {
        return json_response(
            413,
            &json!({"error": {"message": "the request is too long"}}),
        );
    };
    let body: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
    let Some(api) = api_of(&path) else {
        return json_response(
            404,
            &json!({"error": {"message": "there is no such endpoint"}}),
        );
    };
    let is_turn = match api {
        Api::Anthropic => path.ends_with("/messages") && anthropic::is_turn(&body),
        Api::Responses => responses::is_turn(&body),
        Api::Chat => chat::is_turn(&body) || script.takes_plain_turns(),
        Api::Gemini => gemini::is_turn(&path, &body),
    };
    let queued = if is_turn { script.next(&body) } else { None };
    let purpose = match (is_turn, &queued) {
        (false, _) => Purpose::Helper,
        (true, Some(_)) => Purpose::Turn,
        (true, None) => Purpose::Unscripted,
    };
    let number = {
        let mut log = script.log();
        log.push(Received {
            at: SystemTime::now(),
            api,
            purpose,
            path: path.clone(),
            key,
            body: body.clone(),
        });
        log.len()
    };
    if purpose == Purpose::Helper {
        return helper(api, &path, &body, number);
    }
    let reply = queued.unwrap_or_else(|| Reply::new().text(UNSCRIPTED));
    if let [Part::Error { status }] = reply.parts[..] {
        return json_response(status, &error(api, status));
    }
    streamed(events(api, &reply.parts, &body, number))
}

fn shown_key(request: &Request<Incoming>) -> Option<String> {
    let header = |name: &str| request.headers().get(name)?.to_str().ok();
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let key = bearer
        .or_else(|| header("x-api-key"))
        .or_else(|| header("x-goog-api-key"));
    key.map(str::to_owned)
}

fn api_of(path: &str) -> Option<Api> {
    if path.ends_with("/messages") || path.ends_with("/messages/count_tokens") {
        Some(Api::Anthropic)
    } else if path.ends_with("/responses") {
        Some(Api::Responses)
    } else if path.ends_with("/chat/completions") {
        Some(Api::Chat)
    } else if path.contains("/models/") && path.contains(':') {
        Some(Api::Gemini)
    } else {
        None
    }
}

fn helper(api: Api, path: &str, body: &Value, number: usize) -> Response<Body> {
    let streams = body["stream"] == true;
    match api {
        Api::Anthropic if path.ends_with("/count_tokens") => {
            json_response(200, &json!({"input_tokens": 100}))
        }
        Api::Gemini if path.ends_with(":countTokens") => {
            json_response(200, &json!({"totalTokens": 100}))
        }
        Api::Gemini if !path.ends_with(":streamGenerateContent") => {
            json_response(200, &gemini::plain(body))
        }
        Api::Anthropic if !streams => json_response(200, &anthropic::plain(TITLE, body)),
        Api::Chat if !streams => json_response(200, &chat::plain(TITLE, body)),
        api => {
            let text = match api {
                Api::Responses | Api::Anthropic => json!({"title": TITLE}).to_string(),
                Api::Chat | Api::Gemini => TITLE.to_owned(),
            };
            streamed(events(api, &[Part::Text(text)], body, number))
        }
    }
}

fn events(api: Api, parts: &[Part], body: &Value, number: usize) -> Vec<Emit> {
    match api {
        Api::Anthropic => anthropic::stream(parts, body, number),
        Api::Responses => responses::stream(parts, body, number),
        Api::Chat => chat::stream(parts, body, number),
        Api::Gemini => gemini::stream(parts, number),
    }
}

fn error(api: Api, status: u16) -> Value {
    match api {
        Api::Anthropic => anthropic::error(status),
        Api::Responses | Api::Chat => responses::error(status),
        Api::Gemini => gemini::error(status),
    }
}

fn json_response(status: u16, body: &Value) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = Full::new(Bytes::from(body.to_string()));
    let mut response = Response::new(body.map_err(io::Error::other).boxed_unsync());
    *response.status_mut() = status;
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn streamed(events: Vec<Emit>) -> Response<Body> {
    let body = stream::unfold(VecDeque::from(events), |mut events| async {
        loop {
            match events.pop_front()? {
                Emit::Send(text) => {
                    return Some((Ok(Frame::data(Bytes::from(text))), events));
                }
                Emit::Pause(time) => tokio::time::sleep(time).await,
                Emit::Hold(gate) => gate.opened().await,
                Emit::Drop => {
                    // What was said before leaves when nothing more is ready.
                    tokio::task::yield_now().await;
                    events.clear();
                    let broken = io::Error::from(io::ErrorKind::ConnectionAborted);
                    return Some((Err(broken), events));
                }
            }
        }
    });
    let mut response = Response::new(StreamBody::new(body).boxed_unsync());
    let stream = hyper::header::HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, stream);
    response
}
