//! HTTP, on the loopback interface unless a person wants otherwise: the web
//! board, the operations, live events, terminals, metrics.
//!
//! A request passes the gate (is it meant for this server, does it come from a
//! page of ours), then is asked who it is from, then reaches what it names. Like
//! every transport this one decides nothing: an operation goes to
//! `Operations::call` as it came.

mod assets;
mod caller;
mod connections;
mod gate;
mod listener;
mod live;
mod mcp;
mod models;
mod operations;
mod origin;
mod recordings;
mod refusal;
mod session;
mod sockets;
mod terminal;
mod web;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use missiond_runtime::Stage;

pub use listener::HttpError;
pub use listener::HttpServer;

use refusal::Refusal;
use web::Web;

/// Everything there is, behind the gate.
fn router(web: Web) -> Router {
    let known = Router::new()
        .route("/session", get(session::show).delete(session::log_out))
        .route("/ops/{name}", post(operations::call))
        .route("/openapi.json", get(operations::document))
        .route("/live", get(live::socket));
    let known = known
        .route("/slots/{slot}/terminal", get(terminal::socket))
        .route("/slots/{slot}/recording", get(recordings::stream))
        .route("/slots/{slot}/screenshot.png", get(recordings::png))
        .route("/slots/{slot}/screenshot.svg", get(recordings::svg))
        .route("/slots/{slot}/screenshot.txt", get(recordings::text));
    let known = known.layer(middleware::from_fn_with_state(web.clone(), caller::admit));
    let agents = Router::new()
        .route("/mcp", post(mcp::post))
        .layer(middleware::from_fn_with_state(web.clone(), caller::admit));
    let api = Router::new()
        .route("/session", post(session::log_in))
        .merge(known)
        .fallback(nothing_there);
    Router::new()
        .nest("/api/v1", api)
        .merge(agents)
        .route("/llm/{face}/{*path}", any(models::pass))
        .route("/metrics", get(metrics))
        .route("/healthz", get(health))
        .fallback(assets::serve)
        .layer(middleware::from_fn_with_state(web.clone(), gate::pass))
        .with_state(web)
}

/// For whoever collects metrics on this machine; others must show a token.
async fn metrics(State(web): State<Web>, request: axum::extract::Request) -> Response {
    if web.gate.is_public() {
        let (parts, _) = request.into_parts();
        if let Err(refusal) = caller::identify(&web, &parts).await {
            return refusal.into_response();
        }
    }
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    (
        [(header::CONTENT_TYPE, kind)],
        web.daemon.metrics.prometheus(),
    )
        .into_response()
}

async fn health(State(web): State<Web>) -> impl IntoResponse {
    match web.daemon.shutdown.stage() {
        Stage::Running => (StatusCode::OK, "ok\n"),
        Stage::Draining | Stage::Closing => (StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
    }
}

async fn nothing_there() -> Refusal {
    Refusal::not_found("there is nothing at this address")
}
