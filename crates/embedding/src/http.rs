//! A POST or GET of JSON to an embedding endpoint, with a limit on time and size.
//! What is sent is what people remember, and perhaps a key: it leaves this machine
//! only by https, to whom the system's certificates know.

use std::time::Duration;

use missiond_knowledge::EmbedError;
use missiond_net::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use missiond_net::http::{
    Connections, HttpClient, HttpError, Limits, Method, Uri, check_private, request,
};
use serde_json::Value;

/// The largest answer: a batch of vectors of a large model, written as text.
const LARGEST_ANSWER: usize = 64 << 20;

/// A base address: `http://host:port/path`, or with `https`.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// Without a slash at its end.
    base: String,
    client: HttpClient,
}

impl Endpoint {
    pub(crate) fn parse(url: &str) -> Result<Self, EmbedError> {
        check_private(url).map_err(|why| EmbedError::Refused(format!("`{url}` {why}")))?;
        Ok(Self {
            base: url.trim_end_matches('/').to_owned(),
            // Asked by threads, and seldom enough for a connection each time.
            client: HttpClient::new(Connections::Closed),
        })
    }

    /// Asks and waits for the answer, at most `limit` for all of it.
    pub(crate) fn ask(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, EmbedError> {
        let unusable = |what: &str| EmbedError::Refused(format!("{what} cannot be used"));
        let uri: Uri = format!("{}{path}", self.base)
            .parse()
            .map_err(|_| unusable("the address"))?;
        let mut request = request(method, uri)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json");
        if let Some(key) = key {
            let mut value =
                HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| unusable("the key"))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request
            .body(body.into())
            .map_err(|_| unusable("the address"))?;
        let limits = Limits {
            total: limit,
            body: LARGEST_ANSWER,
        };
        let answer = self
            .client
            .fetch_blocking(request, limits)
            .map_err(|error| match error {
                HttpError::Timeout(_) => EmbedError::TooSlow {
                    seconds: limit.as_secs(),
                },
                error => EmbedError::Unreachable(format!("{}: {error}", self.base)),
            })?;
        let text = String::from_utf8_lossy(&answer.body);
        if !answer.status.is_success() {
            let shown: String = text.chars().take(200).collect();
            return Err(EmbedError::Refused(format!(
                "status {}: {}",
                answer.status.as_u16(),
                shown.trim()
            )));
        }
        serde_json::from_str(&text)
            .map_err(|error| EmbedError::Refused(format!("the answer is no JSON: {error}")))
    }
}

/// Whether an address is one of this machine.
pub(crate) fn is_on_this_machine(url: &str) -> bool {
    check_private(url).is_ok_and(|uri| uri.host().is_some_and(missiond_net::is_loopback_host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_goes_to_others_by_https_only() {
        assert!(Endpoint::parse("https://api.example.com/v1").is_ok());
        assert!(Endpoint::parse("http://127.0.0.1:11434/").is_ok());
        let refused = Endpoint::parse("http://api.example.com").unwrap_err();
        assert!(refused.to_string().contains("https"), "{refused}");
    }

    #[test]
    fn this_machine_is_told_from_others() {
        for here in [
            "http://localhost/v1",
            "https://[::1]:80",
            "http://127.0.0.1:1",
        ] {
            assert!(is_on_this_machine(here), "{here}");
        }
        for elsewhere in ["https://api.example.com", "http://127.example.com", "x"] {
            assert!(!is_on_this_machine(elsewhere), "{elsewhere}");
        }
    }
}
