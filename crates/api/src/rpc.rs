//! JSON-RPC 2.0 messages, as they stand on a line.
//!
//! Parameters and results stay raw text until the operation that knows their
//! type parses them, so a message is never turned into a tree of values on its
//! way through.

use std::borrow::Cow;
use std::fmt;

use missiond_core::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ApiError;
use crate::error::WireError;

/// Chosen by the caller, returned with the answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    Number(i64),
    Text(String),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A message that expects an answer.
#[derive(Debug)]
pub struct Request {
    pub id: RequestId,
    pub method: String,
    pub params: Option<Box<RawValue>>,
}

/// A message that expects none.
#[derive(Debug)]
pub struct Notification {
    pub method: String,
    pub params: Option<Box<RawValue>>,
}

/// The answer to a request. `id` is absent when the request's id could not be
/// read.
#[derive(Debug)]
pub struct Response {
    pub id: Option<RequestId>,
    pub result: Result<Box<RawValue>, ApiError>,
}

/// Anything that can stand on a line.
#[derive(Debug)]
pub enum Incoming {
    Request(Request),
    Notification(Notification),
    Response(Response),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<WireError>,
}

impl Incoming {
    /// Reads one line. The error says what is wrong with it; it is what the
    /// sender should be told.
    pub fn parse(line: &[u8]) -> Result<Self, ApiError> {
        let invalid = |message: String| ApiError::new(ErrorCode::InvalidRequest, message);
        if line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
            return Err(invalid(
                "batches are not supported: send one message a line".to_owned(),
            ));
        }
        let text = std::str::from_utf8(line)
            .map_err(|error| invalid(format!("the message is not UTF-8: {error}")))?;
        let envelope: Envelope<'_> = serde_json::from_str(text)
            .map_err(|error| invalid(format!("the message is not JSON-RPC 2.0: {error}")))?;
        if envelope.jsonrpc != "2.0" {
            return Err(invalid(
                "the message is not JSON-RPC 2.0: `jsonrpc` must be \"2.0\"".into(),
            ));
        }
        if let Some(params) = &envelope.params
            && !params.get().starts_with(['{', '['])
        {
            return Err(invalid("`params` must be an object".to_owned()));
        }
        match (
            envelope.method,
            envelope.id,
            envelope.result,
            envelope.error,
        ) {
            (Some(method), Some(id), None, None) => Ok(Self::Request(Request {
                id,
                method: method.into_owned(),
                params: envelope.params,
            })),
            (Some(method), None, None, None) => Ok(Self::Notification(Notification {
                method: method.into_owned(),
                params: envelope.params,
            })),
            (None, id, Some(result), None) => Ok(Self::Response(Response {
                id,
                result: Ok(result),
            })),
            (None, id, None, Some(error)) => Ok(Self::Response(Response {
                id,
                result: Err(error.into()),
            })),
            _ => Err(invalid(
                "the message is neither a request nor an answer".to_owned(),
            )),
        }
    }
}

#[derive(Serialize)]
struct WireRequest<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    method: &'a str,
    params: &'a P,
}

#[derive(Serialize)]
struct WireResult<'a, R: ?Sized> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: &'a R,
}

#[derive(Serialize)]
struct WireFailure<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RequestId>,
    error: WireError,
}

fn line(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    if serde_json::to_writer(&mut bytes, message).is_err() {
        // Only a map with keys that are not text can get here; none of our
        // types has one, and the catalogue's tests write every result type.
        bytes.clear();
        bytes.extend_from_slice(
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the answer could not be written as JSON","data":{"code":"internal"}}}"#,
        );
    }
    bytes.push(b'\n');
    bytes
}

impl Request {
    /// The line that asks for `method`.
    pub fn line(id: &RequestId, method: &str, params: &impl Serialize) -> Vec<u8> {
        line(&WireRequest {
            jsonrpc: "2.0",
            id: Some(id),
            method,
            params,
        })
    }
}

impl Notification {
    pub fn line(method: &str, params: &impl Serialize) -> Vec<u8> {
        line(&WireRequest {
            jsonrpc: "2.0",
            id: None,
            method,
            params,
        })
    }
}

impl Response {
    pub fn result_line<R: Serialize + ?Sized>(id: &RequestId, result: &R) -> Vec<u8> {
        line(&WireResult {
            jsonrpc: "2.0",
            id,
            result,
        })
    }

    pub fn error_line(id: Option<&RequestId>, error: &ApiError) -> Vec<u8> {
        line(&WireFailure {
            jsonrpc: "2.0",
            id,
            error: error.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &[u8]) -> String {
        let error = Incoming::parse(line).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidRequest);
        error.message
    }

    #[test]
    fn what_is_not_a_message_is_refused_with_the_reason() {
        assert!(refused(b"hello").contains("not JSON-RPC 2.0"));
        assert!(refused(b"\xff\xfe").contains("not UTF-8"));
        assert!(refused(b"[]").contains("batches"));
        assert!(refused(b"{\"id\":1,\"method\":\"x\"}").contains("jsonrpc"));
        assert!(refused(b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}").contains("\"2.0\""));
        assert!(refused(b"{\"jsonrpc\":\"2.0\",\"id\":1}").contains("neither"));
        assert!(refused(br#"{"jsonrpc":"2.0","id":1,"method":"x","params":3}"#).contains("object"));
        assert!(refused(br#"{"jsonrpc":"2.0","id":{},"method":"x"}"#).contains("not JSON-RPC"));
        let deep = |closed: &str| {
            let (open, close) = ("[".repeat(100_000), closed.repeat(100_000));
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{open}{close}}}"#)
        };
        assert!(refused(deep("").as_bytes()).contains("not JSON-RPC"));
        // Well-formed but absurd: skipped over without recursion, and refused by
        // whichever operation looks into it.
        assert!(Incoming::parse(deep("]").as_bytes()).is_ok());
    }

    #[test]
    fn a_request_with_escapes_in_its_method_is_read() {
        let line = br#"{"jsonrpc":"2.0","id":"a","method":"he\u0061lth"}"#;
        let Incoming::Request(request) = Incoming::parse(line).unwrap() else {
            panic!()
        };
        assert_eq!(
            (request.method.as_str(), request.id),
            ("health", RequestId::Text("a".into()))
        );
    }
}
