//! HTTP on the loopback interface: metrics and a health check.
//!
//! A page in a browser can reach loopback addresses too, so a request is served
//! only when its `Host` names the loopback: that stops a name of somebody
//! else's that resolves to 127.0.0.1.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::shutdown::{Shutdown, Stage};
use crate::state::Daemon;

/// Any local user can connect, so the number is small and a request must come
/// soon.
const MAX_CONNECTIONS: usize = 64;
const HEADER_LIMIT: Duration = Duration::from_secs(10);

const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}; change `http.listen` or set `http.enabled = false`")]
pub struct HttpError {
    address: SocketAddr,
    source: io::Error,
}

#[derive(Debug)]
pub(crate) struct HttpServer {
    listener: TcpListener,
}

impl HttpServer {
    pub(crate) async fn bind(address: SocketAddr) -> Result<Self, HttpError> {
        match TcpListener::bind(address).await {
            Ok(listener) => Ok(Self { listener }),
            Err(source) => Err(HttpError { address, source }),
        }
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the daemon drains. Then connections that are idle are
    /// closed, and an answer under way has a second to be taken.
    pub(crate) async fn serve(self, daemon: Daemon) {
        let shutdown = daemon.shutdown.clone();
        let router = Router::new()
            .route("/metrics", get(metrics))
            .route("/healthz", get(health))
            .with_state(daemon)
            .layer(middleware::from_fn(loopback_only));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => accepted,
                Some(_) = connections.join_next(), if connections.len() >= MAX_CONNECTIONS => continue,
                () = shutdown.reached(Stage::Draining) => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, router.clone(), shutdown.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "an HTTP connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        while connections.join_next().await.is_some() {}
    }
}

async fn converse(stream: TcpStream, router: Router, shutdown: Shutdown) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_LIMIT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    tokio::select! {
        // How a stranger's connection ended is of no interest.
        _ = connection.as_mut() => {}
        () = shutdown.reached(Stage::Draining) => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(FAREWELL, connection).await;
        }
    }
}

async fn metrics(State(daemon): State<Daemon>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], daemon.metrics.prometheus())
}

async fn health(State(daemon): State<Daemon>) -> impl IntoResponse {
    match daemon.shutdown.stage() {
        Stage::Running => (StatusCode::OK, "ok\n"),
        Stage::Draining | Stage::Closing => (StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
    }
}

async fn loopback_only(request: Request, next: Next) -> Response {
    if !names_loopback(request.headers()) {
        let message = "this server answers only to localhost, 127.0.0.1 and [::1]\n";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(
        "x-content-type-options",
        header::HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        header::HeaderValue::from_static("no-store"),
    );
    response
}

fn names_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
    else {
        return false;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_pass() {
        let passes = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            names_loopback(&headers)
        };
        for host in [
            "localhost",
            "localhost:80",
            "127.0.0.1:9",
            "[::1]:9",
            "127.0.0.1",
            "LOCALHOST:1",
        ] {
            assert!(passes(host), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:80",
            "10.0.0.1",
            "[::2]",
            "",
            "0.0.0.0",
        ] {
            assert!(!passes(host), "{host}");
        }
        assert!(!names_loopback(&HeaderMap::new()));
    }
}
