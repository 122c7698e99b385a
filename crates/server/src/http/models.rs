//! The wire formats of models, for the agents this daemon runs. Who asks is known by the
//! token of its execution, which nothing else here accepts; a token of a program reaches
//! no model. What is passed on, and with which key, is decided in `missiond-llm`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use missiond_llm::{Face, Incoming, Refused, Relayed, Watch};

use super::connections::Guest;
use super::operations::read_body;
use super::refusal::{Refusal, json_response};
use super::web::Web;

/// A conversation with pictures.
const LARGEST: usize = 64 << 20;

pub(super) async fn pass(
    State(web): State<Web>,
    Path((face, path)): Path<(String, String)>,
    request: Request,
) -> Response {
    let Some(face) = Face::from_name(&face) else {
        return Refusal::not_found("no wire format has this name").into_response();
    };
    let (parts, body) = request.into_parts();
    let agent = match web.daemon.llm.admit(face, &parts.headers).await {
        Ok(agent) => agent,
        Err(refusal) => return refused(&refusal),
    };
    if let Some(guest) = parts.extensions.get::<Guest>() {
        guest.is_known();
    }
    let body = match read_body(body, LARGEST).await {
        Ok(body) => body,
        Err(refusal) => return refusal.into_response(),
    };
    let incoming = Incoming {
        face,
        method: parts.method,
        path: format!("/{path}"),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        body,
    };
    let watch: Arc<dyn Watch> = Arc::clone(&web.daemon.executions) as _;
    match web.daemon.llm.relay(agent, incoming, watch).await {
        Ok(relayed) => passed_on(relayed),
        Err(refusal) => refused(&refusal),
    }
}

/// As it comes, a piece at a time: whoever reads slowly is read for slowly.
fn passed_on(relayed: Relayed) -> Response {
    let pieces = stream::unfold(relayed.body, |mut body| async {
        body.chunk().await.map(|piece| (piece, body))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    *response.status_mut() = relayed.status;
    *response.headers_mut() = relayed.headers;
    response
}

fn refused(refused: &Refused) -> Response {
    let mut response = json_response(refused.body.to_string());
    *response.status_mut() = refused.status;
    let headers = response.headers_mut();
    if let Some(seconds) = refused.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if refused.is_final {
        headers.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    response
}
