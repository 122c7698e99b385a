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
use axum::response::IntoResponse;
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
    let programs = Router::new()
        .route("/mcp", post(mcp::post))
        .route("/metrics", get(metrics))
        .layer(middleware::from_fn_with_state(web.clone(), caller::admit));
    let api = Router::new()
        .route("/session", post(session::log_in))
        .merge(known)
        .fallback(nothing_there);
    Router::new()
        .nest("/api/v1", api)
        .merge(programs)
        .route("/llm/{face}/{*path}", any(models::pass))
        .route("/healthz", get(health))
        .fallback(assets::serve)
        .layer(middleware::from_fn_with_state(web.clone(), gate::pass))
        .with_state(web)
}

/// For whoever collects metrics, with a token that may look; or for a page.
async fn metrics(State(web): State<Web>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    (
        [(header::CONTENT_TYPE, kind)],
        web.daemon.metrics.prometheus(),
    )
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    const PAGE: &str = include_str!("../../../../docs/reference/http.md");

    /// Names in braces or angle brackets are somebody's choice.
    fn unnamed(address: &str) -> String {
        let mut rest = address;
        let mut unnamed = String::new();
        while let Some((before, after)) = rest.split_once(['{', '<']) {
            unnamed.push_str(before);
            unnamed.push_str("<>");
            rest = after.split_once(['}', '>']).unwrap().1;
        }
        unnamed + rest
    }

    /// What [`super::router`] says. Whoever runs it is asked for an address and cannot list
    /// them, so its words are read.
    fn routes() -> BTreeSet<String> {
        let source = include_str!("mod.rs");
        let (_, body) = source
            .split_once("fn router(web: Web) -> Router {\n")
            .unwrap();
        let body = body.split("\n}\n").next().unwrap();
        let mut routes = BTreeSet::new();
        for statement in body.split(";\n") {
            let name = statement
                .trim_start()
                .trim_start_matches("{\n")
                .trim_start();
            let is_nested = name.starts_with("let known") || name.starts_with("let api");
            let prefix = if is_nested { "/api/v1" } else { "" };
            for route in statement.split(".route(\"").skip(1) {
                let (address, handlers) = route.split_once('"').unwrap();
                let handlers = handlers.split(".route(\"").next().unwrap();
                for method in ["get", "post", "put", "patch", "delete", "any"] {
                    let calls = [format!(" {method}("), format!(".{method}(")];
                    if calls.iter().any(|call| handlers.contains(call)) {
                        let method = method.to_uppercase();
                        routes.insert(unnamed(&format!("{method} {prefix}{address}")));
                    }
                }
            }
        }
        routes
    }

    #[test]
    fn the_page_of_http_has_every_address_there_is_and_no_other() {
        assert!(include_str!("mod.rs").contains(".nest(\"/api/v1\", api)"));
        let (_, section) = PAGE.split_once("\n## Addresses\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let mut shown = BTreeSet::new();
        for row in rows {
            let mut before = String::new();
            for word in row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2) {
                // The same with another ending, or what is sent there.
                let address = if word.starts_with('.') {
                    let (stem, _) = before.rsplit_once('.').unwrap();
                    format!("{stem}{word}")
                } else if word.starts_with('{') {
                    continue;
                } else {
                    word.split('?').next().unwrap().to_owned()
                };
                let is_new = shown.insert(unnamed(&address));
                assert!(is_new, "{address} is there twice");
                before = address;
            }
        }
        let routes = routes();
        assert!(routes.len() >= 14, "{routes:?}");
        assert_eq!(shown, routes);
    }
}
