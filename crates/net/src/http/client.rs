//! Sending a request and reading its answer, whole or as it comes.

use std::error::Error;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, HeaderMap};
use hyper::{StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::tls::Trust;

/// For one address of a host.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// After this time a kept connection is closed; most servers do so sooner.
const KEPT_FOR: Duration = Duration::from_secs(30);

/// A request with its whole body.
pub type Request = hyper::Request<Full<Bytes>>;

/// Begins a request.
#[must_use]
pub fn request(method: hyper::Method, uri: Uri) -> hyper::http::request::Builder {
    hyper::Request::builder().method(method).uri(uri)
}

/// What an exchange may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the first look at the address to the last byte of the answer.
    pub total: Duration,
    /// Bytes of the body; also what it says it will have is refused above this.
    pub body: usize,
}

/// What becomes of a connection after an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// Kept for the next request. A server that closes one at that very moment
    /// makes the request fail, which the caller must be able to bear.
    Kept,
    /// Closed: each request has its own.
    Closed,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("this system has no certificates to know others by: {0}")]
    NoCertificates(String),
    /// Nothing of the request was sent.
    #[error("{0}")]
    Unreachable(String),
    /// The request may have arrived.
    #[error("{0}")]
    Broken(String),
    #[error("no answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
}

/// An answer that was read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// The head of an answer, and a body that is read as it comes.
pub type Response = hyper::Response<Body>;

/// A body that is read as it comes.
pub struct Body(Incoming);

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body")
    }
}

/// Sends requests. Cheap to make: what is expensive is shared by the process.
#[derive(Debug)]
pub struct HttpClient {
    plain: Client<HttpConnector, Full<Bytes>>,
    /// Made with the first address that needs it.
    tls: OnceLock<Client<HttpsConnector<HttpConnector>, Full<Bytes>>>,
    trust: Trust,
    connections: Connections,
}

impl HttpClient {
    #[must_use]
    pub fn new(connections: Connections) -> Self {
        Self::trusting(Trust::System, connections)
    }

    #[must_use]
    pub fn trusting(trust: Trust, connections: Connections) -> Self {
        Self {
            plain: build(connections, connector()),
            tls: OnceLock::new(),
            trust,
            connections,
        }
    }

    /// Sends a request and waits for the head of its answer. The caller bounds
    /// the time, and the body by what it keeps of it.
    pub async fn send(&self, request: Request) -> Result<Response, HttpError> {
        let sent = if request.uri().scheme_str() == Some("https") {
            self.tls()?.request(request)
        } else {
            self.plain.request(request)
        };
        match sent.await {
            Ok(response) => Ok(response.map(Body)),
            Err(error) if error.is_connect() => Err(HttpError::Unreachable(chain(&error))),
            Err(error) => Err(HttpError::Broken(chain(&error))),
        }
    }

    /// The whole exchange within the limits. An answer that says it is too large
    /// is not read.
    pub async fn fetch(&self, request: Request, limits: Limits) -> Result<Answer, HttpError> {
        let exchange = async {
            let response = self.send(request).await?;
            let (head, body) = response.into_parts();
            let announced = head.headers.get(CONTENT_LENGTH);
            let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
            if announced.is_some_and(|length| length > limits.body as u64) {
                return Err(HttpError::TooLarge { limit: limits.body });
            }
            Ok(Answer {
                status: head.status,
                headers: head.headers,
                body: body.read_to_end(limits.body).await?,
            })
        };
        tokio::time::timeout(limits.total, exchange)
            .await
            .unwrap_or(Err(HttpError::Timeout(limits.total)))
    }

    fn tls(&self) -> Result<&Client<HttpsConnector<HttpConnector>, Full<Bytes>>, HttpError> {
        if let Some(client) = self.tls.get() {
            return Ok(client);
        }
        let config = (*self.trust.config()?).clone();
        let mut connector = connector();
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only()
            .enable_http1()
            .wrap_connector(connector);
        Ok(self.tls.get_or_init(|| build(self.connections, connector)))
    }
}

impl Body {
    /// The next piece; none at the end.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, HttpError>> {
        loop {
            let frame = match self.0.frame().await? {
                Ok(frame) => frame,
                Err(error) => return Some(Err(HttpError::Broken(chain(&error)))),
            };
            // Trailers are no part of the message.
            if let Ok(data) = frame.into_data() {
                return Some(Ok(data));
            }
        }
    }

    /// Everything, if it is no more than `limit` bytes.
    pub async fn read_to_end(mut self, limit: usize) -> Result<Vec<u8>, HttpError> {
        let mut whole = Vec::new();
        while let Some(piece) = self.chunk().await {
            let piece = piece?;
            if whole.len() + piece.len() > limit {
                return Err(HttpError::TooLarge { limit });
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_LIMIT));
    connector
}

fn build<C>(connections: Connections, connector: C) -> Client<C, Full<Bytes>>
where
    C: hyper_util::client::legacy::connect::Connect + Clone,
{
    let kept = match connections {
        Connections::Kept => usize::MAX,
        Connections::Closed => 0,
    };
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(KEPT_FOR)
        .pool_max_idle_per_host(kept)
        .build(connector)
}

/// What went wrong and why, down to the system's own words.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        // Some layers repeat what is below them.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
