//! The gate every request passes: is it meant for this server, and is it from a
//! page of this server?
//!
//! A page of somebody else in a browser can reach loopback addresses too. It
//! cannot choose what the browser says of it: a name of its own that resolves to
//! 127.0.0.1 shows in `Host`, a page of another server in `Origin` and
//! `Sec-Fetch-Site`. Each answer also says what a browser may do with it.

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use missiond_config::HttpConfig;
use missiond_net::{host_of_authority, is_loopback_host};

use super::connections::LARGEST_HEAD;
use super::refusal::Refusal;
use super::web::Web;

#[derive(Debug)]
pub(super) struct Gate {
    /// Names besides those of the loopback.
    hosts: Vec<String>,
}

impl Gate {
    pub(super) fn new(config: &HttpConfig) -> Self {
        Self {
            hosts: config.hosts.clone(),
        }
    }

    /// The `Host` a request was meant for, if that is this server.
    fn host<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let mut given = headers.get_all(header::HOST).iter();
        // Of two, another reader might believe the other.
        let (Some(host), None) = (given.next(), given.next()) else {
            return None;
        };
        let host = host.to_str().ok()?;
        let name = host_of_authority(host);
        let named = |known: &String| known.eq_ignore_ascii_case(name);
        (is_loopback_host(name) || self.hosts.iter().any(named)).then_some(host)
    }

    fn check(&self, request: &Request) -> Result<HeaderValue, Refusal> {
        let headers = request.headers();
        let lines = headers.iter();
        let lines = lines.map(|(name, value)| name.as_str().len() + value.len());
        let head: usize = lines.sum::<usize>() + request.uri().path().len();
        if head + request.uri().query().map_or(0, str::len) > LARGEST_HEAD {
            return Err(Refusal::invalid(
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                format!("a head here has at most {LARGEST_HEAD} bytes"),
            ));
        }
        let Some(host) = self.host(headers) else {
            return Err(Refusal::forbidden(
                "this server answers only to localhost, 127.0.0.1, [::1] and the names in \
                 `http.hosts`",
            ));
        };
        let path = request.uri().path();
        let is_of_programs = path == "/mcp" || path == "/metrics";
        if path.starts_with("/api/") || path.starts_with("/llm/") || is_of_programs {
            check_origin(headers, host)?;
        }
        policy(host)
    }
}

/// The middleware.
pub(super) async fn pass(State(web): State<Web>, request: Request, next: Next) -> Response {
    let (mut response, policy) = match web.gate.check(&request) {
        Ok(policy) => (next.run(request).await, Some(policy)),
        Err(refusal) => (refusal.into_response(), None),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        policy.unwrap_or_else(|| HeaderValue::from_static("default-src 'none'")),
    );
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

const HEADERS: &[(&str, &str)] = &[
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// A request of a page must be of a page of this very server: the same host and
/// port. Programs send neither of these headers.
fn check_origin(headers: &HeaderMap, host: &str) -> Result<(), Refusal> {
    let foreign = || Refusal::forbidden("this request comes from a page of another server");
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().map_err(|_| foreign())?;
        let authority = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        if !authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host)) {
            return Err(foreign());
        }
    }
    match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(foreign()),
    }
}

/// What a page of ours may load and reach. Styles may be inline, because the
/// terminals set theirs so; scripts may not.
fn policy(host: &str) -> Result<HeaderValue, Refusal> {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
         img-src 'self' data: blob:; font-src 'self'; \
         connect-src 'self' ws://{host} wss://{host}; manifest-src 'self'; \
         worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).map_err(|_| Refusal::forbidden("the host has a strange name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        Gate {
            hosts: vec!["Board.example".to_owned()],
        }
    }

    fn request(path: &str, headers: &[(&'static str, &str)]) -> Request {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(axum::body::Body::empty()).unwrap()
    }

    fn passes(path: &str, headers: &[(&'static str, &str)]) -> bool {
        gate().check(&request(path, headers)).is_ok()
    }

    #[test]
    fn only_names_of_this_server_pass() {
        for host in [
            "localhost",
            "localhost:80",
            "127.0.0.1:9",
            "[::1]:9",
            "127.0.0.1",
            "LOCALHOST:1",
            "board.example",
            "board.example:8443",
        ] {
            assert!(passes("/", &[("host", host)]), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:80",
            "10.0.0.1",
            "[::2]",
            "",
            "0.0.0.0",
            "board.example.evil.example",
            "localhost;",
        ] {
            assert!(!passes("/", &[("host", host)]), "{host}");
        }
        assert!(!passes("/", &[]));
        assert!(!passes(
            "/",
            &[("host", "localhost"), ("host", "localhost")]
        ));
    }

    #[test]
    fn only_a_page_of_the_same_host_and_port_reaches_the_api() {
        let host = ("host", "127.0.0.1:7000");
        let from = |origin| passes("/api/v1/ops/health", &[host, ("origin", origin)]);
        assert!(passes("/api/v1/ops/health", &[host]));
        assert!(from("http://127.0.0.1:7000"));
        for origin in [
            "http://127.0.0.1:7001",
            "http://127.0.0.1",
            "http://localhost:7000",
            "http://evil.example",
            "http://evil.example/127.0.0.1:7000",
            "http://127.0.0.1:7000.evil.example",
            "file://",
            "null",
            "",
        ] {
            assert!(!from(origin), "{origin}");
        }
        let site = |site| passes("/api/v1/session", &[host, ("sec-fetch-site", site)]);
        assert!(site("same-origin") && site("none"));
        assert!(!site("cross-site") && !site("same-site"));
        assert!(passes("/", &[host, ("sec-fetch-site", "cross-site")]));
    }
}
